"""Bounds and what was used of them. Checked before the spending, cumulative over resumes."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import AwareDatetime, Field

from interlock.policies.record import Record

__all__ = ["Budget", "Grant", "Limit", "Usage"]

Bound = Annotated[int, Field(ge=1, strict=True)]
Count = Annotated[int, Field(ge=0, strict=True)]
Seconds = Annotated[float, Field(gt=0)]
Money = Annotated[Decimal, Field(ge=0)]


class Budget(Record):
    """Upper bounds of one run, over all its resumes. There is no value for "unlimited"."""

    max_steps: Bound = 25
    """Steps, one proposal each. On the last step no tool runs: nobody would look at what it did."""
    max_seconds: Seconds = 3_600.0
    """Active seconds: time in nodes, waits between attempts included. Waiting for a person does not count."""
    deadline: AwareDatetime | None = None
    """Point in time after which nothing new is begun; waiting for a person counts as well."""
    max_tokens: Bound = 1_000_000
    """Input and output tokens of all model calls together."""
    max_cost: Money | None = None
    """Money for model calls, in US dollars, exact. 0 means nothing may be spent. None leaves it to the
    tokens; with a value, a model whose price is unknown is refused before the run."""
    max_calls: dict[str, Count] = {}
    """Calls by tool; the smaller one of this and the contract's holds. 0 means never."""
    context_tokens: Annotated[int, Field(ge=500, strict=True)] = 8_000
    """Tokens that past steps may take in a prompt; older ones are folded to one line each."""
    max_failures: Bound = 5
    """Consecutive steps that may end in an error before the run stops with `failure_limit`."""
    max_repeats: Bound = 3
    """How often the same action may give the same result before the run counts as stuck."""
    max_stale: Bound = 8
    """Consecutive steps without a new fact, a new result or an effect before the run counts as stuck."""
    max_invalid: Bound = 3
    """Consecutive invalid decisions before the run stops with `invalid_decisions`."""
    max_rejected: Bound = 3
    """Rejected final answers before the run stops with `answers_rejected`."""
    verify_seconds: Seconds = 120.0
    """Seconds that all verifiers of one answer may take together, whatever is left of `max_seconds`."""

    def plus(self, grant: Grant | None) -> Budget:
        """These bounds with what a person added to them."""
        if grant is None:
            return self
        return self.model_copy(
            update={
                "max_steps": self.max_steps + grant.steps,
                "max_seconds": self.max_seconds + grant.seconds,
                "max_tokens": self.max_tokens + grant.tokens,
                "max_cost": None if self.max_cost is None else self.max_cost + grant.cost,
                "deadline": grant.deadline or self.deadline,
            }
        )


class Grant(Record):
    """What a person added to the bounds of a run."""

    steps: Count = 0
    seconds: Annotated[float, Field(ge=0)] = 0.0
    tokens: Count = 0
    cost: Money = Decimal(0)
    """US dollars."""
    calls: dict[str, Count] = {}
    """Calls by tool, on top of the smaller one of the budget's and the contract's bound."""
    deadline: AwareDatetime | None = None
    """Takes the place of the old deadline."""

    def plus(self, other: Grant) -> Grant:
        """Both grants together; the later deadline that was given counts."""
        return Grant(
            steps=self.steps + other.steps,
            seconds=self.seconds + other.seconds,
            tokens=self.tokens + other.tokens,
            cost=self.cost + other.cost,
            calls={
                name: self.calls.get(name, 0) + other.calls.get(name, 0)
                for name in {*self.calls, *other.calls}
            },
            deadline=other.deadline or self.deadline,
        )


class Limit(Record):
    """The bound that ended a run."""

    name: str
    """Field of `Budget`, with the tool's name for calls: `max_steps`, `max_calls[refund]`."""
    value: str
    """The bound, as text: exact for money."""
    used: str
    """What was used of it when the run ended; without the call that did not take place."""
    go_on: str | None = None
    """Field of `Grant` that lifts it; None when adding does not help."""


class Usage(Record):
    """What a run has used so far, over all its resumes."""

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    """Cached ones included."""
    cached_tokens: int = 0
    """Part of the input that the provider had cached."""
    output_tokens: int = 0
    estimated: bool = False
    """True when a part of the tokens was estimated because the model reported none."""
    cost: Decimal = Decimal(0)
    """US dollars for the model calls whose price is known, exact."""
    unpriced_calls: int = 0
    """Model calls whose price is not known: the cost is more than `cost`."""
    active_seconds: float = 0.0
    """Time spent in nodes; waiting for a person does not count."""
