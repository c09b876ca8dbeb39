"""Whether a final answer may stand, and what an outcome says. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from interlock.policies.budget import Budget, Limit
from interlock.policies.control import Control
from interlock.policies.effects import NOTHING_HAPPENED, EffectRow
from interlock.policies.facts import Fact
from interlock.policies.limits import stop
from interlock.policies.observations import Observation, Trust
from interlock.policies.outcomes import STATUS_OF, Change, Outcome, Reason, Unfinished
from interlock.policies.proposals import FinalAnswer
from interlock.policies.record import JsonValue
from interlock.policies.shapes import cut_text, size_of
from interlock.policies.text import bounded, visible

__all__ = ["changes_of", "last_effect", "outcome_of", "problems_of", "rejected"]


def problems_of(
    claim: FinalAnswer,
    require: frozenset[str],
    facts: Mapping[str, Mapping[str, Any]],
    effects: Sequence[EffectRow],
    fresh: frozenset[str] = frozenset(),
) -> list[str]:
    """Why the answer is not accepted, in words that the model can act on; empty when it is.

    Args:
        fresh: the required facts that have to be observed in a later step than the last effect.
    """
    problems = []
    if claim.answer in (None, "", [], {}) or (isinstance(claim.answer, str) and not claim.answer.strip()):
        problems.append("the answer is empty")
    observed = {key for key, fact in facts.items() if fact["trust"] == "observed"}
    if missing := sorted(require - observed):
        problems.append(f"not yet observed by a tool: {', '.join(missing)}")
    last = last_effect(effects)
    if last and (old := sorted(key for key in fresh & observed if facts[key]["step"] <= last.step)):
        problems.append(
            f"observed before {last.tool} in step {last.step} changed something: {', '.join(old)}; look again"
        )
    if unknown := [effect.tool for effect in effects if effect.state in ("in_flight", "unknown")]:
        problems.append(f"nobody knows whether this happened: {', '.join(unknown)}")
    citable = {key for key, fact in facts.items() if fact["trust"] != "inferred"}
    if uncited := sorted(set(claim.cites) - citable):
        problems.append(f"cited, but not among the facts: {', '.join(uncited)}")
    return problems


def last_effect(effects: Sequence[EffectRow]) -> EffectRow | None:
    """The effect that changed something last, or may have; None when there is none."""
    return next((effect for effect in reversed(effects) if _may_have_changed(effect)), None)


def _may_have_changed(effect: EffectRow) -> bool:
    if effect.state == "cleared":
        return False
    return effect.result is None or effect.result.status not in NOTHING_HAPPENED


def rejected(
    control: Control, budget: Budget, problems: Sequence[str], outside: bool = False
) -> tuple[dict[str, Any], Observation]:
    """What a rejected answer does to the control, and what the model is told.

    Args:
        outside: the problems quote outside content.
    """
    count = control.rejected + 1
    changes: dict[str, Any] = {"rejected": count}
    told = "1 answer was" if count == 1 else f"{count} answers were"
    if count >= budget.max_rejected:
        changes |= stop(
            Reason.ANSWERS_REJECTED,
            f"{told} rejected; the last because {bounded(visible(problems[0]), 300)}",
            Limit(name="max_rejected", value=str(budget.max_rejected), used=str(count)),
        )
    text = visible(f"the answer was not accepted: {'; '.join(problems)}")
    summary = text if size_of(text) <= MAX_TOLD else cut_text(text, MAX_TOLD, quoted=False)
    trust: Trust = "untrusted" if outside else "trusted"
    return changes, Observation(
        status="invalid_input", summary=summary, trust=trust, size_after=size_of(summary)
    )


MAX_TOLD = 8_000
"""Most that the model is told about a rejected answer, bytes: the ends of the outputs of some commands."""


def changes_of(effects: Sequence[EffectRow]) -> list[Change]:
    """What was changed in the world, from the ledger: effects that happened or may have happened."""
    return [
        Change(
            tool=effect.tool,
            arguments=effect.arguments,
            status="done" if effect.state == "done" else "unknown",
            step=effect.step,
            idempotency_key=effect.key,
            approved_by=effect.approved_by,
            result=effect.summary,
        )
        for effect in effects
        if effect.state in ("in_flight", "unknown")
        or (effect.state == "done" and effect.result is not None and effect.result.status == "ok")
    ]


def outcome_of(
    control: Control,
    reason: Reason,
    message: str,
    answer: JsonValue,
    facts: Mapping[str, Mapping[str, Any]],
    effects: Sequence[EffectRow],
    steps: Sequence[Mapping[str, Any]],
) -> Outcome:
    """The typed end of a run. Only a verified goal carries an answer."""
    evidence = [Fact.load(dict(fact)) for fact in facts.values() if fact["trust"] == "observed"]
    return Outcome(
        status=STATUS_OF[reason],
        reason=reason,
        message=message,
        limit=control.limit,
        answer=answer if reason is Reason.GOAL_VERIFIED else None,
        evidence=evidence,
        changes=changes_of(effects),
        unfinished=_unfinished(control, reason, message, effects, steps),
        usage=control.usage,
        steps=control.step,
    )


def _unfinished(
    control: Control,
    reason: Reason,
    message: str,
    effects: Sequence[EffectRow],
    steps: Sequence[Mapping[str, Any]],
) -> list[Unfinished]:
    """What the run leaves open: the goal, effects in doubt, failed effects, actions that were not run."""
    open_ends = []
    if reason is not Reason.GOAL_VERIFIED:
        open_ends.append(Unfinished(what=f"goal: {control.goal[:500]}", why=message))
    for effect in effects:
        if effect.state in ("in_flight", "unknown"):
            open_ends.append(
                Unfinished(what=effect.tool, why="it is unknown whether it happened", step=effect.step)
            )
        elif effect.state == "done" and effect.result is not None and effect.result.status != "ok":
            why = effect.result.error or effect.result.status
            open_ends.append(Unfinished(what=effect.tool, why=f"it failed: {why}", step=effect.step))
    return [*open_ends, *_not_run(steps)]


def _not_run(steps: Sequence[Mapping[str, Any]]) -> list[Unfinished]:
    """Actions that were proposed and denied, rejected, expired or held back, latest wording only."""
    held: dict[str, Unfinished] = {}
    for step in steps:
        proposal = (step.get("decision") or {}).get("proposal") or {}
        if proposal.get("kind") not in ("tool_call", "request_approval"):
            continue
        key = f"{proposal.get('tool')} {proposal.get('arguments')}"
        if why := _why_not(step):
            held[key] = Unfinished(
                what=f"{proposal['tool']}({_short(proposal.get('arguments'))})", why=why, step=step["step"]
            )
        else:
            held.pop(key, None)
    return list(held.values())


def _why_not(step: Mapping[str, Any]) -> str | None:
    result, verdict = step.get("result"), step.get("verdict") or {}
    if result is not None:
        return result.get("error") if result.get("attempts") == 0 and result["status"] != "ok" else None
    for answer in reversed(step.get("answers") or []):
        decision = answer.get("decision") or {}
        if answer["kind"] == "approval" and answer["outcome"] != "decided":
            return f"the approval {answer['outcome']}: not executed"
        if decision.get("type") == "reject":
            why = decision.get("message") or decision.get("reason") or "no reason given"
            return f"rejected by {decision.get('by')}: {why}"
        if decision.get("type") == "respond":
            return None
    return f"{verdict['rule']}: {verdict['reason']}" if verdict.get("kind") == "deny" else None


def _short(arguments: Any) -> str:
    return ", ".join(f"{key}={value!r}" for key, value in (arguments or {}).items())[:300]
