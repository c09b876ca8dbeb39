"""Progress: the same action with the same result is none. Pure, over a bounded window of step records."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from interlock.policies.canonical import ArgumentsError, canonical_json

__all__ = ["WINDOW", "repeats", "result_key"]

WINDOW = 20
"""Steps that are looked at, the newest included, so that a late step costs no more than an early one. An
alternation of up to six actions is seen three times in it."""

Key = tuple[str, str]


def repeats(steps: Sequence[Mapping[str, Any]], *, effects: Collection[str] = ()) -> int:
    """How often the newest step's action had given the same result before, within the window.

    An alternation (A-B-A-B) counts for each of its actions. What is not progress: new wording of a thought,
    a reason or an error, and fields that the contract calls volatile. What is: a new action, a new result,
    and a new effect, after which even a known result is news. A reply that was no decision is no repeat.

    Args:
        steps: dumped step records, newest last, the newest with its observation.
        effects: names of the tools that change something.
    """
    seen: dict[Key, int] = {}
    before = 0
    for step in steps[-WINDOW:]:
        key = _key(step)
        if key is None:
            before = 0
            continue
        before = seen.get(key, 0)
        if before == 0 and _changed_something(step, effects):
            seen.clear()
        seen[key] = before + 1
    return before


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


def _key(step: Mapping[str, Any]) -> Key | None:
    """What was done, and what came of it; None when nothing was proposed."""
    proposal = (step.get("decision") or {}).get("proposal")
    if not proposal:
        return None
    ticket = step.get("ticket")
    return ticket["digest"] if ticket else _action(proposal), _result(step)


def _action(proposal: Mapping[str, Any]) -> str:
    """A proposal that got no ticket, without the words that a model would vary."""
    name = proposal.get("tool") or proposal.get("delegate") or proposal.get("kind")
    words = proposal.get("question") or proposal.get("goal") or ""
    return json.dumps([name, _canonical(proposal.get("arguments") or {}), _bare(words)])


def _result(step: Mapping[str, Any]) -> str:
    """Which result it was. An error is its status: request ids and times in its text make it no other one."""
    observation, result = step.get("observation") or {}, step.get("result") or {}
    status = str(observation.get("status"))
    if status != "ok":
        return status
    return str(observation.get("result_key") or result.get("raw_ref") or observation.get("summary"))


def _changed_something(step: Mapping[str, Any], effects: Collection[str]) -> bool:
    ticket, observation = step.get("ticket") or {}, step.get("observation") or {}
    return ticket.get("tool") in effects and observation.get("status") == "ok"


def _bare(words: str) -> str:
    return "".join(letter for letter in words.casefold() if letter.isalnum())


def _canonical(arguments: Any) -> str:
    try:
        return canonical_json(arguments)
    except ArgumentsError:
        return json.dumps(arguments, sort_keys=True)


def _without(value: Any, names: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    return value
