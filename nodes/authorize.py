"""authorize: the verdict, and the one place where a person joins. Holds the only interrupt."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from langgraph.types import interrupt

from interlock.nodes.answers import answer_schema, decision_of
from interlock.nodes.asides import preview_of
from interlock.nodes.deps import Deps
from interlock.nodes.judging import clear_arguments, judged, ticket_for
from interlock.nodes.posing import approval_question, doubt_question, late_result, question_of
from interlock.nodes.visit import State, Update, Visit, cancelled, enter, iso
from interlock.policies.asking import (
    STUCK_CHOICE,
    Settlement,
    settle_doubt,
    settle_stuck,
    settled,
)
from interlock.policies.errors import AlreadyDecided, LoopBroken, UnknownApproval
from interlock.policies.limits import before_action
from interlock.policies.outcomes import Reason
from interlock.policies.outside import provenance_of
from interlock.policies.proposals import Ask, Delegate, RequestApproval, ToolCall
from interlock.policies.questions import Approval, Question
from interlock.policies.steps import Settled
from interlock.policies.verdicts import Allow, Deny, NeedsApproval, Verdict

__all__ = ["authorize"]


CHANGED = (
    "what would run is no longer what was shown: tool, arguments or policy changed, or its secret arguments "
    "were lost with the process that proposed it"
)


async def authorize(state: State, deps: Deps) -> Update:
    """A ticket for exactly one action, a denial, or a person's answer.

    Everything before the interrupt may run twice: it reads, and stores a question under a fixed id.
    """
    visit = enter("authorize", state, deps)
    plan = await _ended(visit, deps) or await _plan(visit, deps)
    if isinstance(plan, Question):
        plan = await _replaced(plan, deps) or await _settle(await _answered(plan, deps), visit, deps)
    changes = {"stuck": False, **plan.changes}
    return visit.leave(deps, part=plan.part, **changes)


async def _ended(visit: Visit, deps: Deps) -> Settlement | None:
    """The denial of a run that was cancelled or has reached a limit; its open question is abandoned."""
    stop = await cancelled(visit, deps) or _beyond(visit, deps)
    if not stop:
        return None
    question = await _plan(visit, deps)
    if isinstance(question, Question):
        known = await deps.io(deps.store.approvals.get, question.approval_id)
        if known is not None and known.status == "pending":
            await deps.io(deps.store.approvals.close, question.approval_id, "abandoned", iso(deps))
    if visit.control.stuck:
        return Settlement({}, {"stuck_by": None, "limit": None, **stop})
    if visit.control.doubt:
        return Settlement({}, {"doubt": False, **stop})
    return Settlement({"verdict": Deny(rule=str(stop["stop"]), reason=str(stop["stop_detail"]))}, stop)


def _beyond(visit: Visit, deps: Deps) -> dict[str, Any]:
    """The changes that end a run whose bounds do not allow this step's action."""
    decision = visit.step_record().decision
    name = getattr(decision.proposal, "tool", "") if decision else ""
    tool = None if visit.control.stuck else deps.tools.get(name)  # a stuck run has looked at its action
    contract = tool.contract if tool else None
    return before_action(visit.control, visit.bounds(deps), deps.clock.now(), name, contract)


async def _plan(visit: Visit, deps: Deps) -> Settlement | Question:
    """What can be settled without a person, or the question to ask."""
    record = visit.step_record()
    if visit.control.doubt:
        return await doubt_question(visit, deps)
    if visit.control.stuck:
        rule = (visit.control.stuck_by or Reason.NO_PROGRESS).value
        text = visit.control.stop_detail + STUCK_CHOICE
        return question_of(visit, deps, "stuck", "stuck", {}, rule, text)
    if record.decision is None:
        raise LoopBroken(f"authorize was entered in step {record.step}, which has no decision")
    match record.decision.proposal:
        case ToolCall() | RequestApproval() as proposal:
            return await _judge(proposal, visit, deps)
        case Ask(question=text):
            return question_of(visit, deps, "ask", "ask", {"question": text}, "missing_information", text)
        case Delegate(delegate=name):
            return _denied("unknown_delegate", f"this loop has no delegate {name!r}")
        case other:
            return _denied("not_an_action", f"{other.kind} is not an action")


async def _judge(proposal: ToolCall | RequestApproval, visit: Visit, deps: Deps) -> Settlement | Question:
    asks = isinstance(proposal, RequestApproval)
    arguments = clear_arguments(proposal.arguments, visit, deps)
    found = await judged(proposal.tool, arguments, visit, deps, requested=asks)
    if found.action is None:
        return Settlement({"verdict": found.verdict})
    rejection = await deps.io(deps.store.approvals.rejected, visit.control.run_id, found.digest)
    if rejection is not None and rejection.question.step != visit.control.step:
        return _denied("already_rejected", "a person rejected exactly this action in this run; it is final")
    match found.verdict:
        case Allow() as verdict:
            return Settlement(
                {"verdict": verdict, "ticket": ticket_for(found.action, found.digest, visit, deps)}
            )
        case NeedsApproval() as verdict:
            wish = proposal.reason if isinstance(proposal, RequestApproval) else ""
            question = approval_question(found.action, found.digest, verdict, wish, visit, deps)
            return question.model_copy(update={"provenance": provenance_of(found.origins)})
        case verdict:
            return Settlement({"verdict": verdict})


async def _replaced(question: Question, deps: Deps) -> Settlement | None:
    """The denial of an action that is not the one a person was shown in this step.

    Without it the answer to what was shown would be taken for what would run now.
    """
    asked = await deps.io(deps.store.approvals.of_run, question.run_id)
    other = [
        one
        for one in asked
        if one.question.step == question.step
        and one.question.kind == question.kind
        and (one.question.approval_id, one.question.digest) != (question.approval_id, question.digest)
        and (one.status == "pending" or question.kind == "approval")
    ]
    for one in other:
        await deps.io(deps.store.approvals.close, one.question.approval_id, "abandoned", iso(deps))
    return _denied("changed_after_approval", CHANGED) if other else None


async def _answered(question: Question, deps: Deps) -> Approval:
    """The question with its decision. Pauses the run while there is none."""
    approval = await deps.io(deps.store.approvals.get, question.approval_id)
    if approval is None:
        approval = await deps.io(deps.store.approvals.open, await _previewed(question, deps))
    asked = approval.question
    if (
        approval.status == "pending"
        and asked.expires_at
        and datetime.fromisoformat(asked.expires_at) <= deps.clock.now()
    ):
        approval = await deps.io(deps.store.approvals.close, asked.approval_id, "expired", iso(deps))
    if approval.status != "pending":
        return approval
    answer = interrupt(approval.payload(), response_schema=answer_schema(asked, deps.tools.get(asked.tool)))
    try:
        return await deps.io(deps.store.approvals.decide, asked.approval_id, decision_of(answer), iso(deps))
    except AlreadyDecided:
        known = await deps.io(deps.store.approvals.get, asked.approval_id)
        if known is None:
            raise UnknownApproval(f"question {asked.approval_id} is no longer in the store") from None
        return known


async def _previewed(question: Question, deps: Deps) -> Question:
    """The question with its dry run, made once: before the question is stored."""
    tool = deps.tools.get(question.tool)
    if question.kind != "approval" or tool is None:
        return question
    return question.model_copy(update={"preview": await preview_of(tool, question.arguments, deps)})


async def _settle(approval: Approval, visit: Visit, deps: Deps) -> Settlement:
    answers = [*visit.step_record().answers, settled(approval)]
    match approval.question.kind:
        case "approval":
            return await _settle_approval(approval, answers, visit, deps)
        case "in_doubt":
            return await _settle_doubt(approval, answers, visit, deps)
        case "stuck":
            return settle_stuck(approval, answers)
        case "ask":
            return Settlement({"answers": answers})
        case other:
            return _denied("policy_error", f"a question of kind {other} has no meaning here")


async def _settle_approval(
    approval: Approval, answers: list[Settled], visit: Visit, deps: Deps
) -> Settlement:
    """approve and edit lead to a ticket; everything else, an expired question included, to none."""
    question, decision = approval.question, approval.decision
    asked: Verdict = NeedsApproval(rule=question.rule, reason=question.text)
    if decision is None or decision.type not in ("approve", "edit"):
        return Settlement({"answers": answers, "verdict": asked})
    arguments = decision.arguments or clear_arguments(question.arguments, visit, deps)
    found = await judged(question.tool, arguments, visit, deps)
    if found.action is None:
        return Settlement({"answers": answers, "verdict": found.verdict})
    if decision.type == "approve" and found.digest != question.digest:
        reason = CHANGED
        return Settlement({"answers": answers, "verdict": Deny(rule="changed_after_approval", reason=reason)})
    verdict = found.verdict
    if isinstance(verdict, NeedsApproval) and verdict.approvers and decision.by not in verdict.approvers:
        verdict = Deny(rule="approvers", reason=f"{decision.by} may not approve this")
    match verdict:
        case Allow() | NeedsApproval():
            ticket = ticket_for(found.action, found.digest, visit, deps, approval)
            return Settlement({"answers": answers, "verdict": asked, "ticket": ticket})
        case _:
            return Settlement({"answers": answers, "verdict": verdict})


async def _settle_doubt(approval: Approval, answers: list[Settled], visit: Visit, deps: Deps) -> Settlement:
    ticket = visit.step_record().ticket
    if ticket is None:
        raise LoopBroken(f"step {visit.control.step} has an effect in doubt but no ticket")
    word, settlement = settle_doubt(approval, answers)
    if word == "clear":
        late = await late_result(ticket.idempotency_key, visit, deps)
        if not late or late in approval.question.text:  # else the person did not know: execute asks again
            await deps.io(deps.store.ledger.clear, ticket.idempotency_key, iso(deps))
        ticket = ticket.model_copy(update={"expires_at": approval.question.expires_at})
        changes = {**settlement.changes, "attempt": visit.control.attempt + 1}
        return Settlement({**settlement.part, "ticket": ticket}, changes)
    if word == "done":
        told = approval.decision.message if approval.decision and approval.decision.message else ""
        ref, size = await deps.io(deps.store.payloads.put, told)
        result = settlement.part["result"].model_copy(update={"raw_ref": ref, "size": size})
        await deps.io(deps.store.ledger.finish, ticket.idempotency_key, result, told[:500], iso(deps))
        return Settlement({**settlement.part, "result": result}, settlement.changes)
    return settlement


def _denied(rule: str, reason: str) -> Settlement:
    return Settlement({"verdict": Deny(rule=rule, reason=reason)})
