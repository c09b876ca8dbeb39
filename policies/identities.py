"""Identifiers of what was made, as results and answers name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlock.policies.redaction import REDACTED

__all__ = ["identifiers", "same"]


def identifiers(value: Any) -> list[str | int | float]:
    """The identifiers that a value holds: a text, a number, or a list of such; anything else is none."""
    items = value if isinstance(value, list) else [value]
    return [one for one in items if _is_identifier(one)]


def same(identifier: str | int | float, known: Iterable[str | int | float]) -> bool:
    """True when it is among the known ones. 7 and "7" are the same: models write either."""
    return any(str(identifier) == str(one) for one in known)


def _is_identifier(value: Any) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and value != REDACTED
    return isinstance(value, int | float) and not isinstance(value, bool)
