"""The world of the example: records in a small database, some of them not used for more than a year."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from interlock.graphs.worlds import changing, opened, write_world
from interlock.policies.tool_errors import NotFound

__all__ = ["World", "make_world"]

AGED = (
    "SELECT id, kind, last_used_on, CAST(julianday(day) - julianday(last_used_on) AS INTEGER) AS age_days"
    " FROM records, today"
)


def make_world(path: Path) -> None:
    """Write the world anew: 1000 records, 300 of them stale."""
    write_world(path, Path(__file__).with_name("cleanup.sql"))


class World:
    """The database, one connection for each use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def count(self) -> int:
        """How many records there are."""
        with opened(self._path) as connection:
            return _count(connection)

    def older_than(self, days: int) -> list[dict[str, Any]]:
        """Records that were not used for more than so many days, the longest unused first."""
        sql = f"{AGED} WHERE age_days > ? ORDER BY age_days DESC, id"
        with opened(self._path) as connection:
            return [dict(row) for row in connection.execute(sql, (days,))]

    def records(self, ids: Sequence[str]) -> list[dict[str, Any]]:
        """These records, the longest unused first. Raises NotFound unless all of them are there."""
        with opened(self._path) as connection:
            return _records(connection, ids)

    def delete(self, ids: Sequence[str], key: str) -> dict[str, Any]:
        """Delete these records, all or none. The same key gives the first result and deletes nothing.

        Raises:
            NotFound: one of them is not there. Nothing was deleted.
        """
        with changing(self._path) as connection:
            known = connection.execute(
                "SELECT ids FROM deletions WHERE idempotency_key = ?", (key,)
            ).fetchone()
            if known is None:
                gone = [row["id"] for row in _records(connection, ids)]
                connection.executemany("DELETE FROM records WHERE id = ?", [(one,) for one in gone])
                connection.execute("INSERT INTO deletions VALUES (?, ?)", (key, json.dumps(gone)))
            else:
                gone = json.loads(known["ids"])
            return {"deleted": gone, "count": len(gone), "records_left": _count(connection)}


def _count(connection: sqlite3.Connection) -> int:
    counted: int = connection.execute("SELECT count(*) FROM records").fetchone()[0]
    return counted


def _records(connection: sqlite3.Connection, ids: Sequence[str]) -> list[dict[str, Any]]:
    sql = f"{AGED} WHERE id IN (SELECT value FROM json_each(?)) ORDER BY age_days DESC, id"
    rows = [dict(row) for row in connection.execute(sql, (json.dumps(list(ids)),))]
    if missing := sorted(set(ids) - {row["id"] for row in rows}):
        raise NotFound(
            f"there is no record {', '.join(missing[:5])} ({len(missing)} of {len(ids)} are not there)"
        )
    return rows
