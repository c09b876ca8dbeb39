"""verify: a claim is checked against the world and the ledger. The one place that writes outcomes."""

from __future__ import annotations

from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.normalize import keep_record
from interlock.nodes.visit import State, Update, Visit, cancelled, enter, iso
from interlock.policies.budget import Limit
from interlock.policies.claims import outcome_of, problems_of, rejected
from interlock.policies.errors import LoopBroken
from interlock.policies.outcomes import Reason
from interlock.policies.proposals import CannotComplete, FinalAnswer
from interlock.policies.record import JsonValue

__all__ = ["verify"]


NOTHING_REQUIRED = (
    "the answer was accepted; this loop requires no facts, so only effects in doubt were checked"
)


async def verify(state: State, deps: Deps) -> Update:
    """The outcome, or the reasons why the claim is not accepted."""
    visit = enter("verify", state, deps)
    stopped = await cancelled(visit, deps)
    reason = stopped.get("stop") or visit.control.stop
    if reason is not None:
        detail = stopped.get("stop_detail") or visit.control.stop_detail
        limit = stopped.get("limit") or visit.control.limit
        return await _ended(visit, deps, Reason(reason), detail, limit=limit)
    record = visit.step_record()
    if record.decision is None:
        raise LoopBroken(
            f"verify was entered in step {record.step} without a claim and without a reason to stop"
        )
    match record.decision.proposal:
        case FinalAnswer() as claim:
            return await _check(claim, visit, deps)
        case CannotComplete(reason=text, missing=missing):
            needed = f"; missing: {', '.join(missing)}" if missing else ""
            return await _ended(visit, deps, Reason.CANNOT_COMPLETE, f"{text}{needed}")
        case other:
            raise LoopBroken(f"verify was entered with a {other.kind}, which is no claim")


async def _check(claim: FinalAnswer, visit: Visit, deps: Deps) -> Update:
    effects = await deps.io(deps.store.ledger.of_run, visit.control.run_id)
    problems = problems_of(claim, deps.require, visit.state.get("facts") or {}, effects)
    if not problems:
        message = (
            f"required and observed: {', '.join(sorted(deps.require))}" if deps.require else NOTHING_REQUIRED
        )
        return await _ended(visit, deps, Reason.GOAL_VERIFIED, message, claim.answer)
    changes, told = rejected(visit.control, deps.budget, problems)
    if "stop" in changes:
        return await _ended(visit, deps, changes["stop"], changes["stop_detail"], limit=changes["limit"])
    update = visit.leave(deps, part={"observation": told}, **changes)
    await keep_record(visit, deps, update)
    return update


async def _ended(
    visit: Visit,
    deps: Deps,
    reason: Reason,
    message: str,
    answer: JsonValue = None,
    limit: Limit | None = None,
) -> Update:
    """Write the outcome: into the state, onto the run, and the last record into the trace."""
    effects = await deps.io(deps.store.ledger.of_run, visit.control.run_id)
    part: dict[str, Any] | None = {} if visit.record is not None else None
    update = visit.leave(deps, part=part, stop=reason, stop_detail=message, limit=limit)
    ended = visit.control.load(update["control"])
    facts, steps = visit.state.get("facts") or {}, visit.state.get("scratchpad") or []
    outcome = outcome_of(ended, reason, message, answer, facts, effects, steps)
    await keep_record(visit, deps, update)
    deps.read.drop(visit.control.run_id)
    deps.vault.drop(visit.control.run_id)
    await deps.io(deps.store.runs.finish, visit.control.run_id, outcome, iso(deps))
    return {**update, "outcome": outcome.model_dump(mode="json")}
