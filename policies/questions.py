"""Questions to a person, and the decisions that answer them."""

from __future__ import annotations

from typing import Any, Literal

from interlock.policies.record import JsonValue, Record

__all__ = [
    "ALLOWED_DECISIONS",
    "Approval",
    "ApprovalStatus",
    "DecisionType",
    "HumanDecision",
    "Question",
    "QuestionKind",
]

QuestionKind = Literal["approval", "ask", "in_doubt", "stuck"]
DecisionType = Literal["approve", "edit", "reject", "respond"]
ApprovalStatus = Literal["pending", "decided", "expired", "abandoned"]

ALLOWED_DECISIONS: dict[QuestionKind, tuple[DecisionType, ...]] = {
    "approval": ("approve", "edit", "reject", "respond"),
    "ask": ("respond", "reject"),
    "in_doubt": ("respond", "approve", "reject"),
    "stuck": ("respond", "reject"),
}
"""Decisions by kind of question. `in_doubt`: respond = it happened, with this result; approve = it did not
happen, run it; reject = stop. `stuck`: respond = go on with this advice; reject = stop."""


class Question(Record):
    """What a person is asked, bound to exactly what will run."""

    approval_id: str
    run_id: str
    step: int
    kind: QuestionKind
    tool: str
    """Tool that would run; for the other questions the name of the question."""
    arguments: dict[str, JsonValue]
    digest: str
    """Digest of the action; the key under which a decision is valid."""
    risk: str
    """Effect of the tool, or the kind of question."""
    rule: str
    """Rule that asks."""
    text: str
    """The question in words."""
    created_at: str
    expires_at: str | None = None
    approvers: list[str] = []
    """Who may decide; empty: anybody."""
    preview: JsonValue = None
    """Result of the dry run."""
    provenance: dict[str, str] = {}
    """Where each argument's value came from."""


class HumanDecision(Record):
    """A person's answer to one question."""

    type: DecisionType
    message: str | None = None
    """Text of a response, or the reason of a rejection."""
    arguments: dict[str, JsonValue] | None = None
    """New arguments of an edit; the tool's name cannot be edited."""
    by: str = "unknown"
    """Who decided."""
    reason: str | None = None


class Approval(Record):
    """A question as the store keeps it."""

    question: Question
    status: ApprovalStatus = "pending"
    decision: HumanDecision | None = None
    decided_at: str | None = None

    def payload(self) -> dict[str, Any]:
        """The interrupt's value: the ecosystem's human-in-the-loop request, bound to the action."""
        question = self.question
        return {
            "action_requests": [
                {"name": question.tool, "args": question.arguments, "description": question.text}
            ],
            "review_configs": [
                {"action_name": question.tool, "allowed_decisions": list(ALLOWED_DECISIONS[question.kind])}
            ],
            **question.dump(),
        }
