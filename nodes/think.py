"""think: perceive, then decide. Holds the only model call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from interlock.nodes.deps import Deps
from interlock.nodes.tools import BoundTool
from interlock.nodes.visit import State, Update, Visit, cancelled, enter, iso
from interlock.policies.budget import Usage
from interlock.policies.canonical import ArgumentsError
from interlock.policies.control import Control
from interlock.policies.decisions import inconsistencies
from interlock.policies.errors import BadLoop, RunExists, RunFinished
from interlock.policies.hiding import secret_fields, without
from interlock.policies.limits import before_call, before_model, out_of_time, room_for
from interlock.policies.limits import stop as stop_run
from interlock.policies.outcomes import Reason
from interlock.policies.prompt import Prompt, ToolCard
from interlock.policies.proposals import Decision, FinalAnswer, Proposal, RequestApproval, ToolCall
from interlock.policies.record import Record
from interlock.policies.redaction import redact, redact_text
from interlock.policies.replies import Reply
from interlock.policies.steps import InvalidDecision
from interlock.policies.text import bounded
from interlock.policies.transitions import check_transition

__all__ = ["think"]

R = TypeVar("R", bound=Record)


async def think(state: State, deps: Deps, run_id: str) -> Update:
    """One decision of the model, or the reason why the model is not asked.

    Raises:
        RunFinished: new input was sent to a run that has ended.
        LoopChanged: the run was started by a loop with other tools, contracts or policy.
        IllegalTransition: think does not follow the phase that finished last.
    """
    visit = await _begin(state, deps, run_id)
    bounds, now = visit.bounds(deps), deps.clock.now()
    if stop := await cancelled(visit, deps) or before_model(visit.control, bounds, now):
        return visit.leave(deps, **stop)
    step = visit.control.step + 1
    call = deps.prepare(_prompt(visit, deps, step), visit.control.learned)
    expected = call.expected()
    if stop := before_call(visit.control, bounds, expected):
        return visit.leave(deps, **stop)
    room = room_for(visit.control, bounds, expected, now)
    reply = await deps.io(call.adecide if deps.asynchronous else call.decide, room)
    return _thought(visit, deps, reply, step)


def _thought(visit: Visit, deps: Deps, reply: Reply, step: int) -> Update:
    """How think leaves with a reply: a decision, an invalid one, or the end."""
    for remembered in (deps.vault, deps.read):
        remembered.forget(visit.control.run_id, step)
    invalid = _clean(reply.invalid, deps.tools) or _unfit(reply, deps.tools)
    reply = reply if invalid else _noted(reply, deps.tools)
    model, used = _model(reply), _used(visit.control, reply)
    learned = reply.learned or visit.control.learned
    if reply.failure is not None:
        why = redact_text(reply.failure.text)
        part = {"model": model, "invalid": InvalidDecision(problem=why)}
        ended = _failed(visit, deps, reply, why)
        return visit.leave(deps, part=part, step=step, usage=used, learned=learned, **ended)
    decision = None if invalid or reply.decision is None else _kept(reply.decision, visit, deps, step)
    part = {"decision": decision, "invalid": invalid, "model": model}
    return visit.leave(deps, part=part, step=step, usage=used, learned=learned, attempt=0)


def _failed(visit: Visit, deps: Deps, reply: Reply, why: str) -> dict[str, Any]:
    """The changes that end a run whose model gave no reply."""
    reason = Reason(reply.failure.reason) if reply.failure else Reason.MODEL_ERROR
    if reason is not Reason.TIME_LIMIT:
        return stop_run(reason, why)
    return stop_run(reason, why, out_of_time(visit.control, visit.bounds(deps), deps.clock.now()))


async def _begin(state: State, deps: Deps, run_id: str) -> Visit:
    """The visit; on the first pass the run gets its row before the first model call."""
    if ended := state.get("outcome"):
        raise RunFinished(f"this run ended ({ended['status']}, {ended['reason']}); a new task needs a new id")
    if state.get("control"):
        return enter("think", state, deps)
    check_transition(None, "think")
    goal = state.get("goal")
    if not isinstance(goal, str) or not goal.strip():
        raise BadLoop('a run needs a goal: invoke the loop with {"goal": "…"}')
    await deps.io(deps.store.runs.ensure, run_id, goal, deps.fingerprint, iso(deps))
    known = await deps.io(deps.store.runs.get, run_id)
    if known.outcome is not None:
        raise RunFinished(f"run {run_id} has ended in this store; a new task needs a new id")
    if known.goal != goal:
        raise RunExists(f"run {run_id} works on another goal in this store; a new task needs a new id")
    control = Control(run_id=run_id, goal=goal, fingerprint=deps.fingerprint)
    return Visit("think", control, None, state, deps.clock.monotonic())


def _prompt(visit: Visit, deps: Deps, step: int) -> Prompt:
    bounds = visit.bounds(deps)
    last = step >= bounds.max_steps
    return Prompt(
        instructions=deps.instructions,
        tools=[ToolCard(t.name, t.tool.description, t.schema, t.contract) for t in deps.tools.values()],
        policy=deps.policy.words,
        goal=visit.control.goal,
        steps=visit.state.get("scratchpad") or [],
        facts=visit.state.get("facts") or {},
        step=step,
        max_steps=bounds.max_steps,
        context_tokens=bounds.context_tokens,
        answer_schema=deps.answer_schema.model_json_schema() if deps.answer_schema else None,
        notice="This is the last step: no tool runs any more, only an answer counts." if last else "",
    )


def _clean(invalid: InvalidDecision | None, tools: Mapping[str, BoundTool]) -> InvalidDecision | None:
    """A reply that cannot be read, without what stands in it under a secret's name."""
    if invalid is None:
        return None
    names = frozenset().union(*(secret_fields(tool.schema) for tool in tools.values() if tool.keeps_secrets))
    return invalid.model_copy(update={"raw": redact_text(invalid.raw, names)})


def _kept(decision: Decision, visit: Visit, deps: Deps, step: int) -> Decision:
    """The decision as it may be saved.

    What would change something is kept with its defaults, drawn once, so that every later look at it is the
    same. Arguments that hold secrets stay in memory, for this process.
    """
    proposal, secrets = decision.proposal, tuple[str, ...]()
    if isinstance(proposal, ToolCall | RequestApproval):
        tool = deps.tools[proposal.tool]
        arguments = tool.validate(proposal.arguments) if tool.mutates else proposal.arguments
        hidden, secrets = tool.redacted(arguments), tool.secrets_in(arguments)
        if hidden != arguments:
            deps.vault.of(visit.control.run_id)[step] = tool.validate(arguments)
        proposal = proposal.model_copy(update={"arguments": hidden})
    elif isinstance(proposal, FinalAnswer):
        proposal = proposal.model_copy(update={"answer": redact(proposal.answer)})
    cleaned: Proposal = _reworded(proposal, ("question", "reason", "goal", "missing"), secrets)
    said = ("thought", "goal", "known_facts", "missing_info", "options")
    return _reworded(decision.model_copy(update={"proposal": cleaned}), said, secrets)


def _reworded(record: R, fields: Sequence[str], secrets: tuple[str, ...]) -> R:
    """The record with the model's own words in these fields, where it has them, free of secrets."""
    words = {name: getattr(record, name) for name in fields if getattr(record, name, None)}
    return record.model_copy(
        update={
            name: _said(told, secrets) if isinstance(told, str) else [_said(one, secrets) for one in told]
            for name, told in words.items()
        }
    )


def _said(text: str, secrets: tuple[str, ...]) -> str:
    """One text without secrets, no longer than its field takes."""
    return str(without(redact_text(text), secrets))[: max(len(text), 1_000)]


def _unfit(reply: Reply, tools: Mapping[str, BoundTool]) -> InvalidDecision | None:
    """Why the decision cannot be judged, in words that the model can act on."""
    if reply.decision is None:
        return None
    problem = inconsistencies(reply.decision) or _bad_call(reply.decision, tools)
    if problem is None:
        return None
    proposal, secrets = reply.decision.proposal, tuple[str, ...]()
    if isinstance(proposal, ToolCall | RequestApproval) and (tool := tools.get(proposal.tool)):
        secrets = tool.secrets_in(proposal.arguments)
    plain = reply.decision.dump()
    hidden = redact(without(plain, secrets))
    raw = reply.raw if reply.raw and hidden == plain else json.dumps(hidden, ensure_ascii=False)
    problem = ". ".join([problem, *reply.notes])
    return InvalidDecision(problem=without(problem, secrets), raw=redact_text(raw)[:1000])


def _noted(reply: Reply, tools: Mapping[str, BoundTool]) -> Reply:
    """The reply with a note on arguments that are left out because a read does not have them."""
    proposal = reply.decision.proposal if reply.decision else None
    tool = tools.get(proposal.tool) if isinstance(proposal, ToolCall) else None
    if (
        tool is None
        or not isinstance(proposal, ToolCall)
        or not (unknown := tool.unknown(proposal.arguments))
    ):
        return reply
    names = bounded(", ".join(unknown), 200)
    note = f"ignored: {names}: {tool.name} takes only {', '.join(tool.known()) or 'no arguments'}"
    return reply.model_copy(update={"notes": [*reply.notes, note]})


def _bad_call(decision: Decision, tools: Mapping[str, BoundTool]) -> str | None:
    proposal = decision.proposal
    if not isinstance(proposal, ToolCall | RequestApproval):
        return None
    tool = tools.get(proposal.tool)
    if tool is None:
        return f"there is no tool {proposal.tool!r}; the tools are: {', '.join(tools) or 'none'}"
    try:
        tool.validate(proposal.arguments)
    except ArgumentsError as error:
        return f"the arguments of {proposal.tool} do not fit: {error}"
    return None


def _used(control: Control, reply: Reply) -> Usage:
    usage, tokens = control.usage, reply.tokens
    return usage.model_copy(
        update={
            "model_calls": usage.model_calls + reply.attempts,
            "input_tokens": usage.input_tokens + tokens.input,
            "cached_tokens": usage.cached_tokens + tokens.cached,
            "output_tokens": usage.output_tokens + tokens.output,
            "cost": usage.cost + (reply.cost or 0),
            "unpriced_calls": usage.unpriced_calls + (reply.attempts if reply.cost is None else 0),
            "estimated": usage.estimated or tokens.estimated,
        }
    )


def _model(reply: Reply) -> dict[str, Any]:
    return {
        "name": reply.model,
        **({"asked": reply.asked} if reply.asked != reply.model else {}),
        "protocol": reply.protocol,
        "input_tokens": reply.tokens.input,
        "output_tokens": reply.tokens.output,
        **({"cached_tokens": reply.tokens.cached} if reply.tokens.cached else {}),
        **({"cost": str(reply.cost)} if reply.cost is not None else {}),
        **({"estimated": True} if reply.tokens.estimated else {}),
        **({"attempts": reply.attempts} if reply.attempts > 1 else {}),
        **({"switched": [redact_text(why) for why in reply.switched]} if reply.switched else {}),
        **({"context": reply.context} if reply.context else {}),
        **({"provider": reply.provider} if reply.provider else {}),
        **({"notes": list(reply.notes)} if reply.notes else {}),
    }
