"""A JSON value in a bounded space: whole values as long as they fit, and what was left out is named."""

from __future__ import annotations

import json
from typing import Any

from interlock.policies.record import JsonValue

__all__ = ["entities_of", "shortened"]

MAX_ENTITIES = 12
"""Most identifiers that an envelope lists."""
MAX_KEYS = 24
"""Most keys of one object that are shown when it has to be shortened."""
_NAMES = ("id", "key", "name", "number", "url", "title", "status")


def shortened(value: JsonValue, limit: int) -> tuple[str, bool]:
    """The value as text of at most about `limit` characters, and whether that is all of it.

    Text stays text; everything else is compact JSON. Two values that are equal give the same text.
    """
    if isinstance(value, str):
        return _cut_text(value, limit)
    if _size(value, limit) <= limit:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")), True
    for share in (limit // 2, limit // 4, limit // 8, 24):
        text = json.dumps(_fitted(value, share, 0), ensure_ascii=False, separators=(",", ":"))
        if len(text) <= limit:
            return text, False
    return _described(value), False


def entities_of(value: JsonValue) -> list[JsonValue]:
    """Identifiers found in the value, breadth first and bounded: `{"id": …, "name": …}` and the like."""
    found: list[JsonValue] = []
    level: list[Any] = [value]
    for _ in range(6):
        below: list[Any] = []
        for item in level[:200]:
            if isinstance(item, dict):
                if named := _named(item):
                    found.append(named)
                below += item.values()
            elif isinstance(item, list):
                below += item[:50]
            if len(found) >= MAX_ENTITIES:
                return found
        level = [item for item in below if isinstance(item, dict | list)]
    return found


def _named(item: dict[str, Any]) -> dict[str, JsonValue]:
    return {
        key: value
        for key, value in item.items()
        if (key.lower() in _NAMES or key.lower().endswith("_id"))
        and isinstance(value, str | int)
        and not isinstance(value, bool)
        and len(str(value)) <= 80
    }


def _fitted(value: Any, share: int, depth: int) -> JsonValue:
    """The value with about `share` characters for each part; what is left out is counted where it was."""
    if isinstance(value, str):
        return _cut_text(value, max(16, share))[0]
    if isinstance(value, list):
        return _fitted_list(value, share, depth)
    if isinstance(value, dict):
        return _fitted_object(value, share, depth)
    return value


def _fitted_list(items: list[Any], share: int, depth: int) -> JsonValue:
    kept: list[JsonValue] = []
    room = share
    for item in items:
        fitted = _fitted(item, share // 2, depth + 1) if depth < 4 else _described(item)
        room -= _size(fitted, room) + 1
        if room < 0 and kept:
            break
        kept.append(fitted)
        if room < 0:
            break
    if len(kept) < len(items):
        kept.append(f"… {len(items) - len(kept)} more items of {len(items)}")
    return kept


def _fitted_object(item: dict[str, Any], share: int, depth: int) -> JsonValue:
    if depth >= 4:
        return _described(item)
    kept: dict[str, JsonValue] = {}
    room = share
    order = sorted(item, key=lambda key: isinstance(item[key], dict | list))
    for key in order[:MAX_KEYS]:
        part = max(16, share // max(1, min(len(item), MAX_KEYS)))
        fitted = _fitted(item[key], part, depth + 1)
        room -= _size(fitted, room) + len(key) + 4
        if room < 0 and kept:
            break
        kept[key] = fitted
    if left := [key for key in item if key not in kept]:
        kept["…"] = f"{len(left)} more keys: {', '.join(left[:8])}"[: max(40, share)]
    return kept


def _described(value: Any) -> str:
    if isinstance(value, dict):
        return f"object with {len(value)} keys: {', '.join(list(value)[:5])}"[:120]
    if isinstance(value, list):
        return f"list of {len(value)} items"
    return _cut_text(str(value), 60)[0]


def _cut_text(text: str, limit: int) -> tuple[str, bool]:
    """Head and tail of a long text, with the length of the whole between them."""
    if len(text) <= limit:
        return text, True
    note = f" … [{len(text)} characters in all] … "
    room = max(8, limit - len(note))
    return text[: room - room // 4] + note + text[len(text) - room // 4 :], False


def _size(value: Any, enough: int) -> int:
    """Length of the value's compact JSON; stops counting once it is more than `enough`."""
    if isinstance(value, str):
        return len(value) + 2
    if isinstance(value, dict | list):
        total = 2
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in parts:
            total += (len(str(key)) + 4 if isinstance(value, dict) else 1) + _size(item, enough - total)
            if total > enough:
                break
        return total
    return len(str(value))
