"""Who drives a run: one process at a time. Where a holder's death can be seen, its lease is free at once."""

from __future__ import annotations

import os
import platform
import secrets
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from interlock.checkpoints.clock import Clock
from interlock.checkpoints.database import Database
from interlock.policies.errors import RunBusy, StoreError

__all__ = ["LEASE_S", "Lease", "alive", "hold", "process_start", "this_host"]

LEASE_S = 30.0
"""Seconds after which the lease of a holder that cannot be looked at is free."""

RENEW = "UPDATE leases SET expires_at = ? WHERE run_id = ? AND token = ?"
TAKE = (
    "INSERT OR REPLACE INTO leases (run_id, token, host, pid, pid_started, expires_at)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)


@dataclass(slots=True)
class Lease:
    """The right to drive a run."""

    run_id: str
    token: str
    lost: bool = False
    """True once another process has taken the run over: this one slept for longer than the lease."""


@contextmanager
def hold(database: Database, clock: Clock, run_id: str, lease_s: float = LEASE_S) -> Generator[Lease]:
    """Drive a run while the block lasts. A thread renews the lease.

    Raises:
        RunBusy: another live process holds it.
        StoreError: the file fails.
    """
    lease = Lease(run_id, secrets.token_hex(8))
    _take(database, clock, lease, lease_s)
    stopped = threading.Event()
    heart = threading.Thread(
        target=_beat, args=(database, clock, lease, lease_s, stopped), name=f"lease of {run_id}", daemon=True
    )
    heart.start()
    try:
        yield lease
    finally:
        stopped.set()
        heart.join()
        with database.single() as connection:
            connection.execute("DELETE FROM leases WHERE run_id = ? AND token = ?", (run_id, lease.token))


def alive(row: sqlite3.Row, now: datetime) -> bool:
    """True while the holder of a lease may still be at work."""
    fresh = datetime.fromisoformat(row["expires_at"]) > now
    if row["host"] != this_host():
        return fresh
    started = process_start(row["pid"])
    if started is None:
        return False
    # A process known by its start time is the holder, however late its renewal: it may be suspended, and two
    # drivers of one run are worse than a wait. Without start times the number may be another's by now.
    return started == row["pid_started"] if started else fresh


@cache
def this_host() -> str:
    """This machine since its last start, and the space in which its process numbers mean something."""
    parts = [platform.node()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        try:
            parts.append(os.readlink(path) if path.endswith("pid") else Path(path).read_text().strip())
        except OSError:
            parts.append("")
    return "/".join(parts)


def process_start(pid: int) -> str | None:
    """When a process of this host started; empty when that cannot be told, None when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None if Path("/proc/self/stat").exists() else _lives(pid)
    # The name in brackets may hold anything: fields are counted from its end, state first, start time 20th.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[19]


def _lives(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return ""
    return ""


def _take(database: Database, clock: Clock, lease: Lease, lease_s: float) -> None:
    now = clock.now()
    expires = (now + timedelta(seconds=lease_s)).isoformat()
    pid = os.getpid()
    with database.transaction() as connection:
        row = connection.execute("SELECT * FROM leases WHERE run_id = ?", (lease.run_id,)).fetchone()
        if row is not None and alive(row, now):
            host = row["host"].partition("/")[0]
            raise RunBusy(
                f"run {lease.run_id} is driven by process {row['pid']} on {host} (its lease lasts until "
                f"{row['expires_at']}); wait for it, or ask it to end with a cancel"
            )
        owner = (this_host(), pid, process_start(pid) or "")
        connection.execute(TAKE, (lease.run_id, lease.token, *owner, expires))


def _beat(database: Database, clock: Clock, lease: Lease, lease_s: float, stopped: threading.Event) -> None:
    while not stopped.wait(lease_s / 3):
        expires = (clock.now() + timedelta(seconds=lease_s)).isoformat()
        try:
            with database.single() as connection:
                renewed = connection.execute(RENEW, (expires, lease.run_id, lease.token)).rowcount
        except StoreError:
            # Not lost yet: the lease outlasts two missed renewals, and the run itself meets the same failure.
            continue
        if not renewed:
            lease.lost = True
            return
