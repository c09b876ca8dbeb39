"""JMESPath over results: what a contract asks of a value. A broken expression is a note, no exception."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from interlock.policies.canonical import ArgumentsError, canonical_json
from interlock.policies.record import JsonValue
from interlock.policies.shapes import shown, size_of

__all__ = ["MAX_FACT", "Found", "pick", "pick_all", "rendered"]

MAX_FACT = 4_000
"""Largest value that a contract may pick as one fact, bytes of its JSON."""
_PLACE = re.compile(r"\{([^{}]+)\}")


@dataclass(frozen=True, slots=True)
class Found:
    """What an expression found, and what is wrong with it."""

    value: Any = None
    """None where there is nothing."""
    note: str = ""
    """Why there is nothing although there should be; empty when nothing is wrong."""


def pick(expression: str, raw: JsonValue) -> Found:
    """The value that a JMESPath expression finds."""
    try:
        found = jmespath.search(expression, raw)
        _refuse_foreign(found)
        return Found(found)
    except (JMESPathError, TypeError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        return Found(note=f"the contract's expression {expression!r} is broken: {reason}")


def pick_all(expressions: Mapping[str, str], raw: JsonValue) -> dict[str, Found]:
    """What each of the expressions finds, as data that may become a fact: finite, at most MAX_FACT bytes."""
    return {key: _bounded(pick(expression, raw), expression) for key, expression in expressions.items()}


def rendered(summary: str, raw: JsonValue, room: int) -> Found:
    """A summary by the contract's own wish: a JMESPath expression, or a text with expressions in braces.

    What is a valid expression is taken as one, so a text needs a space or a punctuation mark outside of its
    braces, which any sentence has. A value is shown as compact JSON, a string without its quotes.
    """
    try:
        jmespath.compile(summary)
    except JMESPathError:
        if not _PLACE.search(summary):
            return pick(summary, raw)
        return _filled(summary, raw, room)
    found = pick(summary, raw)
    return found if found.value is None else Found(_text(found.value, room), found.note)


def _filled(template: str, raw: JsonValue, room: int) -> Found:
    notes: list[str] = []
    places = max(1, len(_PLACE.findall(template)))

    def fill(place: re.Match[str]) -> str:
        found = pick(place.group(1), raw)
        if found.note:
            notes.append(found.note)
        return "(nothing)" if found.value is None else _text(found.value, room // places)

    return Found(_PLACE.sub(fill, template), "; ".join(notes))


def _text(value: Any, room: int) -> str:
    if isinstance(value, str) and size_of(value) <= room:
        return value
    return shown(value, room)


def _bounded(found: Found, expression: str) -> Found:
    if found.value is None:
        return found
    try:
        size = size_of(canonical_json(found.value))
    except ArgumentsError as error:
        return Found(note=f"what {expression!r} finds is no fact: {error}")
    if size > MAX_FACT:
        return Found(
            note=f"what {expression!r} finds is no fact: {size} bytes, at most {MAX_FACT}; pick less"
        )
    return found


def _refuse_foreign(value: Any) -> None:
    """Raises ValueError for what JSON does not have: `to_number('1e999')` and `&a` find such things."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(one.values())
        elif isinstance(one, list):
            pending.extend(one)
        elif isinstance(one, float) and not math.isfinite(one):
            raise ValueError("it finds a number that is not finite")
        elif not isinstance(one, str | int | float | None):
            raise ValueError("it finds an expression, which is no fact")
