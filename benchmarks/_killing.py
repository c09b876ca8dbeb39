"""Kill a real process at every point where it touches the outside.

The loop reaches its store, its model and its tools only through `deps.io`, and its checkpoints only through
the saver, so a kill before and after each of those calls covers every point that can matter. Tools and people
pass points of their own.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from interlock import Loop
from interlock.graphs.loop import deps_of

__all__ = ["KILLED", "Killer", "arm", "ended", "fork", "in_child"]

KILLED = -signal.SIGKILL
"""Exit code of a process that died by SIGKILL."""
HUNG_S = 60.0
"""Seconds after which a child that has not ended counts as hung."""

_context = multiprocessing.get_context("fork")


class Killer:
    """Counts points and sends SIGKILL to its own process at the chosen one."""

    def __init__(self, at: int | str | None = None) -> None:
        self.at = at
        """Where to die: the number of a point, from 1, or the first point of a name; None only counts."""
        self.points: list[str] = []

    def point(self, name: str) -> None:
        """Pass one point, or die there."""
        self.points.append(name)
        if self.at is not None and self.at in (len(self.points), name):
            os.kill(os.getpid(), signal.SIGKILL)
            threading.Event().wait()  # a signal may take a moment: nothing may happen after this point


def arm(loop: Loop, killer: Killer) -> Loop:
    """Put a point before and after every call that leaves the loop."""

    async def io(call: Callable[..., Any], /, *args: Any) -> Any:
        name = getattr(call, "__qualname__", type(call).__name__)
        killer.point(f"before {name}")
        result = call(*args)
        killer.point(f"after {name}")
        return result

    for node in loop.nodes.values():
        bound: Any = node.bound
        if hasattr(bound, "_sync"):
            bound._sync = replace(deps_of(loop), io=io)
    saver: Any = loop.checkpointer
    for name in ("put", "put_writes"):
        _guard(saver, name, killer)
    return loop


def _guard(saver: Any, name: str, killer: Killer) -> None:
    original = getattr(saver, name)

    def guarded(*args: Any, **kwargs: Any) -> Any:
        killer.point(f"before saver.{name}")
        result = original(*args, **kwargs)
        killer.point(f"after saver.{name}")
        return result

    setattr(saver, name, guarded)


def fork(work: Callable[[], Any]) -> Any:
    """Start `work` in a forked process, which has all modules loaded."""

    def target() -> None:
        work()

    process = _context.Process(target=target)
    with warnings.catch_warnings():
        # A test runner has threads of its own, which newer versions of Python warn of; the child uses none.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


def in_child(work: Callable[[], Any]) -> int:
    """Run `work` in a forked process and return its exit code. Raises TimeoutError when it hangs."""
    return ended(fork(work))


def ended(process: Any) -> int:
    """The exit code of a forked process, when it has ended. Raises TimeoutError when it hangs."""
    process.join(HUNG_S)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise TimeoutError(f"a process was still at work after {HUNG_S:g} s")
    return int(process.exitcode)
