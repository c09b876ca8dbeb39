"""Effects as the ledger keeps them: an intent before the call, its completion after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from interlock.policies.observations import ToolResult
from interlock.policies.record import JsonValue, Record
from interlock.policies.verdicts import NeedsApproval

__all__ = ["EffectRow", "EffectState", "repeated_effect"]

EffectState = Literal["in_flight", "done", "unknown", "cleared"]
"""`in_flight`: started, no result yet; `unknown`: it may or may not have happened; `cleared`: a person or the
world said that it did not happen, so it may run."""


class EffectRow(Record):
    """One intended effect."""

    key: str
    """Idempotency key."""
    run_id: str
    step: int
    tool: str
    arguments: dict[str, JsonValue]
    digest: str
    state: EffectState = "in_flight"
    result: ToolResult | None = None
    summary: str | None = None
    """The result in short, as text."""
    approved_by: str | None = None
    attempts: Annotated[int, Field(ge=1)] = 1
    """How often the tool was started under this key."""
    started_at: str
    finished_at: str | None = None
    late_result: str | None = None
    """What a call that had timed out returned afterwards."""


NOTHING_HAPPENED = frozenset(
    {"invalid_input", "permission_denied", "not_found", "conflict", "retryable_error"}
)
"""Results of a call that say that it changed nothing."""


def repeated_effect(done: Sequence[EffectRow], digest: str, step: int) -> NeedsApproval | None:
    """A person decides before the same effect is made twice in one run.

    A new step has a new idempotency key, so nothing below would stop it. A call that failed without saying
    that nothing happened counts as well.

    Args:
        done: the run's effects.
        step: the step that proposes the action; its own effect is not a repetition.
    """
    for row in reversed(done):
        if row.digest != digest or row.step == step or row.state == "cleared":
            continue
        status = row.result.status if row.result else "unknown_outcome"
        if status not in NOTHING_HAPPENED:
            was = "ran" if status == "ok" else "was tried, and may have changed something,"
            return NeedsApproval(
                rule="repeated_effect", reason=f"exactly this {was} in step {row.step} already"
            )
    return None
