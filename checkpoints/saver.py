"""LangGraph's checkpointer on the store's connection, for sync and async graphs alike.

The tables are the store's own: LangGraph's SQLite saver spells out four text keys, twice, for every channel
that is written. A task's writes are one row here, and rows are only added; `fold_writes` decides on reading
which write counts.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    get_checkpoint_id,
    get_checkpoint_metadata,
)

from interlock.checkpoints.database import Database
from interlock.checkpoints.packing import StrictSerializer
from interlock.checkpoints.rows import Rows, matches
from interlock.checkpoints.threads import Threads, delete_threads, id_key

__all__ = ["LoopSaver"]

PAGE = 100
"""Checkpoints that `list` reads at a time, so that no lock is held while the caller looks at them."""

PUT = (
    "INSERT INTO checkpoints (thread, id, parent, body) SELECT id, ?, ?, ? FROM threads WHERE id = ?"
    " ON CONFLICT (thread, id) DO UPDATE SET parent = excluded.parent, body = excluded.body"
)
PUT_WRITES = "INSERT INTO writes (thread, checkpoint, body) SELECT id, ?, ? FROM threads WHERE id = ?"


class LoopSaver(BaseCheckpointSaver[int]):
    """The store's checkpointer. It keeps plain data; a class that LangGraph does not know comes back as data.

    Every method raises StoreError when the file fails.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(serde=StrictSerializer())
        self._database = database
        self._threads = Threads()

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint; committed when it returns."""
        name, ns = _thread_of(config)
        parent = get_checkpoint_id(config)
        saved = {key: value for key, value in checkpoint.items() if key != "id"}
        key = id_key(checkpoint["id"])
        value = (saved, get_checkpoint_metadata(config, metadata))
        self._insert(name, ns, PUT, (key, id_key(parent) if parent else None), value)
        return {"configurable": {"thread_id": name, "checkpoint_ns": ns, "checkpoint_id": checkpoint["id"]}}

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Save what a task wrote after a checkpoint; committed when it returns."""
        name, ns = _thread_of(config)
        key = id_key(str(get_checkpoint_id(config)))
        self._insert(name, ns, PUT_WRITES, (key,), (id_key(task_id), task_path, list(writes)))

    def _insert(self, name: str, ns: str, sql: str, keys: tuple[Any, ...], value: Any) -> None:
        raw = self.serde.dumps_typed(value)[1]
        with self._database.single() as connection:
            thread = self._threads.writable(connection, name, ns)
            while not connection.execute(sql, (*keys, thread.packer.pack(raw), thread.id)).rowcount:
                # Another process deleted the thread since it was last looked up.
                self._threads.forget(name, ns)
                thread = self._threads.writable(connection, name, ns)
            self._threads.learn(connection, thread)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the thread's latest one."""
        with self._database.single() as connection:
            rows = Rows(connection, self._threads, self.serde)
            return rows.one(*_thread_of(config), get_checkpoint_id(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Checkpoints, newest first. `filter`: values that the metadata must have."""
        where: Mapping[str, Any] = config.get("configurable", {}) if config else {}
        scope = (where.get("thread_id"), where.get("checkpoint_ns"), where.get("checkpoint_id"))
        last = (id_key(str(get_checkpoint_id(before))), 0) if before else None
        found = 0
        while limit is None or found < limit:
            with self._database.single() as connection:
                page, last = Rows(connection, self._threads, self.serde).page(scope, last, PAGE)
            for item in (item for item in page if matches(item.metadata, filter)):
                if limit is not None and found >= limit:
                    return
                found += 1
                yield item
            if last is None:
                return

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What was written to `channels` before a checkpoint, back to the last full copy of each."""
        with self._database.single() as connection:
            rows = Rows(connection, self._threads, self.serde)
            return rows.history(*_thread_of(config), get_checkpoint_id(config), channels)

    def raw_rows(self, connection: sqlite3.Connection) -> Iterator[bytes]:
        """The serialized bytes of everything that is saved, on a connection that the caller has locked."""
        return Rows(connection, self._threads, self.serde).raw()

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread's checkpoints, in all namespaces."""
        with self._database.transaction() as connection:
            delete_threads(connection, str(thread_id))

    def get_next_version(self, current: Any, channel: None) -> Any:
        """The next version of a channel: an integer; after the text of another saver, a later text."""
        if isinstance(current, str):
            return f"{int(current.partition('.')[0]) + 1:032}"
        return 1 if current is None else current + 1

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`get_tuple`, off the event loop."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """`list`, off the event loop."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (item := await asyncio.to_thread(next, found, None)) is not None:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`put`, off the event loop."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """`put_writes`, off the event loop."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """`get_delta_channel_history`, off the event loop."""
        return await asyncio.to_thread(self.get_delta_channel_history, config=config, channels=channels)

    async def adelete_thread(self, thread_id: str) -> None:
        """`delete_thread`, off the event loop."""
        await asyncio.to_thread(self.delete_thread, thread_id)


def _thread_of(config: RunnableConfig) -> tuple[str, str]:
    where = config.get("configurable", {})
    return str(where["thread_id"]), str(where.get("checkpoint_ns", ""))
