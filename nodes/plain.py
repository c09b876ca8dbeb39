"""Whatever a tool returns, as bounded plain JSON data: deterministic, and no exception for a value's sake."""

from __future__ import annotations

import enum
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langgraph.errors import GraphBubbleUp

from interlock.nodes.foreign import opened
from interlock.policies.record import JsonValue

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_STREAMED", "to_plain"]

MAX_DEPTH = 64
"""Deepest nesting that is kept."""
MAX_BYTES = 64_000_000
"""Most data that is kept of one value, about this many bytes of its JSON."""
MAX_STREAMED = 100_000
"""Most items that are taken from a generator or another iterator."""
ITEM_BYTES = 8
"""What a number or the frame of a container counts for."""
_INT64 = 2**63
_CUT = "$cut"


def to_plain(value: Any, *, max_bytes: int = MAX_BYTES) -> JsonValue:
    """The value as plain JSON data.

    What JSON has no word for becomes an object with a `$` key: `{"$int": "…"}` beyond 64 bits,
    `{"$float": "nan"}`, `{"$bytes": base64 or null, "size": n}`, `{"$object": class}`, `{"$cycle": class}`,
    and `{"$cut": why}` in place of what lies too deep or beyond the bounds. Sets are sorted, lone surrogates
    written out, secrets hidden. A property that raises becomes `{"$object": class, "error": text}`.

    Args:
        max_bytes: most data that is kept.
    """
    return _Reading(max_bytes).plain(value, 0, ())


class _Reading:
    """One value being read, and how many bytes may still be kept of it."""

    def __init__(self, left: int) -> None:
        self.left = left

    def plain(self, value: Any, depth: int, above: tuple[int, ...]) -> JsonValue:
        kind = type(value)
        if kind is str:
            return self.text(value)
        self.left -= ITEM_BYTES
        if value is None or kind is bool or (kind is int and -_INT64 <= value < _INT64):
            return value  # type: ignore[no-any-return]
        if depth > MAX_DEPTH:
            return {_CUT: f"nested deeper than {MAX_DEPTH} levels"}
        if id(value) in above:
            return {"$cycle": kind.__qualname__}
        try:
            return self.other(value, depth, above)
        except GraphBubbleUp:
            raise
        except Exception as error:  # a property, an iterator or a __str__ of the tool's own classes
            return {"$object": kind.__qualname__, "error": self.text(_message(error))}

    def other(self, value: Any, depth: int, above: tuple[int, ...]) -> JsonValue:
        inside = (depth + 1, (*above, id(value)))
        if isinstance(value, dict):  # before Mapping, which takes ten times as long to check
            return self.mapping(value.items(), *inside)
        if isinstance(value, str | int | float) and not isinstance(value, enum.Enum):
            return self.scalar(value)
        if isinstance(value, Mapping):
            return self.mapping(value.items(), *inside)
        if isinstance(value, tuple) and (names := getattr(value, "_fields", ())):  # a NamedTuple
            return self.mapping(zip(names, value, strict=False), *inside)
        if isinstance(value, set | frozenset):
            return self.unordered(value, *inside)
        if isinstance(value, list | tuple):
            return self.items(value, *inside)
        further = opened(value)
        return self.items(further, *inside) if isinstance(further, Iterator) else self.plain(further, *inside)

    def scalar(self, value: str | int | float) -> JsonValue:
        """Text and numbers, subclasses included: what they override must not count."""
        if isinstance(value, str):
            return self.text(str.__str__(value))
        if isinstance(value, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else {"$float": repr(number)}
        whole = int.__index__(value)
        if -_INT64 <= whole < _INT64:
            return whole
        # Python refuses decimal text beyond some thousand digits; hexadecimal text has no such limit.
        digits = str(whole) if whole.bit_length() <= 8_000 else hex(whole)
        return {"$int": self.text(digits)}

    def text(self, value: str) -> str:
        """The text in what room is left. Lone surrogates have no place in UTF-8 and are written out."""
        if value.isascii() and len(value) <= self.left:
            self.left -= len(value) + 2
            return value
        data = value.encode("utf-8", "backslashreplace")
        room = max(0, self.left)
        self.left -= len(data) + 2
        if len(data) <= room:
            return value if len(data) == len(value) else data.decode("utf-8")
        return f"{data[:room].decode('utf-8', 'ignore')}… [cut: {len(data)} bytes in all]"

    def mapping(self, pairs: Iterable[tuple[Any, Any]], depth: int, above: tuple[int, ...]) -> JsonValue:
        plain: dict[str, JsonValue] = {}
        for key, item in (waiting := iter(pairs)):
            if self.left <= 0:
                return {**plain, _free(_CUT, plain): _and_more(1 + sum(1 for _ in waiting), "keys")}
            named = self.text(key) if type(key) is str else self.key(key, depth, above)
            plain[_free(named, plain) if named in plain else named] = self.plain(item, depth, above)
        return plain

    def key(self, key: Any, depth: int, above: tuple[int, ...]) -> str:
        plain = self.plain(key, depth, above)
        return plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, ensure_ascii=False)

    def items(self, items: Iterable[Any], depth: int, above: tuple[int, ...]) -> list[JsonValue]:
        plain: list[JsonValue] = []
        for item in items:
            if self.left <= 0 or (isinstance(items, Iterator) and len(plain) >= MAX_STREAMED):
                more = f"more than {len(plain)} items"
                if isinstance(items, list | tuple):
                    more = _and_more(len(items) - len(plain), "items")
                return [*plain, {_CUT: more}]
            plain.append(self.plain(item, depth, above))
        return plain

    def unordered(self, items: set[Any] | frozenset[Any], depth: int, above: tuple[int, ...]) -> JsonValue:
        """Sorted; or not at all where it does not fit, because which items came first is chance."""
        plain = [self.plain(item, depth, above) for item in items if self.left > 0]
        if self.left <= 0:
            return {_CUT: f"a set of {len(items)} items"}
        return sorted(plain, key=lambda item: json.dumps(item, sort_keys=True))


def _free(key: str, taken: Mapping[str, Any]) -> str:
    """The key, numbered where another key has the same text (1 and "1")."""
    if key not in taken:
        return key
    number = 2
    while f"{key} ({number})" in taken:
        number += 1
    return f"{key} ({number})"


def _and_more(count: int, what: str) -> str:
    return f"{count} more {what}"


def _message(error: Exception) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:200]
    except Exception:  # a broken __str__ of a foreign exception; nothing of the graph runs in it
        return type(error).__name__
