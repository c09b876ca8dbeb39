"""The world of the example: two services, each a process with a health endpoint, started when needed."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from interlock.graphs.operations.processes import ask, start_service, stop_service
from interlock.graphs.worlds import changing, one_row, opened, write_world
from interlock.policies.tool_errors import Retryable

__all__ = ["Cause", "World", "make_world"]

Cause = Literal["leak", "settings"]
"""Why payments has too few connections: some are leaked until a restart, or it was set up with too few."""

SERVICE = "SELECT * FROM services WHERE name = ?"


def make_world(path: Path, *, cause: Cause = "leak", warm_up_s: float = 1.0) -> None:
    """Write the world anew: payments is degraded, ledger is healthy. No process is started yet.

    Args:
        cause: a restart helps against a leak, and not against settings.
        warm_up_s: seconds that a service is `starting` after a restart.
    """
    write_world(path, Path(__file__).with_name("operations.sql"))
    with changing(path) as connection:
        connection.execute("UPDATE services SET warm_up_s = ?", (warm_up_s,))
        if cause == "settings":
            connection.execute("UPDATE services SET pool_size = 3, leaked = 0 WHERE name = 'payments'")


class World:
    """The services of one database."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ask(self, service: str, what: str) -> dict[str, Any]:
        """What a service answers, started first where it does not run.

        Args:
            what: `health` or `log`.

        Raises:
            NotFound: there is no such service.
            Retryable: it does not answer.
        """
        with opened(self._path) as connection:
            url = one_row(connection, "service", SERVICE, service)["url"]
        try:
            return ask(url, what) if url else ask(self._started(service), what)
        except Retryable:
            return ask(self._started(service), what)

    def restart(self, service: str, key: str) -> dict[str, Any]:
        """End the service's process and start another. The same key gives the first result and ends nothing.

        Raises:
            NotFound: there is no such service.
        """
        with changing(self._path) as connection:
            known = connection.execute("SELECT 1 FROM restarts WHERE idempotency_key = ?", (key,)).fetchone()
            if known is None:
                row = one_row(connection, "service", SERVICE, service)
                stop_service(row["url"])
                self._start(connection, service)
                connection.execute(
                    "UPDATE services SET leaked = 0, ready_at = ? WHERE name = ?",
                    (time.time() + row["warm_up_s"], service),
                )
                at = datetime.now(UTC).isoformat(timespec="milliseconds")
                connection.execute("INSERT INTO restarts VALUES (?, ?, ?)", (key, service, at))
        return self.restarted_under(key)

    def restarted_under(self, key: str) -> dict[str, Any]:
        """The restart that was made under an idempotency key. Raises NotFound."""
        sql = "SELECT service, restarted_at FROM restarts WHERE idempotency_key = ?"
        with opened(self._path) as connection:
            return one_row(connection, "restart with the key", sql, key)

    def restarts(self) -> list[str]:
        """The services that were restarted, in order."""
        with opened(self._path) as connection:
            return [
                row["service"] for row in connection.execute("SELECT service FROM restarts ORDER BY rowid")
            ]

    def stop(self) -> None:
        """End every process."""
        with opened(self._path) as connection:
            for row in connection.execute("SELECT url FROM services").fetchall():
                stop_service(row["url"])

    def _started(self, service: str) -> str:
        """The address of the service, started unless another process has just done so."""
        with changing(self._path) as connection:
            url = one_row(connection, "service", SERVICE, service)["url"]
            return url if url and _answers(url) else self._start(connection, service)

    def _start(self, connection: sqlite3.Connection, service: str) -> str:
        url = start_service(self._path, service)
        connection.execute("UPDATE services SET url = ? WHERE name = ?", (url, service))
        return url


def _answers(url: str) -> bool:
    try:
        ask(url, "health")
    except Retryable:
        return False
    return True
