"""LangGraph's threads as the store numbers them, each with the packer of its rows."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import dataclass

from interlock.checkpoints.packing import Packer
from interlock.policies.errors import StoreError

__all__ = ["Thread", "Threads", "delete_threads", "id_key", "id_text"]

REMEMBERED = 256
"""Threads whose packers stay in memory."""

FIND = "SELECT id, dictionary FROM threads WHERE thread = ? AND ns = ?"


@dataclass(frozen=True, slots=True)
class Thread:
    """One thread and namespace of LangGraph's."""

    id: int
    name: str
    ns: str
    packer: Packer


class Threads:
    """The threads of a file. Not thread-safe: the store's lock guards it."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Thread] = {}

    def writable(self, connection: sqlite3.Connection, name: str, ns: str) -> Thread:
        """The thread, added when it is new. May be stale: another process may have deleted it since."""
        known = self._known.get((name, ns)) or self.find(connection, name, ns)
        if known is not None:
            return known
        connection.execute("INSERT OR IGNORE INTO threads (thread, ns) VALUES (?, ?)", (name, ns))
        return self.writable(connection, name, ns)

    def find(self, connection: sqlite3.Connection, name: str, ns: str) -> Thread | None:
        """The thread as the file has it now."""
        row = connection.execute(FIND, (name, ns)).fetchone()
        if row is None:
            self._known.pop((name, ns), None)
            return None
        known = self._known.get((name, ns))
        if known is None or known.id != row["id"]:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            known = self._known[name, ns] = Thread(row["id"], name, ns, Packer())
        if known.packer.dictionary is None and row["dictionary"] is not None:
            known.packer.use(zlib.decompress(row["dictionary"]))
        return known

    def forget(self, name: str, ns: str) -> None:
        """Drop what is remembered of a thread."""
        self._known.pop((name, ns), None)

    def learn(self, connection: sqlite3.Connection, thread: Thread) -> None:
        """Give the thread its dictionary once enough has been seen. The first process that does so wins."""
        dictionary = thread.packer.new_dictionary()
        if dictionary is None:
            return
        connection.execute(
            "UPDATE threads SET dictionary = ? WHERE id = ? AND dictionary IS NULL",
            (zlib.compress(dictionary), thread.id),
        )
        self.find(connection, thread.name, thread.ns)

    def unpack(self, connection: sqlite3.Connection, thread: Thread, body: bytes) -> bytes:
        """The plain bytes of a row. Raises StoreError when they are damaged."""
        if thread.packer.dictionary is None and Packer.needs_dictionary(body):
            self.find(connection, thread.name, thread.ns)
        try:
            return thread.packer.unpack(body)
        except zlib.error as error:
            raise StoreError(f"a checkpoint of {thread.name} cannot be read: {error}") from error


def delete_threads(connection: sqlite3.Connection, name: str) -> None:
    """Delete a thread with its checkpoints and writes, in all namespaces."""
    ids = [row["id"] for row in connection.execute("SELECT id FROM threads WHERE thread = ?", (name,))]
    for number in ids:
        connection.execute("DELETE FROM writes WHERE thread = ?", (number,))
        connection.execute("DELETE FROM checkpoints WHERE thread = ?", (number,))
        connection.execute("DELETE FROM threads WHERE id = ?", (number,))


def id_key(text: str) -> bytes | str:
    """An id as it is stored: 16 bytes when it is a UUID in its usual spelling, the text itself otherwise."""
    if len(text) == 36:
        try:
            key = bytes.fromhex(text.replace("-", ""))
        except ValueError:
            return text
        if id_text(key) == text:
            return key
    return text


def id_text(key: bytes | str) -> str:
    """The id that `id_key` was given."""
    if isinstance(key, str):
        return key
    text = key.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
