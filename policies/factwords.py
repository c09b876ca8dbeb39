"""Facts as the model sees them: one line each, and the values that a fact had before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from interlock.policies.text import bounded, fence, unfenced, visible

__all__ = ["facts_text", "origin_of"]

MAX_BEFORE = 80
"""Most of an earlier value that is shown, characters."""

Data = Mapping[str, Any]


def facts_text(facts: Mapping[str, Data]) -> list[str]:
    """The facts in parts. Those from outside content stand in one fence, apart from the others."""
    plain = [line for fact in facts.values() if not _outside(fact) for line in _lines(fact)]
    outside = [line for fact in facts.values() if _outside(fact) for line in _lines(fact)]
    parts = [unfenced("Facts:\n" + "\n".join(plain))] if plain else []
    if outside:
        parts.append("Facts that nothing trusted vouches for:\n" + fence(visible("\n".join(outside))))
    return parts


def origin_of(fact: Data) -> str:
    """Where a value (dumped Fact or Earlier) comes from: the source, with the call that gave it."""
    return " ".join(filter(None, (fact.get("source", "unknown"), fact.get("call"))))


def _outside(fact: Data) -> bool:
    """Also where only an earlier value is: it is shown as well."""
    return any(one.get("tainted") for one in (fact, *fact.get("previous", ())))


def _lines(fact: Data) -> list[str]:
    """The call is named only where there are other values, which may be those of other records."""
    previous = fact.get("previous") or ()
    source = origin_of(fact) if previous else fact.get("source", "unknown")
    told = f"{fact.get('trust', 'inferred')}, {source}, step {fact.get('step', '?')}"
    lines = [f"- {_json(fact.get('key'))}: {_json(fact.get('value'))} ({told})"]
    for one in reversed(previous):
        value = bounded(_json(one.get("value")), MAX_BEFORE)
        lines.append(f"  not the same in step {one.get('step', '?')}: {value} ({origin_of(one)})")
    return [line.replace("\n", " ") for line in lines]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
