"""How a run ends: one enum of reasons, one typed outcome."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from interlock.policies.budget import Limit, Usage
from interlock.policies.checks import Check
from interlock.policies.facts import Fact
from interlock.policies.record import JsonValue, Record

__all__ = ["STATUS_OF", "Change", "Outcome", "OutcomeStatus", "Reason", "Unfinished"]

OutcomeStatus = Literal["completed", "failed", "stopped", "cancelled"]


class Reason(StrEnum):
    """Why a run ended. The only list of termination reasons."""

    GOAL_VERIFIED = "goal_verified"
    CANNOT_COMPLETE = "cannot_complete"
    STEP_LIMIT = "step_limit"
    TIME_LIMIT = "time_limit"
    TOKEN_LIMIT = "token_limit"
    COST_LIMIT = "cost_limit"
    CALL_LIMIT = "call_limit"
    REPEATED_ACTION = "repeated_action"
    NO_PROGRESS = "no_progress"
    FAILURE_LIMIT = "failure_limit"
    INVALID_DECISIONS = "invalid_decisions"
    ANSWERS_REJECTED = "answers_rejected"
    UNKNOWN_EFFECT = "unknown_effect"
    MODEL_ERROR = "model_error"
    REFUSED = "refused"
    CANCELLED = "cancelled"


STATUS_OF: dict[Reason, OutcomeStatus] = {
    Reason.GOAL_VERIFIED: "completed",
    Reason.CANNOT_COMPLETE: "failed",
    Reason.STEP_LIMIT: "stopped",
    Reason.TIME_LIMIT: "stopped",
    Reason.TOKEN_LIMIT: "stopped",
    Reason.COST_LIMIT: "stopped",
    Reason.CALL_LIMIT: "stopped",
    Reason.REPEATED_ACTION: "stopped",
    Reason.NO_PROGRESS: "stopped",
    Reason.FAILURE_LIMIT: "stopped",
    Reason.INVALID_DECISIONS: "failed",
    Reason.ANSWERS_REJECTED: "failed",
    Reason.UNKNOWN_EFFECT: "stopped",
    Reason.MODEL_ERROR: "failed",
    Reason.REFUSED: "failed",
    Reason.CANCELLED: "cancelled",
}
"""Status of the outcome for each reason. `failed`: the work itself did not succeed; `stopped`: a bound."""


class Change(Record):
    """One effect on the world, as the ledger recorded it."""

    tool: str
    arguments: dict[str, JsonValue]
    status: Literal["done", "unknown"]
    """`unknown`: it was started and nobody knows whether it happened."""
    step: int
    idempotency_key: str
    approved_by: str | None = None
    result: str | None = None
    """The result in short, as text."""


class Unfinished(Record):
    """One thing that the run leaves open."""

    what: str
    why: str
    step: int | None = None


class Outcome(Record):
    """The typed end of a run."""

    status: OutcomeStatus
    reason: Reason
    message: str
    """One sentence for a person: why the run ended, and how to go on."""
    limit: Limit | None = None
    """The bound that ended the run, what was used of it and how to go on; None when no bound did."""
    answer: JsonValue = None
    """The verified answer; None unless the status is `completed`."""
    evidence: list[Fact] = []
    """Observed facts."""
    checks: list[Check] = []
    """What the verifiers found for the accepted answer, each of them passed; empty when none was."""
    changes: list[Change] = []
    """What was changed in the world, from the ledger."""
    unfinished: list[Unfinished] = []
    usage: Usage = Usage()
    steps: int = 0
    """Number of steps, counted from 1."""
