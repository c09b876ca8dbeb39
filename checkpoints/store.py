"""The store: one SQLite file, opened once per process and closed at its end."""

from __future__ import annotations

import threading
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from interlock.checkpoints.approvals import ApprovalTable
from interlock.checkpoints.clock import Clock, SystemClock
from interlock.checkpoints.database import MEMORY, Database, check_place, connect, use_wal
from interlock.checkpoints.ledger import EffectLedger
from interlock.checkpoints.payloads import PayloadTable
from interlock.checkpoints.pruning import prune
from interlock.checkpoints.runs import RunTable
from interlock.checkpoints.saver import LoopSaver
from interlock.checkpoints.schema import check_owner, migrate
from interlock.checkpoints.traces import TraceTable

__all__ = ["Store", "open_store"]


class Store:
    """Checkpoints, runs, approvals, effects, payloads and step records in one file.

    Several threads may use it, several processes its file. A context manager: leaving it closes it.
    Every method raises StoreError when the file fails.
    """

    def __init__(self, path: str, records: Database, data: Database, clock: Clock) -> None:
        self.path = path
        """The file; ":memory:" for a store that ends with the process."""
        self.checkpointer = LoopSaver(data)
        """LangGraph's checkpointer, for sync and async graphs."""
        self.runs = RunTable(records, clock)
        self.approvals = ApprovalTable(records)
        self.ledger = EffectLedger(records, data)
        self.payloads = PayloadTable(data, clock)
        self.traces = TraceTable(data)
        self._records = records
        self._data = data
        self._clock = clock

    def prune(self, before: datetime) -> int:
        """Delete the runs that ended before a time, with everything that is only theirs.

        Never deletes a run without an outcome or with an open question.

        Args:
            before: timezone-aware.

        Returns:
            How many runs were deleted. The file keeps its size until `vacuum`.
        """
        if before.tzinfo is None:
            raise ValueError("before needs a timezone, for example datetime.now(UTC) - timedelta(days=30)")
        return prune(self._records, self.checkpointer, self._clock, before)

    def vacuum(self) -> None:
        """Give the space of deleted runs back to the disk. Needs the file for itself while it works."""
        with self._records.single() as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file. Harmless when it is closed."""
        self._records.close()
        self._data.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(
    path: str | Path = MEMORY,
    *,
    clock: Clock | None = None,
    busy_timeout_s: float = 5.0,
    must_exist: bool = False,
) -> Store:
    """Open the store in a file, created when there is none.

    Args:
        path: the file; ":memory:" (the default) for a store that ends with the process.
        clock: time, for tests.
        busy_timeout_s: seconds to wait for another process that holds the file.
        must_exist: refuse to create the file.

    Raises:
        StoreError: the folder is missing, the file is missing, unreadable, locked, not a store, or of a newer
            version of interlock.
    """
    path = str(path)
    check_place(path, must_exist)
    lock = threading.RLock()
    # An intent has to be on the disk before its effect; a commit here makes all earlier ones durable as well.
    records = Database(connect(path, "FULL", busy_timeout_s), path, lock)
    try:
        check_owner(records)
        if path != MEMORY:
            use_wal(records, busy_timeout_s)
        migrate(records)
        data = records
        if path != MEMORY:
            data = Database(connect(path, "NORMAL", busy_timeout_s), path, lock)
    except BaseException:
        records.close()
        raise
    return Store(path, records, data, clock or SystemClock())
