"""The step record: what the scratchpad is a list of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from interlock.policies.checks import Check
from interlock.policies.facts import Fact
from interlock.policies.observations import Observation, ToolResult
from interlock.policies.proposals import Decision
from interlock.policies.questions import HumanDecision
from interlock.policies.record import JsonValue, Record
from interlock.policies.tickets import Ticket
from interlock.policies.verdicts import Verdict

__all__ = ["InvalidDecision", "StepRecord", "merge_steps"]


class InvalidDecision(Record):
    """A reply of the model that is no decision, and what the model is told about it."""

    problem: str
    """What is wrong, in words that the model can act on."""
    raw: str = ""
    """The reply's raw text, bounded."""


class Settled(Record):
    """How a person answered in this step, and under which approval."""

    approval_id: str
    kind: Literal["approval", "ask", "in_doubt", "stuck"]
    outcome: Literal["decided", "expired", "abandoned"]
    decision: HumanDecision | None = None


class StepRecord(Record):
    """Everything about one step. Each node adds its part; a part is written once."""

    step: int
    """Number of the step, from 1."""
    decision: Decision | None = None
    invalid: InvalidDecision | None = None
    verdict: Verdict | None = None
    ticket: Ticket | None = None
    answers: list[Settled] = []
    """Decisions of people in this step, oldest first."""
    result: ToolResult | None = None
    observation: Observation | None = None
    checks: list[Check] = []
    """What the verifiers found for this step's answer, passed or not."""
    facts: list[Fact] = []
    """What the step taught. In the trace only: the state keeps facts by key."""
    model: dict[str, JsonValue] = {}
    """Tokens, name of the model, protocol and opaque provider fields of this step's model call."""
    phases: dict[str, JsonValue] = {}
    """Milliseconds by phase."""


def merge_steps(known: list[dict[str, Any]], batches: Sequence[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Fold partial step records into the scratchpad: parts of the same step are merged, new steps appended.

    A left fold over single parts, so it is the same however the batches are cut. The records of `known` are
    not changed in place: LangGraph shares them between copies of a channel.
    """
    steps = list(known or [])
    for part in (part for batch in batches for part in batch):
        if steps and steps[-1]["step"] == part["step"]:
            last = steps[-1]
            merged = {**last, **part}
            for joined in ("phases",):
                if joined in last and joined in part:
                    merged[joined] = {**last[joined], **part[joined]}
            steps[-1] = merged
        else:
            steps.append(part)
    return steps
