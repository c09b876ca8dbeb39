"""Outside content may be read, but not obeyed: whom or what a write hits must come from somewhere trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from interlock.policies.contracts import Contract
from interlock.policies.provenance import Origin, argument_of, is_key, is_trusted, leaves
from interlock.policies.text import bounded, visible
from interlock.policies.verdicts import NeedsApproval

__all__ = ["by_provenance", "origin_words", "provenance_of"]

SHOWN = 6
"""Values that a reason names at most."""


def by_provenance(
    contract: Contract, arguments: Mapping[str, Any], origins: Mapping[str, Origin], outside_read: bool
) -> NeedsApproval | None:
    """A person decides about a write whose targets come from outside content or from nowhere.

    Says nothing before any outside content was read, and nothing about reads. A value without an origin
    counts as made up by the model. A write that could be aimed by its arguments but has none, or null for
    each, asks as well: nothing in it shows that the goal wanted it.
    """
    if not outside_read or contract.effect == "read":
        return None
    suspect = _suspects(contract, arguments, origins)
    if suspect:
        more = f" and {len(suspect) - SHOWN} more" if len(suspect) > SHOWN else ""
        return _ask(f"this comes from nothing trusted: {'; '.join(suspect[:SHOWN])}{more}")
    if contract.targets != [] and not any(_is_target(path, contract) for path, _ in leaves(arguments)):
        return _ask("no argument says whom or what this hits")
    return None


def _suspects(contract: Contract, arguments: Mapping[str, Any], origins: Mapping[str, Origin]) -> list[str]:
    """The targets that nothing trusted vouches for, in words. Keys without an origin are the tool's own."""
    return [
        f"{_bounded(path)} = {_short(value)} ({_bounded(origin_words(origins.get(path, 'model')))})"
        for path, value in leaves(arguments)
        if _is_target(path, contract)
        and not is_trusted(origins.get(path, "model"))
        and not (is_key(path) and path not in origins)
    ]


def _is_target(path: str, contract: Contract) -> bool:
    return contract.targets is None or argument_of(path) in contract.targets


def _ask(why: str) -> NeedsApproval:
    return NeedsApproval(rule="outside_target", reason=f"outside content was read, and {why}")


def provenance_of(origins: Mapping[str, Origin]) -> dict[str, str]:
    """Where each value came from, in the words that an approval shows."""
    return {visible(path): origin_words(origin) for path, origin in origins.items()}


def origin_words(origin: Origin) -> str:
    """An origin in words."""
    kind, _, rest = origin.partition(":")
    match kind:
        case "goal":
            return "the goal"
        case "user":
            return "a person's answer"
        case "default":
            return "the tool's default"
        case "fact":
            return f"the fact {rest}"
        case "tool":
            return f"the trusted tool {rest}"
        case "outside":
            tool, _, step = rest.partition("#")
            return f"outside content, read by {tool} in step {step}"
        case _:
            return "the model; found nowhere"


def _short(value: Any) -> str:
    return _bounded(json.dumps(value, ensure_ascii=False))


def _bounded(text: str) -> str:
    return bounded(visible(text), 80)
