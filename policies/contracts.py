"""What the loop knows of a tool beyond its schema. A tool without a contract is high-risk, untrusted."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import Field, field_validator

from interlock.policies.record import JsonValue, Record

__all__ = ["ArgumentRule", "Contract", "Effect", "Poll"]

Effect = Literal["read", "write", "high_risk"]
"""`read` changes nothing; `write` changes something limited; `high_risk` needs a person."""


class ArgumentRule(Record):
    """A rule for one argument. Every part that is set must hold."""

    allowed: list[JsonValue] | None = None
    """The only values permitted, by equality; for a list argument, every item."""
    pattern: str | None = None
    """Regular expression that the whole text must match."""
    minimum: float | None = None
    """Smallest number permitted, inclusive."""
    maximum: float | None = None
    """Largest number permitted, inclusive."""
    max_items: Annotated[int, Field(ge=1)] | None = None
    """Largest number of items of a list argument, or of entries of an object: the blast radius."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"{pattern!r} is not a regular expression: {error}") from None
        return pattern


class Poll(Record):
    """Permission to repeat the same call until a condition holds."""

    interval_s: Annotated[float, Field(gt=0)]
    """Seconds between the end of a call and the start of the next."""
    until: str
    """JMESPath over the result; polling ends when it is true, as JMESPath sees it: not null, not empty."""
    max_calls: Annotated[int, Field(ge=1)]
    """Cap on the calls of one action, tool and arguments, in a run."""

    @field_validator("until")
    @classmethod
    def _parses(cls, until: str) -> str:
        try:
            jmespath.compile(until)
        except (JMESPathError, RecursionError) as error:
            raise ValueError(f"{until!r} is not a JMESPath expression: {error}") from None
        return until


class Contract(Record):
    """The loop's knowledge of one tool. The defaults are the safe ones."""

    effect: Effect = "high_risk"
    idempotent: bool = False
    """True when running twice with the same idempotency key changes the world once."""
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    """Seconds after which the call counts as timed out."""
    max_calls: Annotated[int, Field(ge=1)] | None = None
    """Calls allowed in one run; None leaves it to the step limit."""
    targets: list[str] | None = None
    """Arguments that say whom or what the effect hits; None counts every one, [] says that there are none."""
    scope: dict[str, ArgumentRule] = {}
    """Rules by argument name. An argument that has a rule must be present."""
    dry_run: str | None = None
    """Name of the read tool that previews this one with the same arguments."""
    poll: Poll | None = None
    """Permission for a read to repeat the same call until a condition holds."""
    provides: dict[str, str] = {}
    """Facts from the result: fact key → JMESPath over the result."""
    normalizer: dict[str, Any] | None = None
    """JMESPath mapping for the envelope: `summary`, `entities`, `next_actions`."""
    untrusted: bool = True
    """True when the output is outside content."""
    reconcile: str | None = None
    """Name of the read tool that tells whether an action happened, called with the idempotency key."""
    volatile: list[str] = []
    """Result fields that change without meaning anything (timestamps, request ids)."""
