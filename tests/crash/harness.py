"""Kill a real process at every point where it touches the outside, and count effects in the world.

The loop reaches its store, its model and its tools only through `deps.io`, and its checkpoints only through
the saver, so a kill before and after each of those calls covers every point that can matter. Effects are
counted in a file outside the process.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from interlock import Loop
from interlock.graphs.loop import deps_of

__all__ = ["Killer", "arm", "in_child"]

_fork = multiprocessing.get_context("fork")


class Killer:
    """Counts points and sends SIGKILL to its own process at the chosen one."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        """Number of the point to die at, from 1; None only counts."""
        self.points: list[str] = []

    def point(self, name: str) -> None:
        """Pass one point, or die there."""
        self.points.append(name)
        if len(self.points) == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


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


def in_child(work: Callable[[], Any], answer: Path | None = None) -> int:
    """Run `work` in a forked process and return its exit code: -9 when it was killed."""

    def target() -> None:
        work()

    process = _fork.Process(target=target)
    process.start()
    process.join(120)
    if process.exitcode is None:
        process.kill()
        raise TimeoutError("the child hung")
    return process.exitcode
