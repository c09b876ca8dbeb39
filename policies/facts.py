"""Facts: values with their source. Only observed facts are evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from interlock.policies.record import JsonValue, Record

__all__ = ["Fact", "merge_facts"]


class Fact(Record):
    """One value that the run knows, and where it comes from."""

    key: str
    value: JsonValue
    source: str
    """`tool:NAME`, `user` or `model`."""
    trust: Literal["observed", "user", "inferred"]
    """`observed` comes from a tool's result and is evidence; the other two are not."""
    tainted: bool = False
    """True when the value comes from outside content."""
    step: int
    """Step in which the value was learned."""
    observed_at: str
    """UTC time, ISO 8601."""
    previous: list[JsonValue] = []
    """Earlier, different values of the same key, oldest first."""


def merge_facts(known: dict[str, Any], batches: Sequence[list[dict[str, Any]]]) -> dict[str, Any]:
    """Fold new facts into the known ones: the newer value wins, the older is remembered.

    A left fold over single facts, so it is the same however the batches are cut.
    """
    merged = dict(known or {})
    for fact in (fact for batch in batches for fact in batch):
        old = merged.get(fact["key"])
        if old is None or old["value"] == fact["value"]:
            merged[fact["key"]] = {
                **fact,
                **({"previous": old["previous"]} if old and "previous" in old else {}),
            }
        else:
            merged[fact["key"]] = {**fact, "previous": [*old.get("previous", []), old["value"]][-8:]}
    return merged
