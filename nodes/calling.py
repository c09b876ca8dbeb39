"""Calling one tool: bounded in time, its value made plain, its error made data."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.failures import failure_of, is_control_flow
from interlock.nodes.plain import to_plain
from interlock.nodes.tools import BoundTool
from interlock.nodes.workers import in_thread
from interlock.policies.observations import Status
from interlock.policies.redaction import redact, redact_text

__all__ = ["Call", "Called", "call_tool"]

Late = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Call:
    """One call to make."""

    tool: BoundTool
    arguments: dict[str, Any]
    key: str | None = None
    """Idempotency key, for a tool that takes one."""
    late: Late | None = None
    """Told in short what a call that had timed out returned afterwards."""

    def inputs(self) -> dict[str, Any]:
        """The arguments, with the idempotency key where the tool takes one."""
        name = self.tool.key_argument()
        return {**self.arguments, name: self.key} if name and self.key else dict(self.arguments)


@dataclass(frozen=True, slots=True)
class Called:
    """How one call ended."""

    status: Status
    value: Any = None
    """The return value as plain JSON data."""
    error: str | None = None


async def call_tool(call: Call, deps: Deps) -> Called:
    """Run the tool once. Whatever it raises is data, except LangGraph's control flow and a cancelled task."""
    run = _asynchronous(call) if _is_async(call.tool, deps) else _synchronous(call)
    try:
        value = await deps.io(run)
    except Exception as error:
        if is_control_flow(error):
            raise
        status, text = failure_of(error, mutates=call.tool.mutates)
        return Called(status, error=redact_text(text))
    return Called("ok", redact(value))


def _is_async(tool: BoundTool, deps: Deps) -> bool:
    """An async tool runs as such; where a tool is both, the graph's own flavour decides."""
    function, coroutine = getattr(tool.tool, "func", None), getattr(tool.tool, "coroutine", None)
    return coroutine is not None and (function is None or deps.asynchronous)


def _asynchronous(call: Call) -> Callable[[], Any]:
    async def run() -> Any:
        async with asyncio.timeout(call.tool.contract.timeout_s):
            return to_plain(await call.tool.tool.ainvoke(call.inputs()))

    return run


def _synchronous(call: Call) -> Callable[[], Any]:
    """A thread of its own bounds the call. A sync tool cannot be cancelled: it may still land its effect."""

    def run() -> Any:
        context = copy_context()
        timed_out = threading.Event()

        def work() -> Any:
            return context.run(lambda: to_plain(call.tool.tool.invoke(call.inputs())))

        def ended(future: Future[Any]) -> None:
            if timed_out.is_set() and call.late is not None:
                call.late(_in_short(future))

        future = in_thread(work)
        try:
            return future.result(timeout=call.tool.contract.timeout_s)
        except TimeoutError:
            if future.done():
                return future.result()
        timed_out.set()
        future.add_done_callback(ended)
        limit = call.tool.contract.timeout_s
        raise TimeoutError(f"{call.tool.name} did not answer within {limit:g} s")

    return run


def _in_short(future: Future[Any]) -> str:
    error = future.exception()
    said = f"{type(error).__name__}: {error}" if error else repr(redact(future.result()))
    return redact_text(said)[:500]
