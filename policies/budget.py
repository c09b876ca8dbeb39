"""Bounds and what was used of them. Checked before the spending, cumulative over resumes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from interlock.policies.record import Record

__all__ = ["Budget", "Usage"]

Bound = Annotated[int, Field(ge=1)]


class Budget(Record):
    """Upper bounds of one run. Every bound is at least 1; there is no value for "unlimited"."""

    max_steps: Bound = 25
    """Steps, one proposal each. On the last step no tool runs: nobody would look at what it did."""
    context_tokens: Annotated[int, Field(ge=500)] = 16_000
    """Tokens that past steps may take in a prompt; older ones are folded to one line each."""
    max_failures: Bound = 5
    """Consecutive steps that may end in an error before the run stops with `failure_limit`."""
    max_repeats: Bound = 3
    """How often the same action may give the same result before the run stops with `repeated_action`."""
    max_invalid: Bound = 3
    """Consecutive invalid decisions before the run stops with `invalid_decisions`."""
    max_rejected: Bound = 3
    """Rejected final answers before the run stops with `answers_rejected`."""


class Usage(Record):
    """What a run has used so far, over all its resumes."""

    model_calls: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    estimated: bool = False
    """True when a part of the tokens was estimated because the model reported none."""
    active_seconds: float = 0.0
    """Time spent in nodes; waiting for a person does not count."""
