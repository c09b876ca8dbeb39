"""authorize: the verdict, and the one place where a person joins. Holds the only interrupt."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from langgraph.types import interrupt

from interlock.nodes.answers import answer_schema, decision_of
from interlock.nodes.deps import Deps
from interlock.nodes.visit import State, Update, Visit, cancelled, enter, iso
from interlock.policies.asking import (
    Settlement,
    approval_id,
    idempotency_key,
    settle_doubt,
    settle_stuck,
    settled,
)
from interlock.policies.canonical import ArgumentsError, action_digest
from interlock.policies.errors import AlreadyDecided, LoopBroken, UnknownApproval
from interlock.policies.limits import before_action
from interlock.policies.proposals import Ask, Delegate, RequestApproval, ToolCall
from interlock.policies.questions import Approval, Question, QuestionKind
from interlock.policies.rules import Action, judge
from interlock.policies.tickets import Ticket
from interlock.policies.verdicts import Allow, Deny, NeedsApproval, Verdict

__all__ = ["authorize"]


async def authorize(state: State, deps: Deps) -> Update:
    """A ticket for exactly one action, a denial, or a person's answer.

    Everything before the interrupt may run twice: it reads, and stores a question under a fixed id.
    """
    visit = enter("authorize", state, deps)
    plan = await _ended(visit, deps) or await _plan(visit, deps)
    if isinstance(plan, Question):
        approval = await _answered(plan, visit, deps)
        plan = await _settle(approval, visit, deps)
    changes = {"stuck": False, **plan.changes}
    return visit.leave(deps, part=plan.part, **changes)


async def _ended(visit: Visit, deps: Deps) -> Settlement | None:
    """The denial of a run that was cancelled or has reached a limit; its open question is abandoned."""
    stop = await cancelled(visit, deps) or before_action(visit.control, deps.budget)
    if not stop:
        return None
    question = await _plan(visit, deps)
    if isinstance(question, Question):
        known = await deps.io(deps.store.approvals.get, question.approval_id)
        if known is not None and known.status == "pending":
            await deps.io(deps.store.approvals.close, question.approval_id, "abandoned", iso(deps))
    if visit.control.doubt or visit.control.stuck:
        return Settlement({}, {"doubt": False, **stop})
    return Settlement({"verdict": Deny(rule=str(stop["stop"]), reason=str(stop["stop_detail"]))}, stop)


async def _plan(visit: Visit, deps: Deps) -> Settlement | Question:
    """What can be settled without a person, or the question to ask."""
    record = visit.step_record()
    if visit.control.doubt:
        return _doubt_question(visit, deps)
    if visit.control.stuck:
        return _question(visit, deps, "stuck", "stuck", {}, "no_progress", visit.control.stop_detail)
    if record.decision is None:
        raise LoopBroken(f"authorize was entered in step {record.step}, which has no decision")
    match record.decision.proposal:
        case ToolCall() | RequestApproval() as proposal:
            return await _judge(proposal, visit, deps)
        case Ask(question=text):
            return _question(visit, deps, "ask", "ask", {"question": text}, "missing_information", text)
        case Delegate(delegate=name):
            return _denied("unknown_delegate", f"this loop has no delegate {name!r}")
        case other:
            return _denied("not_an_action", f"{other.kind} is not an action")


async def _judge(proposal: ToolCall | RequestApproval, visit: Visit, deps: Deps) -> Settlement | Question:
    action, digest_or_denial = _action(proposal.tool, proposal.arguments, deps, proposal.kind)
    if action is None:
        return _denied("arguments", digest_or_denial)
    digest = digest_or_denial
    rejection = await deps.io(deps.store.approvals.rejected, visit.control.run_id, digest)
    if rejection is not None and rejection.question.step != visit.control.step:
        return _denied("already_rejected", "a person rejected exactly this action in this run; it is final")
    verdict = judge(action, deps.policy)
    match verdict:
        case Allow():
            return Settlement({"verdict": verdict, "ticket": _ticket(action, digest, visit)})
        case NeedsApproval():
            asked = proposal.reason if isinstance(proposal, RequestApproval) else ""
            text = f"{verdict.reason}. {asked}".strip()
            return _question(
                visit, deps, "approval", action.tool, action.arguments, verdict.rule, text, digest
            )
        case _:
            return Settlement({"verdict": verdict})


def _action(tool: str, arguments: dict[str, Any], deps: Deps, kind: str) -> tuple[Action | None, str]:
    """The canonical action and its digest, or None and why there is none."""
    bound = deps.tools.get(tool)
    if bound is None:
        return None, f"there is no tool {tool!r}"
    try:
        canonical = bound.validate(arguments)
    except ArgumentsError as error:
        return None, str(error)
    action = Action(tool, canonical, bound.contract, requested=kind == "request_approval")
    return action, action_digest(tool, canonical, bound.schema_hash, deps.policy.version)


def _question(
    visit: Visit,
    deps: Deps,
    kind: QuestionKind,
    tool: str,
    arguments: dict[str, Any],
    rule: str,
    text: str,
    digest: str | None = None,
) -> Question:
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


def _doubt_question(visit: Visit, deps: Deps) -> Question:
    ticket = visit.step_record().ticket
    if ticket is None:
        raise LoopBroken(f"step {visit.control.step} has an effect in doubt but no ticket")
    text = (
        f"{ticket.tool} was started and nobody knows whether it happened. "
        "Respond with its result if it happened, approve to run it if it did not, reject to stop"
    )
    return _question(
        visit, deps, "in_doubt", ticket.tool, ticket.arguments, "unknown_effect", text, ticket.digest
    )


async def _answered(question: Question, visit: Visit, deps: Deps) -> Approval:
    """The question with its decision. Pauses the run while there is none."""
    approval = await deps.io(deps.store.approvals.open, question)
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


async def _settle(approval: Approval, visit: Visit, deps: Deps) -> Settlement:
    answers = [*visit.step_record().answers, settled(approval)]
    match approval.question.kind:
        case "approval":
            return _settle_approval(approval, answers, visit, deps)
        case "in_doubt":
            return await _settle_doubt(approval, answers, visit, deps)
        case "stuck":
            return settle_stuck(approval, answers)
        case "ask":
            return Settlement({"answers": answers})
        case other:
            return _denied("policy_error", f"a question of kind {other} has no meaning here")


def _settle_approval(approval: Approval, answers: list[Any], visit: Visit, deps: Deps) -> Settlement:
    """approve and edit lead to a ticket; everything else, an expired question included, to none."""
    question, decision = approval.question, approval.decision
    verdict: Verdict = NeedsApproval(rule=question.rule, reason=question.text)
    if decision is None or decision.type not in ("approve", "edit"):
        return Settlement({"answers": answers, "verdict": verdict})
    arguments = question.arguments if decision.arguments is None else decision.arguments
    action, digest = _action(question.tool, arguments, deps, "tool_call")
    if action is None:
        return Settlement({"answers": answers, "verdict": Deny(rule="arguments", reason=digest)})
    if decision.type == "approve" and digest != question.digest:
        reason = (
            "what would run is no longer what was shown: the tool or the policy changed after the question"
        )
        return Settlement({"answers": answers, "verdict": Deny(rule="changed_after_approval", reason=reason)})
    again = judge(action, deps.policy)
    match again:
        case Allow() | NeedsApproval():
            ticket = _ticket(action, digest, visit, approval)
            return Settlement({"answers": answers, "verdict": verdict, "ticket": ticket})
        case _:
            return Settlement({"answers": answers, "verdict": again})


async def _settle_doubt(approval: Approval, answers: list[Any], visit: Visit, deps: Deps) -> Settlement:
    ticket = visit.step_record().ticket
    if ticket is None:
        raise LoopBroken(f"step {visit.control.step} has an effect in doubt but no ticket")
    word, settlement = settle_doubt(approval, answers)
    if word == "clear":
        await deps.io(deps.store.ledger.clear, ticket.idempotency_key, iso(deps))
        return Settlement(settlement.part, {**settlement.changes, "attempt": visit.control.attempt + 1})
    if word == "done":
        told = approval.decision.message if approval.decision and approval.decision.message else ""
        ref, size = await deps.io(deps.store.payloads.put, told)
        result = settlement.part["result"].model_copy(update={"raw_ref": ref, "size": size})
        await deps.io(deps.store.ledger.finish, ticket.idempotency_key, result, told[:500], iso(deps))
        return Settlement({**settlement.part, "result": result}, settlement.changes)
    return settlement


def _ticket(action: Action, digest: str, visit: Visit, approval: Approval | None = None) -> Ticket:
    decision = approval.decision if approval else None
    return Ticket(
        tool=action.tool,
        arguments=action.arguments,
        digest=digest,
        idempotency_key=idempotency_key(visit.control, digest),
        approver=decision.by if decision else None,
        approval_id=approval.question.approval_id if approval else None,
        expires_at=approval.question.expires_at if approval else None,
    )


def _denied(rule: str, reason: str) -> Settlement:
    return Settlement({"verdict": Deny(rule=rule, reason=reason)})
