"""Arguments of a check with places that the claim fills: `{"$fact": KEY}` and `{"$answer": JMESPATH}`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from interlock.policies.queries import pick
from interlock.policies.record import JsonValue
from interlock.policies.verifiers import Claim

__all__ = ["NothingThere", "filled", "places"]


class NothingThere(ValueError):
    """A place that the claim has no value for; the text says which, so that the model can act on it."""


def places(value: JsonValue) -> Iterator[tuple[str, str]]:
    """The places in the value, at any depth: `$fact` or `$answer`, and what it names."""
    if isinstance(value, dict):
        if place := _place(value):
            yield place
        else:
            for item in value.values():
                yield from places(item)
    elif isinstance(value, list):
        for item in value:
            yield from places(item)


def filled(value: JsonValue, claim: Claim) -> Any:
    """The value with every place filled. Raises NothingThere."""
    if isinstance(value, dict):
        place = _place(value)
        return _taken(*place, claim) if place else {key: filled(item, claim) for key, item in value.items()}
    return [filled(item, claim) for item in value] if isinstance(value, list) else value


def _place(value: dict[str, JsonValue]) -> tuple[str, str] | None:
    if len(value) != 1:
        return None
    ((kind, what),) = value.items()
    return (kind, what) if kind in ("$fact", "$answer") and isinstance(what, str) else None


def _taken(kind: str, what: str, claim: Claim) -> Any:
    if kind == "$fact":
        if what not in claim.facts:
            raise NothingThere(f"the fact {what} is not observed")
        return claim.facts[what].value
    found = pick(what, claim.answer)
    if found.value is None:
        raise NothingThere(f"the answer has no {what}")
    return found.value
