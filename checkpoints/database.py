"""Connections to the store's file: opened with care, guarded by a lock, with errors in words."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from interlock.policies.errors import StoreError

__all__ = ["MEMORY", "Database", "Synchronous", "check_place", "connect", "explain", "use_wal"]

MEMORY = ":memory:"
"""Path of a store that ends with its process."""

Synchronous = Literal["NORMAL", "FULL"]
"""`FULL`: a commit is on the disk when it returns. `NORMAL`: it survives the death of the process; a power
cut may take the last commits with it. Neither ever corrupts the file."""


class Database:
    """One connection with its lock. Connections to the same file share one lock: threads of a process then
    queue on it instead of polling SQLite's own."""

    def __init__(self, connection: sqlite3.Connection, path: str, lock: threading.RLock) -> None:
        self.connection = connection
        self.path = path
        self.lock = lock

    @contextmanager
    def single(self) -> Generator[sqlite3.Connection]:
        """The connection for single statements, each a transaction of its own. Raises StoreError."""
        with self.lock:
            try:
                yield self.connection
            except sqlite3.Error as error:
                raise explain(error, self.path) from error

    @contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """The connection inside one write transaction, taken at once. Raises StoreError."""
        with self.single() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the connection. Harmless when it is closed."""
        with self.lock:
            self.connection.close()


def connect(path: str, synchronous: Synchronous, busy_timeout_s: float) -> sqlite3.Connection:
    """Open the file for use by several threads and processes. Raises StoreError."""
    try:
        connection = sqlite3.connect(
            path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False, cached_statements=256
        )
    except sqlite3.Error as error:
        raise explain(error, path) from error
    try:
        connection.row_factory = sqlite3.Row
        connection.execute(f"PRAGMA synchronous={synchronous}")
    except sqlite3.Error as error:
        connection.close()
        raise explain(error, path) from error
    return connection


def check_place(path: str, must_exist: bool) -> None:
    """Refuse a path where no store can be, in one clear line. Raises StoreError."""
    if path == MEMORY:
        return
    place = Path(path)
    if place.is_dir():
        raise StoreError(f"{path} is a folder; a store is one file, for example {place / 'runs.db'}")
    if not place.parent.is_dir():
        raise StoreError(f"cannot open the store {path}: the folder {place.parent} does not exist")
    if not place.exists():
        if must_exist:
            raise StoreError(f"there is no store at {path}")
        return
    if not os.access(place, os.R_OK | os.W_OK):
        raise StoreError(f"cannot open the store {path}: no permission to read and write it")


def explain(error: sqlite3.Error, path: str) -> StoreError:
    """SQLite's error in words that a person can act on."""
    text = str(error)
    if "locked" in text or "busy" in text:
        hint = "another process holds it; try again, or open it with a longer busy_timeout_s"
        return StoreError(f"the store {path} stayed locked: {hint} ({text})")
    if "not a database" in text:
        return StoreError(f"{path} is not a store: the file is not an SQLite database")
    if "closed database" in text:
        return StoreError(f"the store {path} is closed")
    return StoreError(f"the store {path} failed: {text}")


def use_wal(database: Database, busy_timeout_s: float) -> None:
    """Switch the file to the write-ahead log. Raises StoreError.

    Polls, because SQLite does not wait by itself when two processes switch at once.
    """
    until = time.monotonic() + busy_timeout_s
    with database.single() as connection:
        while True:
            try:
                connection.execute("PRAGMA journal_mode=WAL").fetchone()
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() >= until:
                    raise
            time.sleep(0.01)
