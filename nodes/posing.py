"""The questions of a step: what a person is asked, and under which id."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.visit import Visit
from interlock.policies.asking import approval_id
from interlock.policies.canonical import action_digest
from interlock.policies.errors import LoopBroken
from interlock.policies.questions import Question, QuestionKind
from interlock.policies.rules import Action
from interlock.policies.verdicts import NeedsApproval

__all__ = ["approval_question", "doubt_question", "late_result", "question_of"]


def approval_question(
    action: Action, digest: str, verdict: NeedsApproval, wish: str, visit: Visit, deps: Deps
) -> Question:
    """The question whether one action may run, bound to exactly what would run."""
    text = f"{verdict.reason}. {wish}".strip()
    shown = deps.tools[action.tool].redacted(action.arguments)
    question = question_of(visit, deps, "approval", action.tool, shown, verdict.rule, text, digest)
    changes: dict[str, Any] = {"approvers": verdict.approvers}
    if verdict.expires_s is not None and verdict.expires_s < deps.approval_ttl_s:
        changes["expires_at"] = (deps.clock.now() + timedelta(seconds=verdict.expires_s)).isoformat()
    return question.model_copy(update=changes)


def question_of(
    visit: Visit,
    deps: Deps,
    kind: QuestionKind,
    tool: str,
    arguments: dict[str, Any],
    rule: str,
    text: str,
    digest: str | None = None,
) -> Question:
    """A question of this step, under an id that stays the same when the node runs again."""
    now = deps.clock.now()
    digest = digest or action_digest(tool, arguments, "", deps.policy.version)
    bound = deps.tools.get(tool)
    return Question(
        approval_id=approval_id(visit.control, kind, digest),
        run_id=visit.control.run_id,
        step=visit.control.step,
        kind=kind,
        tool=tool,
        arguments=arguments,
        digest=digest,
        risk=bound.contract.effect if bound and kind in ("approval", "in_doubt") else kind,
        rule=rule,
        text=text,
        created_at=now.isoformat(),
        expires_at=(now + timedelta(seconds=deps.approval_ttl_s)).isoformat(),
    )


async def doubt_question(visit: Visit, deps: Deps) -> Question:
    """The question whether a call that was started happened. Raises LoopBroken without a ticket."""
    ticket = visit.step_record().ticket
    if ticket is None:
        raise LoopBroken(f"step {visit.control.step} has an effect in doubt but no ticket")
    late = await late_result(ticket.idempotency_key, visit, deps)
    known = f" Later the call answered: {late}." if late else ""
    text = (
        f"{ticket.tool} was started and nobody knows whether it happened.{known} "
        "Respond with its result if it happened, approve to run it if it did not, reject to stop"
    )
    question = question_of(
        visit, deps, "in_doubt", ticket.tool, ticket.arguments, "unknown_effect", text, ticket.digest
    )
    given = await deps.io(deps.store.approvals.get, ticket.approval_id) if ticket.approval_id else None
    return question.model_copy(update={"approvers": given.question.approvers}) if given else question


async def late_result(key: str, visit: Visit, deps: Deps) -> str | None:
    """What a call that had timed out returned afterwards, in short."""
    effects = await deps.io(deps.store.ledger.of_run, visit.control.run_id)
    return next((row.late_result for row in effects if row.key == key), None)
