"""Outside content may be read, but not obeyed: whom or what a write hits must come from somewhere trusted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from interlock.policies.contracts import Contract
from interlock.policies.provenance import Origin, argument_of, is_trusted, leaves
from interlock.policies.text import bounded, visible
from interlock.policies.verdicts import NeedsApproval

__all__ = ["by_provenance", "origin_words", "provenance_of"]

SHOWN = 6
"""Values that a reason names at most."""


def by_provenance(
    contract: Contract, arguments: Mapping[str, Any], origins: Mapping[str, Origin], outside_read: bool
) -> NeedsApproval | None:
    """A person decides about a write whose targets come from outside content or from nowhere.

    Says nothing before any outside content was read, and nothing about reads.
    """
    if not outside_read or contract.effect == "read":
        return None
    suspect = [
        f"{path} = {_short(value)} ({origin_words(origins.get(path, 'model'))})"
        for path, value in leaves(arguments)
        if (contract.targets is None or argument_of(path) in contract.targets)
        and not is_trusted(origins.get(path, "model"))
    ]
    if not suspect:
        return None
    more = f" and {len(suspect) - SHOWN} more" if len(suspect) > SHOWN else ""
    reason = (
        f"outside content was read, and this comes from nothing trusted: {'; '.join(suspect[:SHOWN])}{more}"
    )
    return NeedsApproval(rule="outside_target", reason=reason)


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
    return bounded(visible(json.dumps(value, ensure_ascii=False)), 80)
