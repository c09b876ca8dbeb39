"""Verifiers that look at what tools know: a read tool called again, and effects in the ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from math import ceil
from typing import Any

from interlock.nodes.calling import Call, Called, call_tool
from interlock.nodes.judging import judged
from interlock.nodes.looking import Finding, Look, briefly, words
from interlock.nodes.tools import BoundTool
from interlock.policies.effects import EffectRow
from interlock.policies.filling import NothingThere, filled
from interlock.policies.identities import identifiers, same
from interlock.policies.queries import pick
from interlock.policies.verdicts import Allow
from interlock.policies.verifiers import EffectDone, ToolCheck

__all__ = ["effect_done", "read_back"]

SLICE_S = 1.0
"""Longest sleep before somebody's wish to cancel is noticed, seconds."""


async def read_back(check: ToolCheck, look: Look) -> Finding:
    """Call the tool until the expectation holds, as often as the check allows and time is left."""
    try:
        arguments = filled(check.arguments, look.claim)
    except NothingThere as error:
        return Finding(False, words(f"it could not look: {error}"))
    found = await judged(check.tool, arguments, look.visit, look.deps)
    if found.action is None or not isinstance(found.verdict, Allow):
        return Finding(False, words(f"the policy does not let it look: {found.verdict.reason}"))
    began_at = await _run_began_at(look) if check.newer_than_run else None
    tool, arguments = look.deps.tools[check.tool], found.action.arguments
    last, tries = Finding(False, "no time was left to look"), 1 + ceil(check.within_s / check.every_s)
    over = min(look.until, look.deps.clock.monotonic() + check.within_s)
    for number in range(1, tries + 1):
        if look.left() <= 0:
            break
        called = await call_tool(Call(_in_time(tool, look.left()), arguments), look.deps)
        last = replace(_judged(check, called, tool.contract.untrusted, began_at), calls=number)
        if last.passed or number == tries or not await _pause(check.every_s, over, look):
            break
    return last


def _in_time(tool: BoundTool, left: float) -> BoundTool:
    limit = min(tool.contract.timeout_s, left)
    return replace(tool, contract=tool.contract.model_copy(update={"timeout_s": limit}))


async def _pause(seconds: float, over: float, look: Look) -> bool:
    """Wait for the next try. False when none may follow: the time is over, or the run was cancelled."""
    clock, deps = look.deps.clock, look.deps
    if clock.monotonic() + seconds > over:
        return False
    while seconds > 0:
        if await look.cancelled():
            return False
        await deps.io(deps.sleep, min(SLICE_S, seconds))
        seconds -= SLICE_S
    return True


def _judged(check: ToolCheck, called: Called, outside: bool, began_at: datetime | None) -> Finding:
    """What one call shows. Only `true` is a pass."""
    if called.status != "ok":
        return Finding(False, words(f"{check.tool} failed ({called.status}): {called.error}"), outside)
    found = pick(check.expect, called.value)
    if found.value is not True:
        why = found.note.removeprefix("the contract's ") or f"it gives {briefly(found.value)}"
        told = f"{check.expect} does not hold: {why}; {check.tool} returned {briefly(called.value)}"
        return Finding(False, words(told), outside)
    if check.newer_than_run and began_at and (old := _too_old(check.newer_than_run, called.value, began_at)):
        return Finding(False, words(old), outside)
    return Finding(True, words(f"{check.expect} holds: {briefly(called.value)}"), outside)


async def _run_began_at(look: Look) -> datetime:
    run = await look.deps.io(look.deps.store.runs.get, look.visit.control.run_id)
    return datetime.fromisoformat(run.created_at)


def _too_old(expression: str, value: Any, began_at: datetime) -> str | None:
    """Why the timestamp does not show that the record is of this run. Compared in the precision it has."""
    found = pick(expression, value).value
    try:
        at = datetime.fromisoformat(found)
    except (TypeError, ValueError):
        return f"{expression} gives {briefly(found)}, which is no ISO 8601 timestamp"
    if at.tzinfo is None:
        return f"{expression} gives {found}, which names no time zone"
    if at < (began_at if at.microsecond else began_at.replace(microsecond=0)):
        return f"{expression} gives {found}, which is before this run began ({began_at.isoformat()})"
    return None


async def effect_done(check: EffectDone, look: Look) -> Finding:
    """Look for the identifiers of what this run made, and for the one that the answer names."""
    made: list[Any] = []
    for effect in look.effects:
        if effect.tool == check.tool and _succeeded(effect):
            made += [one for one in await _identifiers(effect, check, look) if not same(one, made)]
    outside = look.deps.tools[check.tool].contract.untrusted
    if len(made) < check.count:
        return Finding(False, words(_too_few(check, made)), outside)
    if check.answer is not None:
        named = identifiers(pick(check.answer, look.claim.answer).value)
        wrong = [one for one in named if not same(one, made)]
        if wrong or not named:
            what = f"{check.answer} of the answer names {briefly(wrong or None)}"
            return Finding(False, words(f"{what}; {check.tool} made {briefly(made)}"), outside)
    return Finding(True, words(f"{check.tool} made {briefly(made)}"), outside)


def _too_few(check: EffectDone, made: list[Any]) -> str:
    return (
        f"the ledger of this run has {len(made)} completed effects of {check.tool} with an identifier, "
        f"and {check.count} are needed; run it, or use cannot_complete"
    )


def _succeeded(effect: EffectRow) -> bool:
    return effect.state == "done" and effect.result is not None and effect.result.status == "ok"


async def _identifiers(effect: EffectRow, check: EffectDone, look: Look) -> list[Any]:
    if effect.result is None or effect.result.raw_ref is None:
        return []
    try:
        raw: Any = await look.deps.io(look.deps.store.payloads.get, effect.result.raw_ref)
    except KeyError:  # the payload was pruned: nothing shows the identifier any more
        return []
    return identifiers(pick(check.identifier, raw).value)
