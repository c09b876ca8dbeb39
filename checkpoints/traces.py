"""One record per finished step, as JSON."""

from __future__ import annotations

import json
from typing import Any

from interlock.checkpoints.database import Database

__all__ = ["TraceTable"]


class TraceTable:
    """The step records of a store. Every method raises StoreError when the file fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, run_id: str, step: int, record: dict[str, Any]) -> None:
        """Store the step's record. Writing the same step again replaces it.

        Raises:
            TypeError, ValueError: the record is not plain JSON data.
        """
        text = json.dumps(record, separators=(",", ":"), allow_nan=False)
        with self._database.single() as connection:
            connection.execute("INSERT OR REPLACE INTO steps VALUES (?, ?, ?)", (run_id, step, text))

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        """The records of a run, by step."""
        with self._database.single() as connection:
            rows = connection.execute("SELECT record FROM steps WHERE run_id = ? ORDER BY step", (run_id,))
            return [json.loads(row["record"]) for row in rows]
