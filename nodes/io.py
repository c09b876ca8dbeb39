"""One logic for sync and async: nodes are coroutines; a sync graph drives them without an event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")

__all__ = ["direct", "run_sync", "threaded"]


async def direct(call: Callable[..., T | Awaitable[T]], /, *args: Any) -> T:
    """Call a port in place: for the sync graph. A coroutine function gets an event loop of its own thread."""
    if inspect.iscoroutinefunction(call):
        return cast(T, _in_own_loop(call(*args)))
    return cast(T, call(*args))


async def threaded(call: Callable[..., T | Awaitable[T]], /, *args: Any) -> T:
    """Call a port without blocking the event loop: for the async graph."""
    if inspect.iscoroutinefunction(call):
        return cast(T, await call(*args))
    return cast(T, await asyncio.to_thread(call, *args))


def run_sync(node: Coroutine[Any, Any, T]) -> T:
    """Run a node's coroutine to its end. It never suspends, because every port answers in place."""
    try:
        node.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    node.close()
    raise RuntimeError("a node awaited something other than deps.io; a sync run cannot wait for it")


def _in_own_loop(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a new event loop in a thread, so that it works inside a running loop (notebooks)."""
    from contextvars import copy_context

    from interlock.nodes.workers import in_thread

    return cast(T, in_thread(lambda: copy_context().run(asyncio.run, coroutine)).result())
