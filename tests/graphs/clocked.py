"""A loop whose waits take no time: its clock moves instead."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from interlock import Loop
from interlock.testing import FakeClock

__all__ = ["clocked"]


def clocked(loop: Loop, clock: FakeClock) -> Loop:
    """Let the loop's sleeps, sync and async, advance the clock that it was built with."""

    async def asleep(seconds: float) -> None:
        clock.advance(seconds)

    for node in loop.nodes.values():
        bound: Any = node.bound
        if hasattr(bound, "_sync"):
            bound._sync = replace(bound._sync, sleep=clock.advance)
            bound._async = replace(bound._async, sleep=asleep)
    return loop
