"""The world of the example: a small database of services, deploys and incidents, as other systems keep it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from interlock.graphs.worlds import changing, one_row, opened, write_world
from interlock.policies.tool_errors import Conflict

__all__ = ["World", "make_world"]

HERE = Path(__file__).parent


def make_world(path: Path) -> None:
    """Write the world anew, as it was at 02:14. A reader sees the old one or the new one, never a part."""
    write_world(path, HERE / "oncall.sql")


class World:
    """The database, one connection for each use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def incidents(self, since: str) -> list[dict[str, Any]]:
        """Incidents that began at `since` (ISO 8601, UTC) or later, newest first."""
        with opened(self._path) as connection:
            sql = "SELECT * FROM incidents WHERE started_at >= ? ORDER BY started_at DESC"
            return [dict(row) for row in connection.execute(sql, (since,))]

    def deploy(self, deploy_id: str) -> dict[str, Any]:
        """One deploy. Raises NotFound."""
        with opened(self._path) as connection:
            return one_row(connection, "deploy", "SELECT * FROM deploys WHERE id = ?", deploy_id)

    def health(self, service: str) -> dict[str, Any]:
        """What monitoring measures of a service now, with its live deploy. Raises NotFound."""
        sql = (
            "SELECT s.name AS service, s.live_deploy, m.error_rate, m.p99_ms FROM services s"
            " LEFT JOIN measurements m ON m.service = s.name AND m.deploy = s.live_deploy WHERE s.name = ?"
        )
        with opened(self._path) as connection:
            return one_row(connection, "service", sql, service)

    def roll_back(self, deploy_id: str, reason: str, key: str) -> dict[str, Any]:
        """Put the deploy's predecessor live again. The same key gives the first result and changes nothing.

        Raises:
            NotFound: there is no such deploy.
            Conflict: it is not live, or its predecessor is gone.
        """
        with changing(self._path) as connection:
            known = connection.execute("SELECT result FROM rollbacks WHERE idempotency_key = ?", (key,))
            if row := known.fetchone():
                first: dict[str, Any] = json.loads(row["result"])
                return first
            result = _roll_back(connection, deploy_id)
            values = (key, deploy_id, reason, json.dumps(result))
            connection.execute("INSERT INTO rollbacks VALUES (?, ?, ?, ?)", values)
            return result


def _roll_back(connection: sqlite3.Connection, deploy_id: str) -> dict[str, Any]:
    deploy = one_row(connection, "deploy", "SELECT * FROM deploys WHERE id = ?", deploy_id)
    if deploy["status"] != "live":
        raise Conflict(f"deploy {deploy_id} cannot be rolled back: it is {deploy['status']}, not live")
    before = connection.execute("SELECT * FROM deploys WHERE id = ?", (deploy["replaces"],)).fetchone()
    if before is None:
        raise Conflict(f"deploy {deploy_id} cannot be rolled back: its predecessor is no longer kept")
    connection.execute("UPDATE deploys SET status = 'rolled_back' WHERE id = ?", (deploy_id,))
    connection.execute("UPDATE deploys SET status = 'live' WHERE id = ?", (before["id"],))
    connection.execute(
        "UPDATE services SET live_deploy = ? WHERE name = ?", (before["id"], deploy["service"])
    )
    return {
        "deploy_id": deploy_id,
        "service": deploy["service"],
        "status": "rolled_back",
        "live_deploy": before["id"],
        "live_version": before["version"],
    }
