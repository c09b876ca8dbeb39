"""The runs of a store: what each is for, where it stands, who drives it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from interlock.checkpoints.clock import Clock
from interlock.checkpoints.database import Database
from interlock.checkpoints.leases import LEASE_S, Lease, alive, hold
from interlock.policies.errors import RunExists, UnknownRun
from interlock.policies.outcomes import Outcome
from interlock.policies.runs import RunRow, RunStatus

__all__ = ["RunTable"]

INSERT = (
    "INSERT OR IGNORE INTO runs (run_id, goal, fingerprint, loop, spec, created_at, updated_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
SELECT = """
    SELECT runs.*, leases.host, leases.pid, leases.pid_started, leases.expires_at,
      EXISTS (SELECT 1 FROM approvals a WHERE a.run_id = runs.run_id AND a.status = 'pending') AS waiting
    FROM runs LEFT JOIN leases ON leases.run_id = runs.run_id
"""
COLUMNS = (
    "run_id", "goal", "fingerprint", "loop", "created_at", "updated_at", "ended_at", "cancel_requested_at",
    "cancel_by",
)  # fmt: skip


class RunTable:
    """The runs of a store. Every method raises StoreError when the file fails."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def ensure(self, run_id: str, goal: str, fingerprint: str, at: str) -> None:
        """Make sure that the run has a row. Does nothing when it has one."""
        with self._database.single() as connection:
            connection.execute(INSERT, (run_id, goal, fingerprint, "", "{}", at, at))

    def create(
        self,
        run_id: str,
        goal: str,
        fingerprint: str,
        *,
        loop: str = "",
        spec: Mapping[str, Any] | None = None,
        at: str,
    ) -> None:
        """Add a run. Raises RunExists when the id is taken."""
        values = (run_id, goal, fingerprint, loop, json.dumps(dict(spec or {}), allow_nan=False), at, at)
        with self._database.single() as connection:
            added = connection.execute(INSERT, values).rowcount
        if not added:
            raise RunExists(f"there is a run {run_id} already; choose another id, or resume that run")

    def get(self, run_id: str) -> RunRow:
        """The run with its status. Raises UnknownRun."""
        with self._database.single() as connection:
            row = connection.execute(f"{SELECT} WHERE runs.run_id = ?", (run_id,)).fetchone()
        if row is None:
            raise UnknownRun(f"there is no run {run_id} in {self._database.path}")
        return _run(row, self._clock.now())

    def list(self, limit: int = 50) -> list[RunRow]:
        """The runs that were started last, newest first."""
        sql = f"{SELECT} ORDER BY runs.created_at DESC, runs.rowid DESC LIMIT ?"
        with self._database.single() as connection:
            rows = connection.execute(sql, (limit,)).fetchall()
        return [_run(row, self._clock.now()) for row in rows]

    def request_cancel(self, run_id: str, by: str, at: str | None = None) -> None:
        """Ask for the run's end; the first request stays. Raises UnknownRun."""
        at = at or self._clock.now().isoformat()
        sql = (
            "UPDATE runs SET cancel_requested_at = coalesce(cancel_requested_at, ?),"
            " cancel_by = coalesce(cancel_by, ?), updated_at = ? WHERE run_id = ?"
        )
        with self._database.single() as connection:
            found = connection.execute(sql, (at, by, at, run_id)).rowcount
        if not found:
            raise UnknownRun(f"there is no run {run_id} in {self._database.path}")

    def cancel_requested(self, run_id: str) -> bool:
        """True when somebody asked for the run's end."""
        sql = "SELECT 1 FROM runs WHERE run_id = ? AND cancel_requested_at IS NOT NULL"
        with self._database.single() as connection:
            return connection.execute(sql, (run_id,)).fetchone() is not None

    def finish(self, run_id: str, outcome: Outcome, at: str) -> None:
        """Record the outcome. Idempotent: the first one stays. Raises UnknownRun."""
        sql = (
            "UPDATE runs SET outcome = coalesce(outcome, ?), ended_at = coalesce(ended_at, ?),"
            " updated_at = coalesce(ended_at, ?) WHERE run_id = ?"
        )
        with self._database.single() as connection:
            values = (outcome.model_dump_json(exclude_none=True), at, at, run_id)
            found = connection.execute(sql, values).rowcount
        if not found:
            raise UnknownRun(f"there is no run {run_id} in {self._database.path}")

    def reopen(self, run_id: str, at: str) -> None:
        """Take the outcome back. Does nothing when there is none. Raises UnknownRun."""
        sql = "UPDATE runs SET outcome = NULL, ended_at = NULL, updated_at = ? WHERE run_id = ?"
        with self._database.single() as connection:
            found = connection.execute(sql, (at, run_id)).rowcount
        if not found:
            raise UnknownRun(f"there is no run {run_id} in {self._database.path}")

    def lease(self, run_id: str, lease_s: float = LEASE_S) -> AbstractContextManager[Lease]:
        """Hold the run while driving it; renewed in the background.

        Args:
            lease_s: seconds after which the lease of a holder on another host is free, once it is silent.

        Raises:
            RunBusy: another live process, or another thread of this one, holds it.
        """
        return hold(self._database, self._clock, run_id, lease_s)


def _run(row: sqlite3.Row, now: datetime) -> RunRow:
    outcome = Outcome.model_validate_json(row["outcome"]) if row["outcome"] else None
    known = {name: row[name] for name in COLUMNS}
    return RunRow(**known, spec=json.loads(row["spec"]), outcome=outcome, status=_status(row, outcome, now))


def _status(row: sqlite3.Row, outcome: Outcome | None, now: datetime) -> RunStatus:
    if outcome is not None:
        return outcome.status
    if row["waiting"]:
        return "waiting"
    return "running" if row["pid"] is not None and alive(row, now) else "lost"
