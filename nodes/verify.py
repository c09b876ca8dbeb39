"""verify: a claim is checked against the world and the ledger. The one place that writes outcomes."""

from __future__ import annotations

from collections.abc import Sequence

from interlock.nodes.deps import Deps
from interlock.nodes.normalize import keep_record
from interlock.nodes.verifying import Looked, verified
from interlock.nodes.visit import State, Update, Visit, cancelled, enter, iso
from interlock.policies.answers import fitted
from interlock.policies.budget import Limit
from interlock.policies.claims import outcome_of, problems_of, rejected
from interlock.policies.effects import EffectRow
from interlock.policies.errors import LoopBroken
from interlock.policies.limits import stop
from interlock.policies.open_actions import open_actions
from interlock.policies.outcomes import Reason
from interlock.policies.proposals import CannotComplete, FinalAnswer
from interlock.policies.record import JsonValue

__all__ = ["verify"]


NOTHING_REQUIRED = (
    "the answer was accepted; this loop requires no facts and has no verifiers, so only the ledger was "
    "checked: no effect is in doubt, and no action is open"
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
    """Rules first: they cost nothing, and a verifier is only asked about an answer that fits them."""
    effects = await deps.io(deps.store.ledger.of_run, visit.control.run_id)
    fit = fitted(claim.answer, deps.answer_schema)
    problems = _problems(claim, visit, deps, effects) + ([fit.problem] if fit.problem else [])
    looked = Looked()
    if not problems:
        looked = await verified(fit.answer, effects, visit, deps)
        problems = [f"{check.name}: {check.detail}" for check in looked.failed()]
        if not problems:
            return await _ended(visit, deps, Reason.GOAL_VERIFIED, _accepted(deps), fit.answer, looked)
    stopped = await cancelled(visit, deps)
    if stopped:
        return await _ended(visit, deps, stopped["stop"], stopped["stop_detail"], looked=looked)
    return await _rejected(problems, looked, visit, deps)


def _problems(claim: FinalAnswer, visit: Visit, deps: Deps, effects: Sequence[EffectRow]) -> list[str]:
    facts, steps = visit.state.get("facts") or {}, visit.state.get("scratchpad") or []
    mutating = {name for name, tool in deps.tools.items() if tool.mutates}
    return problems_of(claim, deps.require, facts, effects, deps.fresh) + open_actions(steps, mutating)


def _accepted(deps: Deps) -> str:
    parts = [f"required and observed: {', '.join(sorted(deps.require))}"] if deps.require else []
    parts += [f"verified: {', '.join(deps.verifiers)}"] if deps.verifiers else []
    return "; ".join(parts) or NOTHING_REQUIRED


async def _rejected(problems: list[str], looked: Looked, visit: Visit, deps: Deps) -> Update:
    outside = any(check.outside for check in looked.failed())
    changes, told = rejected(visit.control, deps.budget, problems, outside)
    if "stop" in changes:
        reason, why, limit = changes["stop"], changes["stop_detail"], changes["limit"]
        return await _ended(visit, deps, reason, why, looked=looked, limit=limit)
    part = {"observation": told, "checks": looked.checks or None}
    update = visit.leave(deps, part=part, usage=looked.used(visit), **changes)
    await keep_record(visit, deps, update)
    return update


async def _ended(
    visit: Visit,
    deps: Deps,
    reason: Reason,
    message: str,
    answer: JsonValue = None,
    looked: Looked | None = None,
    limit: Limit | None = None,
) -> Update:
    """Write the outcome: into the state, onto the run, and the last record into the trace."""
    effects = await deps.io(deps.store.ledger.of_run, visit.control.run_id)
    looked = looked or Looked()
    part = {"checks": looked.checks or None} if visit.record is not None else None
    end = stop(reason, message, limit)
    update = visit.leave(deps, part=part, usage=looked.used(visit), **end)
    ended = visit.control.load(update["control"])
    facts, steps = visit.state.get("facts") or {}, visit.state.get("scratchpad") or []
    outcome = outcome_of(ended, reason, message, answer, facts, effects, steps)
    if reason is Reason.GOAL_VERIFIED:
        outcome = outcome.model_copy(update={"checks": looked.checks})
    await keep_record(visit, deps, update)
    deps.read.drop(visit.control.run_id)
    deps.vault.drop(visit.control.run_id)
    await deps.io(deps.store.runs.finish, visit.control.run_id, outcome, iso(deps))
    return {**update, "outcome": outcome.model_dump(mode="json")}
