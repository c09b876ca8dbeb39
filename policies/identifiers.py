"""The identifiers in a JSON value: what a next action would name."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Mapping
from itertools import islice
from typing import Any

from interlock.policies.record import JsonValue
from interlock.policies.text import visible

__all__ = ["identifiers_in", "is_identifier"]

MAX_ENTITIES = 12
"""Most objects whose identifiers are listed."""
MAX_LOOKED_AT = 2_000
"""Most parts of a value that are searched, nearest to the top first."""
MAX_ITEMS = 50
"""Most items of one list, and most keys of one object, that are searched."""
MAX_LENGTH = 80
"""Longest text that counts as an identifier, characters."""

_IDENTIFIER = re.compile(
    r"(?i:id|uuid|key|name|number|url|title|email|sha|slug)|.*(_id|_ID|-id|[a-z0-9]I[dD])"
)


def is_identifier(key: str) -> bool:
    """True when a key is called like an identifier: id, *_id, *Id, key, name, number, url, …"""
    return len(key) <= MAX_LENGTH and _IDENTIFIER.fullmatch(key) is not None


def identifiers_in(value: JsonValue, room: int) -> list[JsonValue]:
    """The identifiers of the objects in the value, one entry an object, nearest to the top first.

    Args:
        room: most bytes of JSON that they may take together.
    """
    found: dict[str, JsonValue] = {}
    waiting: deque[Any] = deque([value])
    for _ in range(MAX_LOOKED_AT):
        if not waiting or len(found) >= MAX_ENTITIES:
            break
        part = waiting.popleft()
        if isinstance(part, dict) and (named := _named(part)):
            text = json.dumps(named, ensure_ascii=False)
            if text not in found:
                room -= len(text.encode()) + 1
                if room < 0:
                    break
                found[text] = named
        waiting.extend(_below(part))
    return list(found.values())


def _named(part: Mapping[str, Any]) -> dict[str, JsonValue]:
    keys = (key for key in islice(sorted(part), MAX_ITEMS) if is_identifier(key))
    return {visible(key): _shown(part[key]) for key in keys if _is_short(part[key])}


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= MAX_LENGTH
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: Any) -> JsonValue:
    return visible(value) if isinstance(value, str) else int(value)


def _below(part: Any) -> list[Any]:
    if isinstance(part, dict):
        values = [part[key] for key in islice(sorted(part), MAX_ITEMS)]
    elif isinstance(part, list):
        values = part[:MAX_ITEMS]
    else:
        return []
    return [item for item in values if isinstance(item, dict | list)]
