"""Progress: what of a step is new. Pure, over a bounded window of step records.

New is a result that the same tool has not given yet, a new effect, and what a person says. Not new are other
wording of a thought, a reason or an action, an error, and what a contract calls volatile. Facts need no rule
of their own: they come from results, and a result that was seen before brings facts that were seen before.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.policies.alike import action_key, action_name
from interlock.policies.budget import Budget

__all__ = ["WINDOW", "Progress", "progress_of", "repeats", "result_key", "window_of"]

WINDOW = 20
"""Steps that are looked at, the newest included, so that a late step costs no more than an early one. An
alternation of up to six actions is seen three times in it."""
CYCLE = 6
"""Longest alternation that is still seen with a larger bound of repeats."""

Key = tuple[str, str]
Step = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Progress:
    """What the newest step brought, compared with the steps before it."""

    repeats: int = 0
    """How often its action had given the same result before."""
    trail: tuple[int, ...] = ()
    """The repeats of each step since the last one that brought something new; empty when the newest did."""
    circle: tuple[str, ...] = ()
    """The actions since the newest one gave this result before, it included; empty when it never did."""
    guesses: int = 0
    """Newest steps in a row in which one tool failed in the same way with different arguments."""
    tool: str = ""
    """Name of the newest step's tool."""
    action: str = ""
    """The newest step's action, for a message."""
    waiting: bool = False
    """It polled, and the condition does not hold yet: neither progress nor a repeat."""
    advised: bool = False
    """A person answered in words."""


def window_of(budget: Budget) -> int:
    """Steps that have to be looked at so that the budget's bounds can be reached."""
    return max(WINDOW, CYCLE * budget.max_repeats + 2, 2 * budget.max_stale)


def progress_of(steps: Sequence[Step], *, effects: Collection[str] = (), window: int = WINDOW) -> Progress:
    """What the newest step brought.

    An alternation (A-B-A-B) counts for each of its actions. After a new effect even a known result is news. A
    reply that was no decision is no repeat, and nothing new.

    Args:
        steps: dumped step records, newest last, the newest with its observation.
        effects: names of the tools that change something.
        window: newest steps that are looked at.
    """
    steps = steps[-window:]
    seen: dict[Key, int] = {}
    results = set[Key]()
    trail: list[int] = []
    before = 0
    for step in steps:
        if _waits(step):
            continue
        key = _key(step)
        before = seen.get(key, 0) if key else 0
        changed = key is not None and before == 0 and _changed_something(step, effects)
        if changed:
            seen.clear()
            results.clear()
        if key is not None:
            seen[key] = before + 1
        new = _new_result(step, results) or changed or _heard(step)
        trail = [] if new and before == 0 else [*trail, before]
    return _described(steps, before, tuple(trail)) if steps else Progress()


def repeats(steps: Sequence[Step], *, effects: Collection[str] = ()) -> int:
    """How often the newest step's action had given the same result before, within the window."""
    return progress_of(steps, effects=effects).repeats


def result_key(raw: Any, volatile: Collection[str]) -> str | None:
    """What a result is apart from its volatile fields; None when the contract names none.

    Args:
        raw: the raw value as plain JSON.
        volatile: names of fields, left out wherever they occur.
    """
    if not volatile:
        return None
    kept = json.dumps(_without(raw, frozenset(volatile)), sort_keys=True)
    return hashlib.sha256(kept.encode()).hexdigest()


def _described(steps: Sequence[Step], before: int, trail: tuple[int, ...]) -> Progress:
    newest = steps[-1]
    if _waits(newest):
        return Progress(waiting=True, action=action_name(newest), tool=_tool(newest))
    return Progress(
        repeats=before,
        trail=trail,
        circle=_circle(steps) if before else (),
        guesses=_guesses(steps),
        tool=_tool(newest),
        action=action_name(newest),
        advised="respond" in _said(newest),
    )


def _circle(steps: Sequence[Step]) -> tuple[str, ...]:
    newest, names = _key(steps[-1]), [action_name(steps[-1])]
    for step in reversed(steps[:-1]):
        if _key(step) == newest:
            break
        names.append(action_name(step))
    return tuple(dict.fromkeys(reversed(names)))


def _guesses(steps: Sequence[Step]) -> int:
    """How many of the newest steps are one tool's failures of one kind; 0 unless the arguments differed."""
    tool, status = _tool(steps[-1]), _status(steps[-1])
    actions: list[str | None] = []
    for step in reversed(steps):
        if status == "ok" or not tool or (_tool(step), _status(step)) != (tool, status):
            break
        actions.append(action_key(step))
    return len(actions) if len(set(actions)) > 1 else 0


def _key(step: Step) -> Key | None:
    """What was done, and what came of it; None when nothing was proposed."""
    action = action_key(step)
    return None if action is None else (action, _result(step))


def _result(step: Step) -> str:
    """Which result it was. An error is its status: request ids and times in its text make it no other one."""
    observation, result = step.get("observation") or {}, step.get("result") or {}
    if _status(step) != "ok":
        return _status(step)
    return str(observation.get("result_key") or result.get("raw_ref") or observation.get("summary"))


def _new_result(step: Step, results: set[Key]) -> bool:
    """True when the tool has not given this result yet, for whatever arguments. Remembers it."""
    found = (_tool(step), _result(step))
    if _status(step) != "ok" or found in results:
        return False
    results.add(found)
    return True


def _waits(step: Step) -> bool:
    polled = (step.get("result") or {}).get("polled")
    return polled is not None and not polled["held"]


def _heard(step: Step) -> bool:
    return bool({"respond", "reject", "edit"} & _said(step))


def _said(step: Step) -> set[str]:
    """What people decided in this step; advice for a stuck run belongs to the steps behind it."""
    answers = [one for one in step.get("answers") or () if one.get("kind") != "stuck"]
    return {str(one["decision"]["type"]) for one in answers if one.get("decision")}


def _changed_something(step: Step, effects: Collection[str]) -> bool:
    return (step.get("ticket") or {}).get("tool") in effects and _status(step) == "ok"


def _tool(step: Step) -> str:
    proposal = (step.get("decision") or {}).get("proposal") or {}
    return str((step.get("ticket") or {}).get("tool") or proposal.get("tool") or "")


def _status(step: Step) -> str:
    return str((step.get("observation") or {}).get("status"))


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    return value
