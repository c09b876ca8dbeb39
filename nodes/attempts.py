"""Making one model call: as many attempts as patience, tokens, money and time allow. The only such layer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from langgraph.errors import GraphBubbleUp
from tenacity import (
    AsyncRetrying,
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    stop_before_delay,
)

from interlock.nodes.protocols.reading import characters
from interlock.nodes.retries import OutOfTime, is_transport_fault, wait_for
from interlock.nodes.workers import in_thread
from interlock.policies.prompt import ToolCard
from interlock.policies.replies import Expected, Reply, Room, Tokens

__all__ = ["Patience", "Prepared"]

SAFE_CHARACTERS_PER_TOKEN = 3
"""For what is expected: JSON and names take more tokens than prose, which has about four."""
OUTPUT_RESERVE = 1_000
"""Output tokens expected of a call: more than a decision takes, where the model's own cap is not lower."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often and how long a failed call is tried again."""

    attempts: int
    max_wait_s: float
    sleep: Callable[[float], None]
    asleep: Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class Prepared:
    """One call, rendered and ready to be made: what it will take is known before it is spent."""

    messages: list[BaseMessage]
    context: dict[str, int]
    """Tokens of the prompt by part; see `PromptReport`."""
    runnable: Runnable[Any, Any]
    tools: Sequence[ToolCard]
    tool_characters: int
    """Characters of the tools, as they are sent."""
    cost: Callable[[Tokens], Decimal | None]
    """US dollars for tokens of this model; None when its price is not known."""
    cap: int | None
    """Output tokens that the model may use, where it says so."""
    patience: Patience
    read: Callable[[Any, Prepared], Reply]
    """Makes the reply of what came back."""
    fail: Callable[[Exception, Prepared], Reply]
    """Makes the reply of the last attempt's error."""
    failed: list[BaseException] = field(default_factory=list[BaseException])
    """Faults of the attempts so far."""

    def characters(self) -> int:
        """Characters of the prompt, tools included."""
        return characters(self.messages) + self.tool_characters

    def expected(self) -> Expected:
        """What one attempt will take, estimated on the safe side: 3 characters a token, a long decision."""
        output = min(self.cap or OUTPUT_RESERVE, OUTPUT_RESERVE)
        size = -(-self.characters() // SAFE_CHARACTERS_PER_TOKEN)
        tokens = Tokens(input=size, output=output, estimated=True)
        return Expected(tokens=tokens, cost=self.cost(tokens))

    def decide(self, room: Room) -> Reply:
        """One decision. What the model or its server does wrong is in the reply, never raised."""
        until = time.monotonic() + room.seconds
        retrying = Retrying(sleep=self.patience.sleep, **self._bounds(room))
        try:
            message: Any = retrying(self._attempt, until)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return self.fail(error, self)
        return self.read(message, self)

    async def adecide(self, room: Room) -> Reply:
        """`decide` for a running event loop."""
        until = time.monotonic() + room.seconds
        retrying = AsyncRetrying(sleep=self.patience.asleep, **self._bounds(room))
        try:
            message: Any = await retrying(self._aattempt, until)
        except GraphBubbleUp:
            raise
        except Exception as error:
            return self.fail(error, self)
        return self.read(message, self)

    def _attempt(self, until: float) -> Any:
        """In a thread, because a client's own time limit may be longer than the run's, or absent."""
        context = copy_context()
        future = in_thread(lambda: context.run(self.runnable.invoke, self.messages))
        try:
            return future.result(timeout=max(0.0, until - time.monotonic()))
        except TimeoutError:
            if future.done():  # the client's own
                raise
            raise OutOfTime("the run's time was up before the model had answered") from None

    async def _aattempt(self, until: float) -> Any:
        bound = asyncio.timeout(max(0.0, until - time.monotonic()))
        try:
            async with bound:
                return await self.runnable.ainvoke(self.messages)
        except TimeoutError:
            if bound.expired():
                raise OutOfTime("the run's time was up before the model had answered") from None
            raise

    def _bounds(self, room: Room) -> dict[str, Any]:
        def failed(state: RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if error is not None:
                self.failed.append(error)

        def wait(state: RetryCallState) -> float:
            return wait_for(state, self.patience.max_wait_s)

        return {
            "stop": stop_after_attempt(min(self.patience.attempts, room.attempts))
            | stop_before_delay(room.seconds),
            "retry": retry_if_exception(is_transport_fault),
            "wait": wait,
            "before_sleep": failed,
            "reraise": True,
        }
