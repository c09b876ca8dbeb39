"""The write-ahead record of effects: the intent is on the disk before the tool is called."""

from __future__ import annotations

import json
import sqlite3

from interlock.checkpoints.database import Database
from interlock.policies.effects import EffectRow
from interlock.policies.errors import StoreError
from interlock.policies.observations import ToolResult

__all__ = ["EffectLedger"]

INSERT = (
    "INSERT INTO effects"
    " (key, run_id, step, tool, arguments, digest, state, approved_by, attempts, started_at)"
    " VALUES (?, ?, ?, ?, ?, ?, 'in_flight', ?, 1, ?)"
)
AGAIN = (
    "UPDATE effects SET state = 'in_flight', attempts = attempts + 1, approved_by = ?, result = NULL,"
    " summary = NULL, finished_at = NULL WHERE key = ?"
)


class EffectLedger:
    """The effects of a store. Every method raises StoreError when the file fails or the key is not known."""

    def __init__(self, records: Database, data: Database) -> None:
        self._database = records
        self._data = data

    def begin(self, intent: EffectRow) -> EffectRow | None:
        """Commit the intent. None: it is new or was cleared, the tool may run. A row: what is known of it.

        Two callers never both get None for one key unless it was cleared in between.

        Raises:
            StoreError: the key stands for another action.
        """
        with self._database.transaction() as connection:
            known = _find(connection, intent.key)
            if known is None:
                connection.execute(INSERT, _values(intent))
                return None
            if (known.run_id, known.digest) != (intent.run_id, intent.digest):
                raise StoreError(f"the idempotency key {intent.key} belongs to another action: {known.tool}")
            if known.state != "cleared":
                return known
            connection.execute(AGAIN, (intent.approved_by, intent.key))
            return None

    def retry(self, key: str, at: str) -> None:
        """Count one more start of an idempotent action under the same key. A completed effect stays so."""
        self._update("SET state = 'in_flight', attempts = attempts + 1", "state != 'done'", key)

    def finish(self, key: str, result: ToolResult, summary: str, at: str) -> None:
        """The effect happened, with this result. Idempotent: the first result stays.

        Written without waiting for the disk: what a power cut takes away leaves the effect in doubt, no more.
        """
        done = "SET state = 'done', result = ?, summary = ?, finished_at = ?"
        with self._data.transaction() as connection:
            sql = f"UPDATE effects {done} WHERE key = ? AND state != 'done'"
            told = result.model_dump_json(exclude_none=True)
            if (
                not connection.execute(sql, (told, summary, at, key)).rowcount
                and _find(connection, key) is None
            ):
                raise StoreError(f"the ledger has no effect with the key {key}")

    def doubt(self, key: str, at: str) -> None:
        """The effect may or may not have happened. A completed effect stays so."""
        self._update("SET state = 'unknown'", "state = 'in_flight'", key)

    def clear(self, key: str, at: str) -> None:
        """The effect did not happen: it may run under the same key. A completed effect stays so."""
        self._update("SET state = 'cleared'", "state IN ('in_flight', 'unknown')", key)

    def late(self, key: str, summary: str, at: str) -> None:
        """Record what a timed-out call returned afterwards."""
        self._update("SET late_result = ?", "1", key, summary)

    def of_run(self, run_id: str) -> list[EffectRow]:
        """All effects of a run, in the order in which they started."""
        with self._database.single() as connection:
            rows = connection.execute("SELECT * FROM effects WHERE run_id = ? ORDER BY seq", (run_id,))
            return [_effect(row) for row in rows]

    def of_action(self, run_id: str, digest: str) -> list[EffectRow]:
        """The effects of one exact action in a run, in the order in which they started."""
        with self._database.single() as connection:
            sql = "SELECT * FROM effects WHERE run_id = ? AND digest = ? ORDER BY seq"
            return [_effect(row) for row in connection.execute(sql, (run_id, digest))]

    def _update(self, change: str, condition: str, key: str, *values: str) -> None:
        with self._database.transaction() as connection:
            sql = f"UPDATE effects {change} WHERE key = ? AND {condition}"
            if not connection.execute(sql, (*values, key)).rowcount and _find(connection, key) is None:
                raise StoreError(f"the ledger has no effect with the key {key}")


def _find(connection: sqlite3.Connection, key: str) -> EffectRow | None:
    row = connection.execute("SELECT * FROM effects WHERE key = ?", (key,)).fetchone()
    return _effect(row) if row else None


def _values(intent: EffectRow) -> tuple[str | int | None, ...]:
    arguments = json.dumps(intent.arguments, ensure_ascii=False, allow_nan=False)
    place = (intent.key, intent.run_id, intent.step, intent.tool)
    return (*place, arguments, intent.digest, intent.approved_by, intent.started_at)


def _effect(row: sqlite3.Row) -> EffectRow:
    known = {name: row[name] for name in row.keys() if name != "seq"}  # noqa: SIM118 (a Row iterates its values)
    known["arguments"] = json.loads(known["arguments"])
    known["result"] = json.loads(known["result"]) if known["result"] else None
    return EffectRow.load(known)
