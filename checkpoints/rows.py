"""Rows of the file as LangGraph's checkpoints."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from interlock.checkpoints.threads import Thread, Threads, id_key, id_text

__all__ = ["Rows", "fold_writes", "matches"]

GET = "SELECT id, parent, body FROM checkpoints WHERE thread = ? AND id = ?"
LATEST = "SELECT id, parent, body FROM checkpoints WHERE thread = ? ORDER BY id DESC LIMIT 1"
WRITES = "SELECT body FROM writes WHERE thread = ? AND checkpoint = ? ORDER BY seq"
LIST = """
    SELECT t.thread AS name, t.ns AS ns, c.seq AS seq, c.id AS id, c.parent AS parent, c.body AS body
    FROM threads t JOIN checkpoints c ON c.thread = t.id
    WHERE (:name IS NULL OR t.thread = :name) AND (:ns IS NULL OR t.ns = :ns) AND (:id IS NULL OR c.id = :id)
      AND (:last IS NULL OR (c.id, c.seq) < (:last, :seq))
    ORDER BY c.id DESC, c.seq DESC LIMIT :page
"""

Batch = tuple[bytes | str, str, list[tuple[str, Any]]]
"""What one call of `put_writes` saved: the task's id, its path, channels and values."""


class Rows:
    """Reads checkpoints on a connection that the caller has locked."""

    def __init__(self, connection: sqlite3.Connection, threads: Threads, serde: SerializerProtocol) -> None:
        self._connection = connection
        self._threads = threads
        self._serde = serde

    def one(self, name: str, ns: str, checkpoint_id: str | None) -> CheckpointTuple | None:
        """One checkpoint; the latest when no id is given."""
        thread = self._threads.find(self._connection, name, ns)
        row = self._row(thread, checkpoint_id) if thread else None
        return self._tuple(thread, row) if thread and row else None

    def page(
        self,
        scope: tuple[str | None, str | None, str | None],
        last: tuple[bytes | str, int] | None,
        size: int,
    ) -> tuple[list[CheckpointTuple], tuple[bytes | str, int] | None]:
        """Up to `size` checkpoints before `last`, newest first, and where to go on; None at the end."""
        name, ns, checkpoint_id = scope
        found = self._connection.execute(
            LIST,
            {
                "name": None if name is None else str(name),
                "ns": ns,
                "id": id_key(checkpoint_id) if checkpoint_id else None,
                "last": last[0] if last else None,
                "seq": last[1] if last else 0,
                "page": size,
            },
        ).fetchall()
        tuples: list[CheckpointTuple] = []
        for row in found:
            thread = self._threads.find(self._connection, row["name"], row["ns"])
            if thread is not None:
                tuples.append(self._tuple(thread, row))
        return tuples, (found[-1]["id"], found[-1]["seq"]) if len(found) == size else None

    def history(
        self, name: str, ns: str, checkpoint_id: str | None, channels: Sequence[str]
    ) -> dict[str, DeltaChannelHistory]:
        """Writes to `channels` by the ancestors of a checkpoint, oldest first, from the last full copy on."""
        thread = self._threads.find(self._connection, name, ns)
        row = self._row(thread, checkpoint_id) if thread else None
        found: dict[str, list[PendingWrite]] = {channel: [] for channel in channels}
        seeds: dict[str, Any] = {}
        walked: set[bytes | str] = set()
        while thread and row and row["parent"] is not None and row["parent"] not in walked:
            walked.add(row["parent"])
            row = self._connection.execute(GET, (thread.id, row["parent"])).fetchone()
            wanted = found.keys() - seeds.keys()
            if row is None or not wanted:
                break
            for write in reversed(self._writes(thread, row["id"])):
                if write[1] in wanted:
                    found[write[1]].append(write)
            values = self._load(thread, row["body"])[0]["channel_values"]
            seeds.update({channel: values[channel] for channel in wanted if channel in values})
        return {channel: _history(found[channel], channel, seeds) for channel in channels}

    def raw(self) -> Iterator[bytes]:
        """The serialized bytes of all checkpoints and writes, in no particular order."""
        threads = self._connection.execute("SELECT thread, ns FROM threads").fetchall()
        for name, ns in threads:
            thread = self._threads.find(self._connection, name, ns)
            if thread is None:
                continue
            for table in ("checkpoints", "writes"):
                for row in self._connection.execute(
                    f"SELECT body FROM {table} WHERE thread = ?", (thread.id,)
                ):
                    yield self._threads.unpack(self._connection, thread, row["body"])

    def _row(self, thread: Thread, checkpoint_id: str | None) -> sqlite3.Row | None:
        if checkpoint_id:
            query = self._connection.execute(GET, (thread.id, id_key(checkpoint_id)))
        else:
            query = self._connection.execute(LATEST, (thread.id,))
        return cast("sqlite3.Row | None", query.fetchone())

    def _tuple(self, thread: Thread, row: sqlite3.Row) -> CheckpointTuple:
        saved, metadata = self._load(thread, row["body"])
        checkpoint_id = id_text(row["id"])
        return CheckpointTuple(
            _config(thread, checkpoint_id),
            cast(Checkpoint, {**saved, "id": checkpoint_id}),
            cast(CheckpointMetadata, metadata),
            _config(thread, id_text(row["parent"])) if row["parent"] is not None else None,
            self._writes(thread, row["id"]),
        )

    def _writes(self, thread: Thread, key: bytes | str) -> list[PendingWrite]:
        rows = self._connection.execute(WRITES, (thread.id, key)).fetchall()
        return fold_writes(self._load(thread, row["body"]) for row in rows)

    def _load(self, thread: Thread, body: bytes) -> Any:
        return self._serde.loads_typed(("msgpack", self._threads.unpack(self._connection, thread, body)))


def fold_writes(batches: Iterable[Batch]) -> list[PendingWrite]:
    """The writes that count, in the order in which LangGraph applies them.

    Batches come in the order in which they were saved. An ordinary write is kept as first saved under its
    position; a batch of special ones only (interrupt, resume, error) replaces what was there.
    """
    saved = list(batches)
    if len(saved) == 1 and not any(channel in WRITES_IDX_MAP for channel, _ in saved[0][2]):
        # The usual case, thousands of times when a long run is resumed: one task, nothing to decide.
        return [(id_text(saved[0][0]), channel, value) for channel, value in saved[0][2]]
    kept: dict[tuple[str, int], tuple[str, str, Any]] = {}
    for task, path, batch in saved:
        replaces = all(channel in WRITES_IDX_MAP for channel, _ in batch)
        for position, (channel, value) in enumerate(batch):
            key = (id_text(task), WRITES_IDX_MAP.get(channel, position))
            if replaces or key not in kept:
                kept[key] = (path, channel, value)
    ordered = sorted(kept.items(), key=lambda item: writes_sort_key(item[1][0], *item[0]))
    return [(task, channel, value) for (task, _), (_, channel, value) in ordered]


def matches(metadata: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """True when the metadata has all wanted values."""
    return all(metadata.get(key) == value for key, value in (wanted or {}).items())


def _history(newest_first: list[PendingWrite], channel: str, seeds: Mapping[str, Any]) -> DeltaChannelHistory:
    history: DeltaChannelHistory = {"writes": newest_first[::-1]}
    if channel in seeds:
        history["seed"] = seeds[channel]
    return history


def _config(thread: Thread, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {"thread_id": thread.name, "checkpoint_ns": thread.ns, "checkpoint_id": checkpoint_id}
    }
