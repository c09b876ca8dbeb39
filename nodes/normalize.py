"""normalize: look at what happened and write it down. Every step gets exactly one observation."""

from __future__ import annotations

from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.polling import poll_words
from interlock.nodes.visit import State, Update, Visit, enter, iso
from interlock.policies.facts import Fact, facts_of_step
from interlock.policies.learning import learned
from interlock.policies.normalizers import (
    facts_from,
    observe,
    observe_answer,
    observe_denied,
    observe_invalid,
)
from interlock.policies.observations import Observation
from interlock.policies.progress import Progress, progress_of, window_of
from interlock.policies.steps import StepRecord, merge_steps
from interlock.policies.stuck import after_step
from interlock.policies.verdicts import Deny

__all__ = ["keep_record", "normalize"]


async def normalize(state: State, deps: Deps) -> Update:
    """The step's observation, its facts, and whether the run goes on."""
    visit = enter("normalize", state, deps)
    record = visit.step_record()
    if record.observation is not None:  # a person answered a stuck run: the step itself was looked at before
        update = visit.leave(deps, part={}, stuck=False)
        return await _kept(update, learned([], record, iso(deps)), visit, deps)
    deps.vault.of(visit.control.run_id).pop(visit.control.step, None)
    observation, facts = await _look(record, visit, deps)
    if record.model.get("notes"):
        notes = "; ".join(str(note) for note in _list(record.model["notes"]))
        observation = observation.model_copy(update={"summary": f"{observation.summary}\n({notes})"})
    found = _progress(visit, deps, observation)
    bounds, invalid = visit.bounds(deps), record.invalid is not None
    changes, told = after_step(visit.control, bounds, observation, invalid, found, deps.on_stuck)
    if told := [*poll_words(record, visit, deps), *told]:
        observation = observation.model_copy(update={"next_actions": [*observation.next_actions, *told]})
    update = visit.leave(deps, part={"observation": observation}, **changes)
    return await _kept(update, learned(facts, record, iso(deps)), visit, deps)


async def _kept(update: Update, facts: list[Fact], visit: Visit, deps: Deps) -> Update:
    if facts:
        update["facts"] = [fact.model_dump(mode="json", exclude_defaults=True) for fact in facts]
    await keep_record(visit, deps, update)
    return update


def _progress(visit: Visit, deps: Deps, observation: Observation) -> Progress:
    """What this step brought, compared with those behind a person's last advice."""
    window = window_of(deps.budget)
    steps = [*(visit.state.get("scratchpad") or ())[-window:]]
    steps[-1] = {**steps[-1], "observation": observation.dump()}
    counted = [step for step in steps if step["step"] >= visit.control.fresh_from]
    effects = {name for name, tool in deps.tools.items() if tool.mutates}
    return progress_of(counted, effects=effects, window=window)


async def keep_record(visit: Visit, deps: Deps, update: Update) -> None:
    """Write the step's whole record to the trace. Writing it again after a crash changes nothing."""
    steps = visit.state.get("scratchpad") or []
    merged = merge_steps(steps[-1:], [update.get("scratchpad") or []])
    if merged:
        facts = facts_of_step(merged[-1]["step"], visit.state.get("facts") or {}, update.get("facts") or [])
        last = {**merged[-1], **({"facts": facts} if facts else {})}
        await deps.io(deps.store.traces.record, visit.control.run_id, last["step"], last)


async def _look(record: StepRecord, visit: Visit, deps: Deps) -> tuple[Observation, list[Fact]]:
    if record.invalid is not None:
        return observe_invalid(record.invalid), []
    if record.result is not None:
        return await _look_at_result(record, visit, deps)
    if record.answers and not isinstance(record.verdict, Deny):
        last = record.answers[-1]
        return observe_answer(last.kind, last.outcome, last.decision), []
    verdict = record.verdict or Deny(rule="policy_error", reason="no verdict was given")
    return observe_denied(verdict), []


async def _look_at_result(record: StepRecord, visit: Visit, deps: Deps) -> tuple[Observation, list[Fact]]:
    result, ticket = record.result, record.ticket
    if result is None or ticket is None:
        return observe_denied(Deny(rule="no_ticket", reason="the action had no ticket and did not run")), []
    raw: Any = await deps.io(deps.store.payloads.get, result.raw_ref) if result.raw_ref else None
    contract = deps.tools[ticket.tool].contract if ticket.tool in deps.tools else None
    if contract is None:
        return observe_denied(Deny(rule="unknown_tool", reason=f"there is no tool {ticket.tool!r}")), []
    facts = facts_from(raw, contract, record.step, iso(deps), ticket.tool) if result.status == "ok" else []
    return observe(raw, result, contract), facts


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
