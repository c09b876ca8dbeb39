"""What comes back from one model call: a decision, an invalid decision or a failure, and what it cost."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from interlock.policies.proposals import Decision
from interlock.policies.record import JsonValue, Record
from interlock.policies.steps import InvalidDecision

__all__ = ["ModelFailure", "Reply", "Tokens"]


class Tokens(Record):
    """Tokens of one model call, all attempts included."""

    input: Annotated[int, Field(ge=0)] = 0
    output: Annotated[int, Field(ge=0)] = 0
    estimated: bool = False
    """True when the model reported none and the numbers are an estimate."""


class ModelFailure(Record):
    """The model gave no reply that could be judged."""

    reason: Literal["model_error", "refused"]
    """`refused`: a refusal or a content filter; `model_error`: everything else."""
    text: str
    """What happened, with the exception's type, in words that a person can act on."""


class Reply(Record):
    """One model call. Exactly one of `decision`, `invalid` and `failure` is set."""

    decision: Decision | None = None
    invalid: InvalidDecision | None = None
    failure: ModelFailure | None = None
    tokens: Tokens = Tokens()
    model: str = ""
    """Name of the model that answered."""
    protocol: str = ""
    """How the decision was asked for: `tools`, `json_schema` or `json`."""
    attempts: int = 1
    """Calls made, retries included."""
    provider: dict[str, JsonValue] = {}
    """Opaque provider fields that have to be echoed back."""
    notes: list[str] = []
    """What was ignored or dropped, for the observation (a second call in the same message, for one)."""
