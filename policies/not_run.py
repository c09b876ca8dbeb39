"""Observations of what never ran: denied, no decision, or answered by a person."""

from __future__ import annotations

from typing import assert_never

from interlock.policies.observations import Observation, Status
from interlock.policies.questions import HumanDecision, QuestionKind
from interlock.policies.shapes import cut_text, size_of
from interlock.policies.steps import InvalidDecision
from interlock.policies.text import visible
from interlock.policies.verdicts import Verdict

__all__ = ["observe_answer", "observe_denied", "observe_invalid"]

LIMIT = 4_000
"""Largest text, bytes: a person's answer is worth more room than a tool's result."""


def observe_denied(verdict: Verdict) -> Observation:
    """What the model sees of an action that the policy did not let run."""
    return _told("permission_denied", f"not run; rule {verdict.rule}: {verdict.reason}")


def observe_invalid(invalid: InvalidDecision) -> Observation:
    """What the model sees of a reply that was no decision."""
    return _told("invalid_input", f"nothing ran: {invalid.problem}")


def observe_answer(kind: QuestionKind, outcome: str, decision: HumanDecision | None) -> Observation:
    """What the model sees of a person's answer that stands for the result.

    Args:
        outcome: how the question ended: `decided`, `expired` or `abandoned`.
        decision: None when nobody answered. That is no denial: the action may be proposed again.
    """
    if decision is None:
        words = "expired before anybody answered" if outcome == "expired" else "was given up unanswered"
        return _told("retryable_error", f"not executed: the question {words}; this is no refusal")
    match decision.type:
        case "respond":
            return _responded(kind, decision.message or decision.reason or "(without words)")
        case "reject":
            return _rejected(kind, decision.message or decision.reason)
        case "approve" | "edit":
            return _told("permission_denied", "not executed: what was approved is not what would run")
        case other:
            assert_never(other)


def _responded(kind: QuestionKind, said: str) -> Observation:
    if kind == "approval":
        return _told("permission_denied", f"not executed; a person answered instead: {said}")
    return _told("ok", f"a person answered: {said}")


def _rejected(kind: QuestionKind, why: str | None) -> Observation:
    reason = f": {why}" if why else "; no reason was given"
    if kind == "ask":
        return _told("permission_denied", f"a person refused to answer, and this is final{reason}")
    return _told("permission_denied", f"not executed: rejected by a person, and this is final{reason}")


def _told(status: Status, text: str) -> Observation:
    made = visible(text)
    summary = made if size_of(made) <= LIMIT else cut_text(text, LIMIT, quoted=False)
    return Observation(status=status, summary=summary, size_after=size_of(summary))
