"""Whatever a tool returns, as bounded plain JSON data: deterministic, never an exception for its sake."""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel, SecretBytes, SecretStr

from interlock.policies.record import JsonValue

__all__ = ["to_plain"]

MAX_DEPTH = 64
"""Deepest nesting that is kept."""
MAX_ITEMS = 1_000_000
"""Most items of one collection, and of a generator."""
MAX_TEXT = 64_000_000
"""Longest text that is kept, characters."""
MAX_BYTES = 65_536
"""Longest binary value that is kept, bytes; a longer one is described by its size."""
INT64 = range(-(2**63), 2**63)


def to_plain(value: Any) -> JsonValue:
    """The value as plain JSON data.

    Sets are sorted; integers beyond 64 bits and numbers that are not finite become `{"$int": "…"}`
    and `{"$float": "…"}`; binary data `{"$bytes": …}`; an object without a useful form its class's name. Cycles, and
    what lies deeper than MAX_DEPTH, are named.
    """
    return _plain(value, 0, frozenset())


def _plain(value: Any, depth: int, above: frozenset[int]) -> JsonValue:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth, above)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value) if value in INT64 else {"$int": str(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if depth > MAX_DEPTH:
        return {"$cut": f"nested deeper than {MAX_DEPTH} levels"}
    if id(value) in above:
        return {"$cycle": type(value).__name__}
    return _composite(value, depth + 1, above | {id(value)})


def _composite(value: Any, depth: int, above: frozenset[int]) -> JsonValue:
    if isinstance(value, Mapping):
        return _mapping(value, depth, above)
    if isinstance(value, set | frozenset):
        items = [_plain(item, depth, above) for item in value]
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, list | tuple):
        return _items(value, depth, above)
    for kind, convert in _CONVERTERS:
        if isinstance(value, kind):
            return _safely(lambda convert=convert: _plain(convert(value), depth, above), value)
    return _safely(lambda: _object(value, depth, above), value)


def _object(value: Any, depth: int, above: frozenset[int]) -> JsonValue:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        named = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _mapping(named, depth, above)
    if callable(getattr(value, "item", None)) and getattr(value, "shape", None) == ():  # a numpy scalar
        return _plain(value.item(), depth, above)
    if callable(getattr(value, "tolist", None)):
        return _plain(value.tolist(), depth, above)
    content = getattr(value, "page_content", None) or getattr(value, "content", None)
    if content is not None and not callable(content):
        return _plain(content, depth, above)
    if isinstance(value, Iterable) and not isinstance(value, type):
        return _items(value, depth, above)
    return {"$object": type(value).__qualname__}


def _mapping(value: Mapping[Any, Any], depth: int, above: frozenset[int]) -> JsonValue:
    plain: dict[str, JsonValue] = {}
    for key, item in islice(value.items(), MAX_ITEMS):
        named = _text(key) if isinstance(key, str) else json.dumps(_plain(key, depth, above), sort_keys=True)
        plain[named if named not in plain else f"{named} ({len(plain)})"] = _plain(item, depth, above)
    return plain


def _items(value: Iterable[Any], depth: int, above: frozenset[int]) -> JsonValue:
    items = [_plain(item, depth, above) for item in islice(iter(value), MAX_ITEMS + 1)]
    if len(items) > MAX_ITEMS:
        items[MAX_ITEMS:] = [{"$cut": f"more than {MAX_ITEMS} items"}]
    return items


def _text(value: str) -> str:
    """Lone surrogates have no place in UTF-8: they are written out."""
    kept = value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]} … [cut: {len(value)} characters in all]"
    return kept.encode("utf-8", "backslashreplace").decode("utf-8")


def _binary(value: bytes | bytearray | memoryview) -> Any:
    data = bytes(value)
    if len(data) > MAX_BYTES:
        return {"$bytes": None, "size": len(data)}
    return {"$bytes": base64.b64encode(data).decode("ascii"), "size": len(data)}


def _safely(convert: Callable[[], JsonValue], value: Any) -> JsonValue:
    """A property or an iterator that raises is described, not passed on; the graph's own signals are."""
    try:
        return convert()
    except Exception as error:
        from interlock.nodes.failures import is_control_flow

        if is_control_flow(error):
            raise
        return {"$object": type(value).__qualname__, "error": f"{type(error).__name__}: {error}"[:200]}


_CONVERTERS: tuple[tuple[type[Any] | tuple[type[Any], ...], Callable[[Any], Any]], ...] = (
    ((SecretStr, SecretBytes), lambda value: "[redacted]"),
    (BaseModel, lambda value: value.model_dump(mode="python")),
    ((bytes, bytearray, memoryview), _binary),
    (Decimal, str),
    ((datetime, date, time), lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
    ((UUID, PurePath), str),
    (BaseException, lambda value: f"{type(value).__name__}: {value}"),
)
