"""What the worlds of the ready-made loops have in common: one SQLite file, written from an .sql file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from interlock.policies.errors import BadLoop
from interlock.policies.tool_errors import NotFound

__all__ = ["changing", "one_row", "opened", "write_world"]


WORLD_ID = 0x494C574F
"""Marks a file as the world of an example, so that no other file of that name is overwritten ("ILWO")."""


def write_world(path: Path, sql: Path) -> None:
    """Write the world anew. A reader sees the old one or the new one, never a part.

    Raises:
        BadLoop: another file has this name; it is left alone.
    """
    if path.exists() and not _is_world(path):
        raise BadLoop(f"{path.name} is not a database of this example; move it, or give another --store")
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    fresh.unlink(missing_ok=True)
    with closing(sqlite3.connect(fresh)) as connection:
        connection.executescript(sql.read_text(encoding="utf-8"))
        connection.execute(f"PRAGMA application_id={WORLD_ID}")
    os.replace(fresh, path)


def _is_world(path: Path) -> bool:
    try:
        with closing(sqlite3.connect(path)) as connection:
            return bool(connection.execute("PRAGMA application_id").fetchone()[0] == WORLD_ID)
    except sqlite3.DatabaseError:
        return False


@contextmanager
def opened(path: Path) -> Generator[sqlite3.Connection]:
    """A connection that commits each statement by itself. Raises NotFound when there is no database."""
    if not path.exists():
        raise NotFound(f"there is no database at {path}")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


@contextmanager
def changing(path: Path) -> Generator[sqlite3.Connection]:
    """A connection in one transaction: all of it happens, or with an exception nothing of it."""
    with opened(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def one_row(connection: sqlite3.Connection, what: str, sql: str, key: str) -> dict[str, Any]:
    """The row that a key names. Raises NotFound."""
    row = connection.execute(sql, (key,)).fetchone()
    if row is None:
        raise NotFound(f"there is no {what} {key!r}")
    return dict(row)
