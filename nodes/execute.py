"""execute: run one ticket, once. Holds the only tool call; the intent is committed before it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from interlock.nodes.asides import reconciled
from interlock.nodes.calling import Call, Called, call_tool, under_way
from interlock.nodes.deps import Deps
from interlock.nodes.judging import clear_arguments, judged
from interlock.nodes.polling import waited
from interlock.nodes.tools import BoundTool
from interlock.nodes.visit import State, Update, Visit, cancelled, enter, iso
from interlock.policies.asking import idempotency_key
from interlock.policies.canonical import action_digest
from interlock.policies.effects import EffectRow
from interlock.policies.limits import before_tool, seconds_left
from interlock.policies.observations import ToolResult
from interlock.policies.polling import looked
from interlock.policies.tickets import Ticket
from interlock.policies.verdicts import Allow, NeedsApproval

__all__ = ["execute"]

MAX_ATTEMPTS = 3
"""Calls of a read or an idempotent action within one step."""
PAUSE_S = 0.2
"""Seconds before the second attempt; doubled for each further one."""


async def execute(state: State, deps: Deps) -> Update:
    """The result of the ticket's action, or why it did not run, or the doubt about an earlier effect."""
    visit = enter("execute", state, deps)
    ticket = visit.step_record().ticket
    if ticket is None:
        return _refused(visit, deps, "there is no ticket for this action")
    arguments = clear_arguments(ticket.arguments, visit, deps)
    if refusal := await _refusal(ticket, arguments, visit, deps):
        return await _begun(ticket, visit, deps) or _refused(visit, deps, refusal)
    tool = deps.tools[ticket.tool]
    bounds, now = visit.bounds(deps), deps.clock.now()
    stop = await cancelled(visit, deps) or before_tool(visit.control, bounds, now, ticket.tool, tool.contract)
    stop = stop or await waited(tool, ticket, visit, deps)
    if stop and not visit.control.doubt:
        return _refused(visit, deps, f"not run: {stop['stop_detail']}", **stop)
    if not tool.mutates:
        left = seconds_left(visit.control, bounds, now) - (deps.clock.monotonic() - visit.began)
        call = Call(tool, arguments, within_s=max(0.001, left))
        return await _finished(visit, deps, ticket, *await _attempts(call, deps))
    return await _effect(tool, ticket, visit, deps)


async def _refusal(ticket: Ticket, arguments: dict[str, Any], visit: Visit, deps: Deps) -> str | None:
    """Why the ticket does not cover what would run now; None when it does."""
    tool = deps.tools.get(ticket.tool)
    if tool is None:
        return f"there is no tool {ticket.tool!r}"
    if action_digest(ticket.tool, arguments, tool.schema_hash, deps.policy.version) != ticket.digest:
        return (
            "the ticket is for another action: tool, arguments, schema or policy changed since it was issued"
        )
    if ticket.idempotency_key != idempotency_key(visit.control, ticket.digest):
        return "the ticket's idempotency key is not the one of this step and action"
    if await _expired(ticket, visit, deps):
        return f"the approval expired at {ticket.expires_at}"
    if not (tool.mutates or tool.contract.scope or deps.policy.rules or ticket.approval_id):
        return None  # only the default rules apply, and they allow every read
    verdict = (await judged(ticket.tool, arguments, visit, deps)).verdict
    match verdict:
        case Allow() if ticket.approval_id is None:
            return None
        case Allow() | NeedsApproval() if ticket.approval_id is not None:
            return await _unapproved(ticket, visit, deps)
        case _:
            return f"rule {verdict.rule}: {verdict.reason}"


async def _begun(ticket: Ticket, visit: Visit, deps: Deps) -> Update | None:
    """For an action that may not run now, but was begun before: its result, or the doubt about it."""
    rows = await deps.io(deps.store.ledger.of_action, visit.control.run_id, ticket.digest)
    known = next((row for row in rows if row.key == ticket.idempotency_key), None)
    if known is None or known.state == "cleared":
        return None
    if known.state == "done" and known.result is not None:
        return _left(visit, deps, ticket, known.result.model_copy(update={"recorded": True}))
    return await _doubtful(ticket, visit, deps)


async def _expired(ticket: Ticket, visit: Visit, deps: Deps) -> bool:
    """True when the approval came too late for an action that has not begun; a begun one goes on."""
    if not ticket.expires_at or datetime.fromisoformat(ticket.expires_at) > deps.clock.now():
        return False
    begun = await deps.io(deps.store.ledger.of_action, visit.control.run_id, ticket.digest)
    return all(row.key != ticket.idempotency_key for row in begun)


async def _unapproved(ticket: Ticket, visit: Visit, deps: Deps) -> str | None:
    """Why the store does not confirm a person's approval of exactly this action; None when it does."""
    known = await deps.io(deps.store.approvals.get, ticket.approval_id) if ticket.approval_id else None
    if known is None or known.status != "decided" or known.decision is None:
        return "no person approved this action"
    question, decision = known.question, known.decision
    if question.run_id != visit.control.run_id or question.step != visit.control.step:
        return "the approval belongs to another run or step"
    if decision.type == "approve" and question.digest == ticket.digest:
        return None
    if decision.type == "edit" and question.tool == ticket.tool:
        tool = deps.tools[ticket.tool]
        return (
            None if tool.validate(decision.arguments or {}) == ticket.arguments else "the edit says otherwise"
        )
    return "what would run is not what the person approved"


async def _effect(tool: BoundTool, ticket: Ticket, visit: Visit, deps: Deps) -> Update:
    """An action that changes something: written ahead, run once, and never blindly a second time."""
    ledger, key = deps.store.ledger, ticket.idempotency_key
    arguments = clear_arguments(ticket.arguments, visit, deps)
    await deps.io(deps.store.runs.get, visit.control.run_id)  # another store knows nothing of what was begun
    known = await deps.io(ledger.begin, _intent(ticket, visit, deps))
    if known is not None and known.state == "done" and known.result is not None:
        return _left(visit, deps, ticket, known.result.model_copy(update={"recorded": True}))
    if known is not None:
        if not tool.contract.idempotent:
            word, found = await reconciled(tool, ticket, arguments, deps)
            if word == "happened":
                return await _finished(visit, deps, ticket, found, 0)
            if word == "unknown" or under_way(key):  # "absent" is no proof while the call may still land
                return await _doubtful(ticket, visit, deps)
        await deps.io(ledger.retry, key, iso(deps))
    call = Call(tool, arguments, key, late=lambda text: _late(key, text, deps))
    called, attempts = await _attempts(call, deps)
    if called.status != "unknown_outcome":
        return await _finished(visit, deps, ticket, called, attempts)
    word, found = await reconciled(tool, ticket, arguments, deps)
    if word == "happened":
        return await _finished(visit, deps, ticket, found, attempts)
    return await _doubtful(ticket, visit, deps)  # "absent" is no proof: the call may still land


async def _doubtful(ticket: Ticket, visit: Visit, deps: Deps) -> Update:
    """Nobody knows whether it happened: back to authorize, where a person says so, each time anew."""
    await deps.io(deps.store.ledger.doubt, ticket.idempotency_key, iso(deps))
    return visit.leave(deps, part={}, doubt=True, attempt=visit.control.attempt + 1)


async def _attempts(call: Call, deps: Deps) -> tuple[Called, int]:
    """The call, repeated while that is safe: reads and idempotent actions, on errors that may pass."""
    contract = call.tool.contract
    if contract.poll is not None:  # the next poll is the second attempt, spaced as the contract says
        return await call_tool(call, deps), 1
    safe = not call.tool.mutates or (contract.idempotent and contract.reconcile is None)
    called = await call_tool(call, deps)
    attempts = 1
    while safe and called.status in ("retryable_error", "unknown_outcome") and attempts < MAX_ATTEMPTS:
        await deps.io(deps.sleep, PAUSE_S * 2 ** (attempts - 1))
        called = await call_tool(call, deps)
        attempts += 1
    return called, attempts


async def _finished(visit: Visit, deps: Deps, ticket: Ticket, called: Called, attempts: int) -> Update:
    """Store the raw value, complete the ledger's row where there is one, and leave with the result."""
    poll, ref, size = deps.tools[ticket.tool].contract.poll, None, 0
    polled = looked(poll, called.status, called.value, iso(deps)) if poll else None
    if called.status == "ok":
        ref, size = await deps.io(deps.store.payloads.put, called.value)
    result = ToolResult(
        status=called.status, raw_ref=ref, error=called.error, size=size, attempts=attempts, polled=polled
    )
    if deps.tools[ticket.tool].mutates:
        summary = called.error or _in_short(called.value)
        await deps.io(deps.store.ledger.finish, ticket.idempotency_key, result, summary, iso(deps))
    return _left(visit, deps, ticket, result)


def _left(visit: Visit, deps: Deps, ticket: Ticket, result: ToolResult) -> Update:
    calls = {**visit.control.calls, ticket.tool: visit.control.calls.get(ticket.tool, 0) + 1}
    usage = visit.control.usage.model_copy(
        update={"tool_calls": visit.control.usage.tool_calls + result.attempts}
    )
    return visit.leave(deps, part={"result": result}, calls=calls, usage=usage, doubt=False)


def _refused(visit: Visit, deps: Deps, why: str, **changes: Any) -> Update:
    result = ToolResult(status="permission_denied", error=why, attempts=0)
    return visit.leave(deps, part={"result": result}, **changes)


def _intent(ticket: Ticket, visit: Visit, deps: Deps) -> EffectRow:
    return EffectRow(
        key=ticket.idempotency_key,
        run_id=visit.control.run_id,
        step=visit.control.step,
        tool=ticket.tool,
        arguments=ticket.arguments,
        digest=ticket.digest,
        approved_by=ticket.approver,
        started_at=iso(deps),
    )


def _late(key: str, text: str, deps: Deps) -> None:
    deps.store.ledger.late(key, text, iso(deps))


def _in_short(value: Any) -> str:
    import json

    return json.dumps(value, ensure_ascii=False)[:500]
