"""A command as a verifier: its own process group, a time limit, a bounded output, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass

from interlock.nodes.looking import Finding, Look, words
from interlock.nodes.workers import in_thread
from interlock.policies.verifiers import CommandCheck

__all__ = ["commanded"]

TAIL = 1_500
"""Most that is kept of a command's output, its end, bytes."""
SLICE_S = 0.5
"""Longest wait before somebody's wish to cancel is noticed, seconds."""
GRACE_S = 1.0
"""Seconds that the output may take to end once the group is dead; a child that left the group can hold it."""
KEPT = (
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
    "SYSTEMROOT", "PATHEXT", "COMSPEC", "TEMP", "TMP", "USERPROFILE",
)  # fmt: skip
"""Variables that a command gets from this process; the second line is what Windows needs."""


async def commanded(check: CommandCheck, look: Look) -> Finding:
    """Run the command. Passes when it ends in time with the expected status."""
    limit = min(check.timeout_s, look.left())
    try:
        running = await look.deps.io(_begin, check)
    except (OSError, ValueError) as error:
        return Finding(False, words(f"it could not be started: {type(error).__name__}: {error}"))
    ended = False
    try:
        while not ended and (left := running.began + limit - time.monotonic()) > 0:
            ended = await look.deps.io(running.ended_within, min(SLICE_S, left))
            if not ended and await look.cancelled():
                break
    finally:
        running.kill()
    return _finding(check, running, ended, limit)


def _finding(check: CommandCheck, running: _Running, ended: bool, limit: float) -> Finding:
    status = running.process.returncode
    if ended and status == check.expect_status:
        return Finding(True, f"exit status {status} after {time.monotonic() - running.began:.1f} s")
    if not ended:
        why = f"it was killed: it had not ended after {limit:g} s, or the run was cancelled"
    elif status < 0:
        why = f"it was killed by signal {-status}"
    else:
        why = f"exit status {status}, expected {check.expect_status}"
    output = running.output()
    return Finding(
        False, words(f"{why}; the end of its output: {output}" if output else why), check.untrusted
    )


@dataclass(slots=True)
class _Running:
    """A command that was started."""

    process: subprocess.Popen[bytes]
    began: float
    """`time.monotonic()` at its start: a process runs in real time, whatever the loop's clock says."""
    tail: bytearray
    reader: Future[None]

    def ended_within(self, seconds: float) -> bool:
        """Wait for its end, so many seconds at most."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Kill whatever is left of the group. Nothing in it can prevent that, so it takes no time."""
        with suppress(ProcessLookupError, PermissionError):  # nothing is left, or a zombie is (macOS)
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()
        with suppress(TimeoutError):
            self.reader.result(GRACE_S)

    def output(self) -> str:
        """The end of what it wrote, as text."""
        return bytes(self.tail).decode("utf-8", "replace").strip()


def _begin(check: CommandCheck) -> _Running:
    """Start the command. Raises OSError or ValueError when that does not work."""
    process = subprocess.Popen(
        check.argv,
        cwd=check.cwd,
        env=_environment(os.environ, check),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    tail = bytearray()
    return _Running(process, time.monotonic(), tail, in_thread(lambda: _read(process, tail)))


def _environment(known: Mapping[str, str], check: CommandCheck) -> dict[str, str]:
    return {**{name: known[name] for name in KEPT if name in known}, **(check.env or {})}


def _read(process: subprocess.Popen[bytes], tail: bytearray) -> None:
    """Read to the end, so that the command never waits for a reader, and keep the last part."""
    if process.stdout is None:
        return
    with process.stdout as stream:
        while chunk := os.read(stream.fileno(), 65_536):
            tail += chunk
            del tail[:-TAIL]
