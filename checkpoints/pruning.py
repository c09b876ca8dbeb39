"""Forgetting: ended runs go with everything that is theirs; what others still need stays."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from interlock.checkpoints.clock import Clock
from interlock.checkpoints.database import Database
from interlock.checkpoints.saver import LoopSaver
from interlock.checkpoints.threads import delete_threads

__all__ = ["GRACE_S", "prune"]

GRACE_S = 60.0
"""Seconds that a payload stays after it was last stored: its run may not have saved the reference yet."""

REFERENCE = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
"""A payload's reference in saved data. Other hashes look the same; they only keep a payload for longer."""

ENDED = """
    SELECT run_id, ended_at FROM runs WHERE outcome IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM approvals a WHERE a.run_id = runs.run_id AND a.status = 'pending')
"""


def prune(database: Database, saver: LoopSaver, clock: Clock, before: datetime) -> int:
    """Delete runs that ended before a time, in one transaction. Raises StoreError when the file fails.

    A run without an outcome or with an open question stays, and so does a payload that is still referred to.

    Returns:
        How many runs were deleted.
    """
    with database.transaction() as connection:
        ended = connection.execute(ENDED).fetchall()
        old = [row["run_id"] for row in ended if datetime.fromisoformat(row["ended_at"]) < before]
        for run_id in old:
            for table in ("steps", "effects", "approvals", "leases", "runs"):
                connection.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
            delete_threads(connection, run_id)
        if old:
            _sweep(connection, saver, min(before, clock.now() - timedelta(seconds=GRACE_S)))
    return len(old)


def _sweep(connection: sqlite3.Connection, saver: LoopSaver, before: datetime) -> None:
    rows = connection.execute("SELECT ref, touched_at FROM payloads").fetchall()
    old = {row["ref"] for row in rows if datetime.fromisoformat(row["touched_at"]) < before.astimezone(UTC)}
    for saved in _saved(connection, saver):
        if not old:
            return
        old -= {found.decode() for found in REFERENCE.findall(saved)}
    connection.executemany("DELETE FROM payloads WHERE ref = ?", [(ref,) for ref in old])


def _saved(connection: sqlite3.Connection, saver: LoopSaver) -> Iterator[bytes]:
    """Everything in which a remaining run may refer to a payload."""
    for sql in (
        "SELECT record FROM steps",
        "SELECT result FROM effects WHERE result IS NOT NULL",
        "SELECT outcome FROM runs WHERE outcome IS NOT NULL",
    ):
        for row in connection.execute(sql):
            yield row[0].encode()
    yield from saver.raw_rows(connection)
