"""What comes back from one model call: a decision, an invalid decision or a failure, and what it cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from interlock.policies.proposals import Decision
from interlock.policies.record import JsonValue, Record
from interlock.policies.steps import InvalidDecision

__all__ = ["Expected", "Learned", "ModelFailure", "ProtocolName", "Reply", "Room", "Tokens"]

ProtocolName = Literal["tools", "json_schema", "json"]
"""How a decision is asked for: as a tool call, as structured output, or as one JSON object in the text."""


class Learned(Record):
    """What a run has learned of its models. Saved with the run, so that every process goes on from it."""

    model: str = ""
    """The model that took over, by name; empty for the first of the list."""
    protocols: dict[str, ProtocolName] = {}
    """The protocol that a server is asked in after it has refused others, by model."""


class Tokens(Record):
    """Tokens of one model call, all attempts included."""

    input: Annotated[int, Field(ge=0)] = 0
    """Tokens of the prompt, cached ones included."""
    cached: Annotated[int, Field(ge=0)] = 0
    """Part of the input that the provider had cached."""
    output: Annotated[int, Field(ge=0)] = 0
    estimated: bool = False
    """True when the model reported none, or none that can be, and the numbers are an estimate."""

    @property
    def total(self) -> int:
        """Input and output."""
        return self.input + self.output

    def plus(self, other: Tokens) -> Tokens:
        """Both together."""
        return Tokens(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            estimated=self.estimated or other.estimated,
        )

    @model_validator(mode="after")
    def _cached_is_input(self) -> Self:
        if self.cached > self.input:
            raise ValueError(f"{self.cached} cached tokens are more than the {self.input} of the input")
        return self


class Expected(Record):
    """What one model call is expected to take."""

    tokens: Tokens
    cost: Decimal | None = None
    """US dollars; None when the price is not known."""


class Room(Record):
    """What one model call may take at most."""

    attempts: Annotated[int, Field(ge=1)] = 100
    """Calls, retries included, that the tokens and the money suffice for."""
    seconds: Annotated[float, Field(gt=0)] = 86_400.0
    """Until the last attempt has to be back."""
    tokens: int | None = None
    """Tokens that are left for another model or protocol, should one have to be asked; None: no bound."""
    cost: Decimal | None = None
    """The same in US dollars."""

    def holds(self, expected: Expected) -> bool:
        """Whether one attempt that takes this much is left."""
        if self.tokens is not None and expected.tokens.total > self.tokens:
            return False
        return self.cost is None or (expected.cost is not None and expected.cost <= self.cost)

    def less(self, spent: Reply, seconds: float) -> Room:
        """What is left after a call that decided nothing.

        Args:
            seconds: how long it took.
        """
        return Room(
            attempts=max(1, self.attempts - spent.attempts),
            seconds=max(0.001, self.seconds - seconds),
            tokens=None if self.tokens is None else self.tokens - spent.tokens.total,
            cost=None if self.cost is None else self.cost - (spent.cost or 0),
        )


class ModelFailure(Record):
    """The model gave no reply that could be judged."""

    reason: Literal["model_error", "refused", "time_limit"]
    """`refused`: a refusal or a content filter; `time_limit`: no reply in the run's remaining time."""
    text: str
    """What happened, with the exception's type, in words that a person can act on."""


class Reply(Record):
    """One model call. Exactly one of `decision`, `invalid` and `failure` is set."""

    decision: Decision | None = None
    invalid: InvalidDecision | None = None
    failure: ModelFailure | None = None
    tokens: Tokens = Tokens()
    cost: Decimal | None = None
    """US dollars for the tokens, exact; None when the price is not known."""
    model: str = ""
    """Name of the model that answered, as its server says."""
    asked: str = ""
    """Name of the model that was asked."""
    protocol: str = ""
    """How the decision was asked for: `tools`, `json_schema` or `json`."""
    attempts: int = 1
    """Calls made, retries included."""
    context: dict[str, int] = {}
    """Tokens of the prompt by part, counted; see `PromptReport`."""
    provider: dict[str, JsonValue] = {}
    """Opaque provider fields that have to be echoed back."""
    switched: list[str] = []
    """Why this reply came in another protocol or from another model than the first, in words."""
    learned: Learned | None = None
    """What the run has to remember of it; None when nothing is new."""
    notes: list[str] = []
    """What was ignored or dropped, for the observation (a second call in the same message, for one)."""
    raw: str = ""
    """Text and calls of a reply that was read, as they came, bounded. May hold secrets."""
