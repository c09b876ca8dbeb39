"""What to ask a person, and what an answer means: pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from interlock.policies.control import Control
from interlock.policies.limits import stop
from interlock.policies.observations import ToolResult
from interlock.policies.outcomes import Reason
from interlock.policies.questions import Approval, QuestionKind
from interlock.policies.steps import Settled
from interlock.policies.stuck import fresh_start

__all__ = [
    "STUCK_CHOICE",
    "Settlement",
    "approval_id",
    "idempotency_key",
    "settle_doubt",
    "settle_stuck",
    "settled",
]

STUCK_CHOICE = ". Respond with advice to go on, reject to stop"
"""How the question about a stuck run ends."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """How authorize leaves: its part of the step record and its changes of the control."""

    part: dict[str, Any]
    changes: dict[str, Any] = field(default_factory=dict)


def approval_id(control: Control, kind: QuestionKind, digest: str) -> str:
    """Id of a question: the same run, step, kind, action and attempt always give the same one."""
    return _short(control.run_id, control.step, kind, digest, control.attempt)


def idempotency_key(control: Control, digest: str) -> str:
    """Key of an effect: the run, the step and the exact action, never text that the model words anew."""
    return _short(control.run_id, control.step, digest)


def settled(approval: Approval) -> Settled:
    """The answer as the step record keeps it. Raises ValueError while the question is pending."""
    if approval.status == "pending":
        raise ValueError(f"question {approval.question.approval_id} is still pending")
    question = approval.question
    return Settled(
        approval_id=question.approval_id,
        kind=question.kind,
        outcome=approval.status,
        decision=approval.decision,
    )


def settle_doubt(approval: Approval, answers: list[Settled]) -> tuple[str, Settlement]:
    """What a person's word on an effect in doubt means: `done`, `clear` or `stop` for the ledger."""
    decision = approval.decision
    kind = decision.type if decision else "reject"
    if kind == "approve":
        return "clear", Settlement({"answers": answers}, {"doubt": False})
    if kind == "respond":
        result = ToolResult(status="ok", recorded=True, attempts=0)
        return "done", Settlement({"answers": answers, "result": result}, {"doubt": False})
    result = ToolResult(status="unknown_outcome", error="nobody knows whether it happened", attempts=0)
    who = "a person stopped the run" if decision else "nobody answered"
    detail = f"{who}, and it is unknown whether {approval.question.tool} happened"
    return "stop", Settlement(
        {"answers": answers, "result": result}, {"doubt": False, **stop(Reason.UNKNOWN_EFFECT, detail)}
    )


def settle_stuck(approval: Approval, answers: list[Settled]) -> Settlement:
    """Advice lets the run go on, counted anew; anything else ends it for the reason that made it stuck."""
    question, decision = approval.question, approval.decision
    if decision is not None and decision.type == "respond":
        return Settlement({"answers": answers}, fresh_start(question.step))
    why = (
        f": {decision.message or decision.reason}"
        if decision and (decision.message or decision.reason)
        else ""
    )
    who = (
        f"{decision.by} stopped the run{why}"
        if decision
        else f"nobody gave advice: the question {approval.status}"
    )
    detail = f"{question.text.removesuffix(STUCK_CHOICE)}; {who}"
    # without `limit`: the control knows the bound since the run is stuck
    return Settlement({"answers": answers}, {"stop": Reason(question.rule), "stop_detail": detail})


def _short(*parts: object) -> str:
    return hashlib.sha256("\x1f".join(str(part) for part in parts).encode()).hexdigest()[:32]
