"""Facts: values with their source. Only observed facts are evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from interlock.policies.record import JsonValue, Record

__all__ = ["KEPT", "Earlier", "Fact", "FactTrust", "facts_of_step", "merge_facts"]

FactTrust = Literal["observed", "user", "inferred"]
"""`observed` comes from a tool's result and is evidence; the other two are not."""

KEPT = 5
"""Earlier values that a fact remembers, the newest ones."""

_RANK = {"inferred": 0, "user": 1, "observed": 2}
_SAID_BEFORE = ("value", "source", "call", "trust", "tainted", "step", "observed_at")


class Earlier(Record):
    """A value that a newer one has replaced, or that did not count against a better source."""

    value: JsonValue
    source: str
    call: str | None = None
    trust: FactTrust
    tainted: bool = False
    step: int
    observed_at: str


class Fact(Record):
    """One value that the run knows, and where it comes from."""

    key: str
    value: JsonValue
    source: str
    """`tool:NAME`, `user` or `model`."""
    call: str | None = None
    """Arguments of the call that gave it, as JSON, bounded: they tell which record the value belongs to."""
    trust: FactTrust
    tainted: bool = False
    """True when the value comes from outside content."""
    step: int
    """Step in which the value was learned."""
    observed_at: str
    """UTC time, ISO 8601."""
    previous: list[Earlier] = []
    """Other values of the same key, oldest first, at most KEPT."""


def merge_facts(known: dict[str, Any], batches: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Fold new facts into the known ones: the newer value wins, the older is remembered.

    What a person said does not replace what a tool observed, and what the model claims replaces neither. A
    left fold over single facts, so it is the same however the batches are cut.
    """
    merged = dict(known or {})
    for fact in (fact for batch in batches for fact in batch):
        old = merged.get(fact["key"])
        merged[fact["key"]] = fact if old is None else _joined(old, fact)
    return merged


def facts_of_step(
    step: int, known: Mapping[str, Mapping[str, Any]], new: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """What was learned in one step, without what earlier steps said: the known facts of it, and new ones."""
    found = {key: _bare(fact) for key, fact in known.items() if fact["step"] == step}
    return list({**found, **{fact["key"]: fact for fact in new}}.values())


def _joined(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    weaker = _RANK[new["trust"]] < _RANK[old["trust"]]
    stays, goes = (old, new) if weaker else (new, old)
    previous = list(old.get("previous", []))
    if old["value"] != new["value"] and "inferred" not in (old["trust"], new["trust"]):
        previous.append({key: goes[key] for key in _SAID_BEFORE if key in goes})
    return {**_bare(stays), "previous": previous[-KEPT:]} if previous else _bare(stays)


def _bare(fact: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fact.items() if key != "previous"}
