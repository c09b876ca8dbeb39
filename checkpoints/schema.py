"""The tables of the store's file, and the migrations that create them.

| table | one row is | key |
|---|---|---|
| runs | a run: goal, fingerprint, how to build its loop again, outcome, request to cancel | run_id |
| leases | who drives a run now: host, process, its start time, a token, the expiry | run_id |
| approvals | a question to a person with its decision; question and decision are JSON | approval_id |
| effects | an intended effect and what became of it, in the order of the first start (`seq`) | key |
| payloads | a raw value by content hash: canonical JSON, deflated when `packed` is 1 | ref |
| steps | the record of a finished step, JSON | run_id, step |
| threads | a LangGraph thread and namespace, and the dictionary that packs its rows | id |
| checkpoints | a LangGraph checkpoint with its metadata, packed | thread, id |
| writes | what one task wrote after a checkpoint, packed; rows count in the order of `seq` | seq |

Times are UTC, ISO 8601. Ids of checkpoints are 16 bytes when they are UUIDs (these sort like their text),
else text. The file has SQLite's application id `ILCK`. Applied migrations stand in `_sqlite_migrations` (of
sqlite-utils) under the set `interlock`; a file with one that this version does not know is refused as newer.
"""

from __future__ import annotations

import sqlite3

from sqlite_utils import Database as Tables
from sqlite_utils import Migrations

from interlock.checkpoints.database import Database
from interlock.policies.errors import StoreError

__all__ = ["APPLICATION_ID", "VERSIONS", "check_owner", "migrate", "migrations"]

APPLICATION_ID = 0x494C434B
"""Tells a store from the SQLite file of another program."""

VERSIONS = {"1": "runs, leases, approvals, effects, payloads, steps, and LangGraph's checkpoints"}
"""One line per version of the file. A new version is a new migration below; an old one is never changed."""

migrations = Migrations("interlock")


@migrations(name="1")
def first_version(db: Tables) -> None:
    _records(db)
    _data(db)
    _checkpoints(db)


def _records(db: Tables) -> None:
    db.create_table(
        "runs",
        {
            "run_id": str, "goal": str, "fingerprint": str, "loop": str, "spec": str, "created_at": str,
            "updated_at": str, "ended_at": str, "outcome": str, "cancel_requested_at": str, "cancel_by": str,
        },
        pk="run_id",
        not_null={"goal", "fingerprint", "loop", "spec", "created_at", "updated_at"},
    )  # fmt: skip
    db.create_table(
        "leases",
        {"run_id": str, "token": str, "host": str, "pid": int, "pid_started": str, "expires_at": str},
        pk="run_id",
    )
    db.create_table(
        "approvals",
        {
            "approval_id": str, "run_id": str, "digest": str, "status": str, "question": str, "decision": str,
            "decided_at": str,
        },
        pk="approval_id",
        not_null={"run_id", "digest", "status", "question"},
    )  # fmt: skip
    db.table("approvals").create_index(["run_id", "digest"])
    db.execute("CREATE INDEX idx_approvals_pending ON approvals(run_id) WHERE status = 'pending'")
    db.create_table(
        "effects",
        {
            "seq": int, "key": str, "run_id": str, "step": int, "tool": str, "arguments": str, "digest": str,
            "state": str, "result": str, "summary": str, "approved_by": str, "attempts": int,
            "started_at": str, "finished_at": str, "late_result": str,
        },
        pk="seq",
        not_null={"key", "run_id", "step", "tool", "arguments", "digest", "state", "attempts", "started_at"},
    )  # fmt: skip
    db.table("effects").create_index(["key"], unique=True)
    db.table("effects").create_index(["run_id"])


def _data(db: Tables) -> None:
    db.create_table(
        "payloads",
        {"ref": str, "size": int, "packed": int, "body": bytes, "touched_at": str},
        pk="ref",
        not_null={"size", "packed", "body", "touched_at"},
    )
    db.create_table("steps", {"run_id": str, "step": int, "record": str}, pk=("run_id", "step"))


def _checkpoints(db: Tables) -> None:
    # AUTOINCREMENT, because a process may still hold the id of a thread that another one has deleted.
    db.execute(
        "CREATE TABLE threads (id INTEGER PRIMARY KEY AUTOINCREMENT, thread TEXT NOT NULL, ns TEXT NOT NULL,"
        " dictionary BLOB, UNIQUE (thread, ns))"
    )
    db.execute(
        "CREATE TABLE checkpoints (seq INTEGER PRIMARY KEY, thread INTEGER NOT NULL, id NOT NULL, parent,"
        " body BLOB NOT NULL, UNIQUE (thread, id))"
    )
    db.execute(
        "CREATE TABLE writes (seq INTEGER PRIMARY KEY, thread INTEGER NOT NULL, checkpoint NOT NULL,"
        " body BLOB NOT NULL)"
    )
    db.execute("CREATE INDEX idx_writes_checkpoint ON writes(thread, checkpoint)")


def check_owner(database: Database) -> None:
    """Refuse a file that is not ours, before anything in it is touched.

    Raises:
        StoreError: it belongs to another program, or to a newer version.
    """
    with database.single() as connection:
        tables = _tables(connection)
        if not tables.table_names():
            return
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            path = database.path
            raise StoreError(f"{path} is a database of another program, not a store; choose another file")
        newer = sorted(_applied(tables) - VERSIONS.keys())
    if newer:
        raise StoreError(
            f"the store {database.path} was written by a newer version of interlock (schema {newer[-1]}, "
            f"this one knows up to {max(VERSIONS, key=int)}); upgrade interlock to open it"
        )


def migrate(database: Database) -> None:
    """Bring the file to the version of this code. Raises StoreError when it is of a newer one."""
    with database.single() as connection:
        if not _pending(_tables(connection)):
            return
    with database.transaction() as connection:
        # Looked at again inside the lock: another process may have been faster.
        check_owner(database)
        migrations.apply(_tables(connection))
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")


def _tables(connection: sqlite3.Connection) -> Tables:
    return Tables(connection, recursive_triggers=False, execute_plugins=False)


def _applied(tables: Tables) -> set[str]:
    return {step.name for step in migrations.applied(tables)}


def _pending(tables: Tables) -> bool:
    return bool(VERSIONS.keys() - _applied(tables))
