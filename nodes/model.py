"""The model as a port: a prompt goes in, one reply comes out, whatever the model or its server does."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from decimal import Decimal
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable

from interlock.nodes.attempts import Patience, Prepared
from interlock.nodes.clients import prepared
from interlock.nodes.pricing import cost_from
from interlock.nodes.protocols.base import WireProtocol, invalid
from interlock.nodes.protocols.plain_json import PlainJson
from interlock.nodes.protocols.reading import (
    cut_off,
    estimate,
    provider_of,
    raw_of,
    refusal_of,
    tokens_of,
)
from interlock.nodes.protocols.rendering import Renderer
from interlock.nodes.protocols.tools import ToolCalling
from interlock.nodes.retries import OutOfTime, charged
from interlock.policies.controls import check_names
from interlock.policies.errors import BadLoop
from interlock.policies.prices import Price
from interlock.policies.prompt import Prompt, ToolCard
from interlock.policies.replies import ModelFailure, Reply, Room, Tokens
from interlock.policies.text import bounded, visible

__all__ = ["ChatModel", "Prepared", "ProtocolName"]

ProtocolName = Literal["tools", "json_schema", "json"]
PROTOCOLS: dict[str, Callable[[], WireProtocol]] = {"tools": ToolCalling, "json": PlainJson}
FAILURE_LIMIT = 2000
FREE = Price(input=Decimal(0), output=Decimal(0))


class ChatModel:
    """A LangChain chat model that yields decisions.

    Args:
        model: any chat model. It is copied; the copy neither streams nor retries on its own.
        protocol: how decisions are asked for; by default `tools` when the model can bind tools, else `json`.
        price: what its calls cost, in place of the table of genai-prices. A model with an attribute
            `costs_nothing = True` is free where nobody names a price.
        attempts: calls at most for one decision, at least 1. Only transport faults are tried again.
        max_wait_s: longest wait between two attempts, seconds, also where a server asks for more.
        sleep, asleep: how to wait, for tests.

    Raises:
        BadLoop: the protocol is unknown, or a bound is out of range.
    """

    def __init__(
        self,
        model: BaseChatModel,
        protocol: ProtocolName | None = None,
        *,
        price: Price | None = None,
        attempts: int = 3,
        max_wait_s: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        asleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if attempts < 1 or max_wait_s <= 0:
            raise BadLoop("attempts must be at least 1 and max_wait_s above 0")
        self._model = prepared(model)
        self._protocol = _protocol(model, protocol)
        self._renderer = Renderer(self._protocol)
        self._patience = Patience(attempts, max_wait_s, sleep, asleep)
        self._cap = _cap(model)
        self._price = price or (FREE if getattr(model, "costs_nothing", False) else None)
        self._bound: tuple[list[ToolCard], Runnable[Any, Any], int] | None = None

    @property
    def protocol(self) -> str:
        """How decisions are asked for."""
        return self._protocol.name

    @property
    def name(self) -> str:
        """Name of the model."""
        named = (getattr(self._model, field, None) for field in ("model_name", "model", "name"))
        return next((str(name) for name in named if name), type(self._model).__name__)

    @property
    def priced(self) -> bool:
        """True when it is known what the model's calls cost."""
        return self._cost(Tokens(input=1, output=1)) is not None

    def _cost(self, tokens: Tokens, answered: str = "") -> Decimal | None:
        return cost_from(self._price, (answered, self.name), tokens)

    def _told(self, call: Prepared, tokens: Tokens, answered: str = "") -> dict[str, Any]:
        """What every reply says of the call."""
        return {
            "tokens": tokens,
            "cost": self._cost(tokens, answered),
            "model": answered or self.name,
            "protocol": self.protocol,
            "attempts": len(call.failed) + 1,
            "context": call.context,
        }

    def prepare(self, prompt: Prompt) -> Prepared:
        """The call that this prompt comes to, not yet made.

        Raises:
            BadLoop: a tool has the name of a control proposal.
        """
        runnable, tool_characters = self._runnable(prompt.tools)
        rendered = self._renderer.render(prompt)
        return Prepared(
            messages=rendered.messages,
            context=rendered.context(),
            runnable=runnable,
            tools=prompt.tools,
            tool_characters=tool_characters,
            cost=self._cost,
            cap=self._cap,
            patience=self._patience,
            read=self._reply,
            fail=self._failed,
        )

    def decide(self, prompt: Prompt) -> Reply:
        """One decision, without a bound on time and tokens."""
        return self.prepare(prompt).decide(Room())

    async def adecide(self, prompt: Prompt) -> Reply:
        """`decide` for a running event loop."""
        return await self.prepare(prompt).adecide(Room())

    def _runnable(self, tools: Sequence[ToolCard]) -> tuple[Runnable[Any, Any], int]:
        """The model with its tools bound, and their characters; anew only when the tools have changed."""
        bound = self._bound
        if bound is None or bound[0] != list(tools):
            check_names(card.name for card in tools)
            size = sum(len(card.description) + len(json.dumps(card.schema, default=str)) for card in tools)
            bound = self._bound = (list(tools), self._protocol.bind(self._model, tools), size)
        return bound[1], bound[2]

    def _failed(self, error: Exception, call: Prepared) -> Reply:
        call.failed.append(error)
        told: dict[str, Any] = {**self._told(call, _spent(call, None)), "attempts": len(call.failed)}
        tries = f" after {len(call.failed)} attempts" if len(call.failed) > 1 else ""
        return Reply(
            failure=_failure(
                "time_limit" if isinstance(error, OutOfTime) else "model_error",
                f"the model call failed{tries}: {_named(error)}",
            ),
            **told,
        )

    def _reply(self, message: Any, call: Prepared) -> Reply:
        """The reply as it was read; one of a shape that no server should send is an invalid decision."""
        try:
            return self._read(message, call)
        except (TypeError, ValueError, AttributeError, LookupError, RecursionError) as error:
            problem = invalid(f"the reply has a shape that cannot be read: {_named(error)}", "").invalid
            return Reply(invalid=problem, **self._told(call, _spent(call, None)))

    def _read(self, message: Any, call: Prepared) -> Reply:
        if not isinstance(message, AIMessage):
            return self._failed(
                TypeError(f"the model gave a {type(message).__name__}, not an AIMessage"), call
            )
        answered = visible(str(message.response_metadata.get("model_name") or ""))
        common = self._told(call, _spent(call, tokens_of(message, call.characters)), answered)
        common["provider"] = provider_of(message)
        if (refusal := refusal_of(message)) is not None:
            return Reply(failure=_failure("refused", f"the model refused: {refusal}"), **common)
        if cut_off(message, self._cap):
            return Reply(invalid=invalid(_CUT, raw_of(message)).invalid, **common)
        parsed = self._protocol.parse(message, call.tools)
        return Reply(decision=parsed.decision, invalid=parsed.invalid, notes=list(parsed.notes), **common)


_CUT = "the reply was cut off at the limit of output tokens, so nothing of it ran; reply again, shorter"


def _protocol(model: BaseChatModel, name: ProtocolName | None) -> WireProtocol:
    if name is None:
        name = "tools" if type(model).bind_tools is not BaseChatModel.bind_tools else "json"
    if name not in PROTOCOLS:
        raise BadLoop(f"the protocol {name!r} is not known; known are: {', '.join(PROTOCOLS)}")
    if name == "tools" and type(model).bind_tools is BaseChatModel.bind_tools:
        raise BadLoop(f"{type(model).__name__} cannot bind tools; use the protocol 'json'")
    return PROTOCOLS[name]()


def _cap(model: BaseChatModel) -> int | None:
    """Output tokens that the model may use for one reply, where it says so."""
    for name in ("max_completion_tokens", "max_output_tokens", "max_tokens"):
        value = getattr(model, name, None)
        if isinstance(value, int) and value > 0:
            return value
    return None


def _spent(call: Prepared, last: Tokens | None) -> Tokens:
    """Tokens of all attempts: failed ones that may have been charged count their prompt, estimated."""
    failed = sum(charged(error) for error in call.failed)
    known = last or Tokens()
    if not failed:
        return known
    lost = failed * estimate(call.characters())
    return known.model_copy(update={"input": known.input + lost, "estimated": True})


def _failure(reason: Literal["model_error", "refused", "time_limit"], text: str) -> ModelFailure:
    """A failure in words that a store can hold and a terminal can show."""
    return ModelFailure(reason=reason, text=bounded(visible(text), FAILURE_LIMIT))


def _named(error: BaseException) -> str:
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
