"""The model as a port: a prompt goes in, one reply comes out, whatever the model or its server does."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage

from interlock.nodes.attempts import FAILURE_LIMIT, Patience, Prepared
from interlock.nodes.clients import is_openai
from interlock.nodes.complaints import about_output, is_gone, refuses, words
from interlock.nodes.listening import somebody_listens
from interlock.nodes.pricing import cost_from
from interlock.nodes.protocols.base import invalid, kept
from interlock.nodes.protocols.choosing import begin_with, lesser, made
from interlock.nodes.protocols.reading import (
    cut_off,
    estimate,
    provider_of,
    raw_of,
    refusal_of,
    tokens_of,
)
from interlock.nodes.retries import OutOfTime, charged, is_transport_fault
from interlock.nodes.streams import Collected
from interlock.nodes.turns import Turn
from interlock.nodes.wires import Wire
from interlock.policies.errors import BadLoop
from interlock.policies.prices import Price
from interlock.policies.prompt import Prompt
from interlock.policies.replies import Learned, ModelFailure, ProtocolName, Reply, Room, Tokens
from interlock.policies.text import bounded, visible

__all__ = ["ChatModel", "Prepared", "ProtocolName"]

FREE = Price(input=Decimal(0), output=Decimal(0))


class ChatModel:
    """A LangChain chat model that yields decisions.

    Args:
        model: any chat model. It is copied; the copy does not retry on its own.
        protocol: how decisions are asked for at first: `tools`, `json_schema` or `json`; by default the first
            of these that the model's class and its profile offer. A server that refuses it is asked in the
            next one, for the rest of the run.
        name: what trace and fallbacks call it; by default the model's own name.
        stream: take replies in pieces. By default only while somebody listens: LangGraph's stream mode
            `messages`, `astream_events`, or `on_thought` of `start`. The decision is the same.
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
        name: str = "",
        stream: bool | None = None,
        price: Price | None = None,
        attempts: int = 3,
        max_wait_s: float = 30.0,
        sleep: Callable[[float], None] = time.sleep,
        asleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if attempts < 1 or max_wait_s <= 0:
            raise BadLoop("attempts must be at least 1 and max_wait_s above 0")
        self._model = model
        self._name = name
        self._begin: ProtocolName = begin_with(model, protocol)
        self._wires: dict[ProtocolName, Wire] = {}
        self._stream = stream
        self._patience = Patience(attempts, max_wait_s, sleep, asleep)
        self._cap = _cap(model)
        self._price = price or (FREE if getattr(model, "costs_nothing", False) else None)

    @property
    def protocol(self) -> ProtocolName:
        """How decisions are asked for at first."""
        return self._begin

    @property
    def name(self) -> str:
        """What trace and fallbacks call the model."""
        return self._name or self._named

    @property
    def _named(self) -> str:
        named = (getattr(self._model, field, None) for field in ("model_name", "model", "name"))
        return next((str(name) for name in named if name), type(self._model).__name__)

    @property
    def priced(self) -> bool:
        """True when it is known what the model's calls cost."""
        return self._cost(Tokens(input=1, output=1)) is not None

    def _cost(self, tokens: Tokens, answered: str = "") -> Decimal | None:
        return cost_from(self._price, (answered, self._named), tokens)

    def _told(self, call: Prepared, tokens: Tokens, answered: str = "") -> dict[str, Any]:
        """What every reply says of the call."""
        return {
            "tokens": tokens,
            "cost": self._cost(tokens, answered),
            "model": answered or self.name,
            "asked": self.name,
            "protocol": call.protocol,
            "attempts": len(call.failed) + 1,
            "context": call.context,
        }

    def prepare(self, prompt: Prompt, learned: Learned | None = None) -> Turn:
        """The call that this prompt comes to, not yet made.

        Args:
            learned: what the run has learned of its models.

        Raises:
            BadLoop: a tool has the name of a control proposal.
        """
        return Turn(prompt, [self], learned or Learned())

    def call(self, prompt: Prompt, protocol: ProtocolName) -> Prepared:
        """The call in one protocol, without what comes after a refusal."""
        wire = self._wire(protocol)
        streaming = somebody_listens() if self._stream is None else self._stream
        runnable, tool_characters = wire.runnable(prompt.tools, streaming)
        rendered = wire.render(prompt)
        return Prepared(
            messages=rendered.messages,
            context=rendered.context(),
            runnable=runnable,
            collect=partial(Collected, is_openai(self._model)) if streaming else None,
            protocol=protocol,
            tools=prompt.tools,
            tool_characters=tool_characters,
            cost=self._cost,
            cap=self._cap,
            patience=self._patience,
            read=self._reply,
            fail=self._failed,
        )

    def lesser(self, call: Prepared) -> ProtocolName | None:
        """The protocol to go on with, when the server has refused that of this call and there is another."""
        if call.error is None or not refuses(call.error, call.protocol):
            return None
        return lesser(self._model, call.protocol)

    def down(self, call: Prepared) -> bool:
        """True when a call failed because the model cannot be had: no connection, key, quota, such model."""
        return call.error is not None and (is_transport_fault(call.error) or is_gone(call.error))

    def _wire(self, protocol: ProtocolName) -> Wire:
        if protocol not in self._wires:
            self._wires[protocol] = Wire(self._model, made(protocol, self._cap), self.name)
        return self._wires[protocol]

    def decide(self, prompt: Prompt) -> Reply:
        """One decision, without a bound on time and tokens."""
        return self.prepare(prompt).decide(Room())

    async def adecide(self, prompt: Prompt) -> Reply:
        """`decide` for a running event loop."""
        return await self.prepare(prompt).adecide(Room())

    def _failed(self, error: Exception, call: Prepared) -> Reply:
        call.failed.append(error)
        told: dict[str, Any] = {**self._told(call, _spent(call, None)), "attempts": len(call.failed)}
        kind, written = about_output(error) or ("", "")
        if kind in ("cut", "unread"):
            problem = _CUT if kind == "cut" else f"the reply could not be read: {_named(error)}"
            return Reply(invalid=invalid(bounded(problem, FAILURE_LIMIT), written).invalid, **told)
        if kind == "refused":
            return Reply(failure=_failure("refused", f"the model refused: {written}"), **told)
        tries = f" after {len(call.failed)} attempts" if len(call.failed) > 1 else ""
        reason: Literal["time_limit", "model_error"] = "model_error"
        reason = "time_limit" if isinstance(error, OutOfTime) else reason
        return Reply(
            failure=_failure(reason, f"the model call failed{tries}: {_named(error)}"),
            **told,
        )

    def _reply(self, message: Any, call: Prepared) -> Reply:
        """The reply as it was read; one of a shape that no server should send is an invalid decision."""
        message = message.get("raw") if isinstance(message, Mapping) else message
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
        parsed = self._wire(call.protocol).protocol.parse(message, call.tools)
        common["raw"] = kept(raw_of(message))
        return Reply(decision=parsed.decision, invalid=parsed.invalid, notes=list(parsed.notes), **common)


_CUT = "the reply was cut off at the limit of output tokens, so nothing of it ran; reply again, shorter"


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
    text = words(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
