"""What comes back from one model call: a decision, an invalid decision or a failure, and what it cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from interlock.policies.proposals import Decision
from interlock.policies.record import JsonValue, Record
from interlock.policies.steps import InvalidDecision

__all__ = ["Expected", "ModelFailure", "Reply", "Room", "Tokens"]


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
    """Name of the model that answered."""
    protocol: str = ""
    """How the decision was asked for: `tools`, `json_schema` or `json`."""
    attempts: int = 1
    """Calls made, retries included."""
    context: dict[str, int] = {}
    """Tokens of the prompt by part, counted; see `PromptReport`."""
    provider: dict[str, JsonValue] = {}
    """Opaque provider fields that have to be echoed back."""
    notes: list[str] = []
    """What was ignored or dropped, for the observation (a second call in the same message, for one)."""
