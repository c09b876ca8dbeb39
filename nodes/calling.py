"""Calling one tool: bounded in time, its value made plain, its error made data."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from interlock.nodes.deps import Deps
from interlock.nodes.failures import failure_of, is_control_flow
from interlock.nodes.plain import to_plain
from interlock.nodes.tools import BoundTool
from interlock.nodes.workers import in_thread
from interlock.policies.hiding import without
from interlock.policies.observations import Status
from interlock.policies.redaction import redact, redact_text
from interlock.policies.tool_errors import ToolFailure

__all__ = ["Call", "Called", "call_tool", "under_way"]

Late = Callable[[str], None]

GRACE_S = 0.2
"""Seconds that an async tool has to end after it was cancelled, before its thread is left behind."""

_started: WeakValueDictionary[str, Future[Any]] = WeakValueDictionary()
"""The last call under each idempotency key, while anything still holds it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call to make."""

    tool: BoundTool
    arguments: dict[str, Any]
    key: str | None = None
    """Idempotency key, for a tool that takes one."""
    within_s: float | None = None
    """Seconds that the run has left, for a call that changes nothing and may be given up."""
    late: Late | None = None
    """Told in short what a call that had timed out returned afterwards."""

    def limit_s(self) -> float:
        """Seconds after which the call counts as timed out."""
        own = self.tool.contract.timeout_s
        return own if self.within_s is None else min(own, self.within_s)

    def inputs(self) -> dict[str, Any]:
        """A copy of the arguments, which the tool may change, with the idempotency key where it takes one."""
        name = self.tool.key_argument()
        given = copy.deepcopy(self.arguments)
        return {**given, name: self.key} if name and self.key else given

    def hidden(self, value: Any) -> Any:
        """What came of the call, as plain JSON data, without secrets: the call's own are not repeated."""
        return without(redact(value), self.tool.secrets_in(self.arguments))

    def hidden_text(self, text: str) -> str:
        """The same for free text."""
        return str(without(redact_text(text), self.tool.secrets_in(self.arguments)))


@dataclass(frozen=True, slots=True)
class Called:
    """How one call ended."""

    status: Status
    value: Any = None
    """The return value as plain JSON data."""
    error: str | None = None


async def call_tool(call: Call, deps: Deps) -> Called:
    """Run the tool once. Whatever it raises is data, except LangGraph's control flow and a cancelled task."""
    run = _asynchronous(call) if deps.asynchronous and _is_async(call.tool, deps) else _bounded(call, deps)
    try:
        value = await deps.io(run)
    except Exception as error:
        if is_control_flow(error):
            raise
        status, text = failure_of(error, mutates=call.tool.mutates)
        return Called(status, error=call.hidden_text(text))
    return Called("ok", call.hidden(value))


def under_way(key: str) -> bool:
    """True while a call under this key still works in a thread of this process, whoever waits for it."""
    future = _started.get(key)
    return future is not None and not future.done()


def _is_async(tool: BoundTool, deps: Deps) -> bool:
    """An async tool runs as such; where a tool is both, the graph's own flavour decides."""
    function, coroutine = getattr(tool.tool, "func", None), getattr(tool.tool, "coroutine", None)
    return coroutine is not None and (function is None or deps.asynchronous)


def _asynchronous(call: Call) -> Callable[[], Any]:
    async def run() -> Any:
        try:
            async with asyncio.timeout(call.limit_s()):
                return to_plain(await call.tool.tool.ainvoke(call.inputs()))
        except SystemExit as error:
            raise _exit(error) from error

    return run


def _invocation(call: Call, coroutine: bool) -> Callable[[], Any]:
    """The call itself. A tool may not end the process, nor cancel what waits for it."""

    def invoke() -> Any:
        try:
            if coroutine:
                return asyncio.run(_asynchronous(call)())
            return to_plain(call.tool.tool.invoke(call.inputs()))
        except (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError) as error:
            raise _exit(error) from error

    return invoke


def _bounded(call: Call, deps: Deps) -> Callable[[], Any]:
    """A thread of its own bounds the call. A sync tool cannot be cancelled: it may still land its effect."""
    coroutine = _is_async(call.tool, deps)
    limit = call.limit_s()

    def run() -> Any:
        context = copy_context()
        timed_out = threading.Event()

        def ended(future: Future[Any]) -> None:
            if timed_out.is_set() and call.late is not None:
                call.late(call.hidden_text(_in_short(future))[:500])

        future = in_thread(lambda: context.run(_invocation(call, coroutine)))
        if call.key:
            _started[call.key] = future
        try:
            return future.result(timeout=limit + (GRACE_S if coroutine else 0))
        except TimeoutError:
            if future.done():
                return future.result()
        timed_out.set()
        future.add_done_callback(ended)
        raise TimeoutError(f"{call.tool.name} did not answer within {limit:g} s")

    return run


def _exit(error: BaseException) -> ToolFailure:
    return ToolFailure("tool_error", f"the tool raised {type(error).__name__}: {error}")


def _in_short(future: Future[Any]) -> str:
    error = future.exception()
    return f"{type(error).__name__}: {error}" if error else repr(redact(future.result()))
