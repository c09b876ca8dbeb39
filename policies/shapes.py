"""A JSON value in a bounded space: whole values as long as they fit, and what was left out is named.

What was left out stands outside of quotes, where no data can stand: `[1,2,… 37 more items]`,
`{"id":7,(+5 keys: a, b, …)}`, `"head"…(9000 characters)…"tail"`, `(binary, 4096 bytes)`. The work is bounded
by the space and not by the value: nothing is looked at for longer than it can be shown.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from interlock.policies.identifiers import is_identifier
from interlock.policies.record import JsonValue
from interlock.policies.text import visible

__all__ = ["compact", "cut_text", "headline", "shown", "size_of"]

MAX_KEYS = 200
"""Most keys of one object that are looked at."""
MAX_COLUMNS = 20
"""Most columns of a table."""
MAX_SHORT = 80
"""Values up to this size are shown before longer ones, and keys are cut to it; bytes."""
MIN_PART = 40
"""Smallest space for a part that has to be cut, bytes."""
SPREAD = 4
"""Long fields that share the space; what one of them does not need goes to the next."""
NOTE = 60
"""Most space that is kept for saying which keys were left out, bytes."""
_quote = json.encoder.encode_basestring


def shown(value: JsonValue, room: int) -> str:
    """The value in at most `room` bytes: compact JSON where it fits, else a part of it that says so.

    Args:
        room: at least MIN_PART; a smaller space may be exceeded.
    """
    if (size := binary_size(value)) is not None:
        return f"(binary, {size} bytes)"
    if (whole := compact(value, room)) is not None:
        return whole
    match value:
        case dict():
            return _object(value, room)
        case list():
            return _table(value, room) if _is_table(value) else _list(value, room)
        case _:
            return cut_text(str(value), room, quoted=True)


def headline(value: JsonValue, size: int) -> str:
    """What a value is that is shown in part: its kind, its counts, and its size in bytes."""
    match value:
        case str():
            what = f"text of {len(value)} characters, {value.count(chr(10)) + 1} lines"
        case list():
            what = f"{'table' if _is_table(value) else 'list'} of {len(value)} {_items(value)}"
        case dict():
            what = f"object of {len(value)} keys"
        case _:
            what = "value"
    return f"{what}, {size} bytes in all, shown in part:"


def compact(value: JsonValue, room: int) -> str | None:
    """Compact JSON with sorted keys and nothing invisible; None when it takes more than `room` bytes."""
    if _least(value, room) > room:
        return None
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=_kind)
    text = visible(text)
    return text if size_of(text) <= room else None


def cut_text(text: str, room: int, *, quoted: bool) -> str:
    """Head and tail of a long text with the length of the whole between them, in at most `room` bytes."""
    note = f"…({len(text)} characters)…"
    length = max(4, room - size_of(note) - 4 * quoted)
    while True:
        tail = length // 4
        made = note.join(_said(part, quoted) for part in (text[: length - tail], text[-tail:]))
        if size_of(made) <= room or length <= 4:
            return made
        length = max(4, min(length - 1, length * room // size_of(made)))


def binary_size(value: JsonValue) -> int | None:
    """Bytes of a binary value in its plain form; None when the value is none."""
    if isinstance(value, dict) and value.keys() == {"$bytes", "size"} and isinstance(value["size"], int):
        return value["size"]
    return None


def size_of(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "backslashreplace"))


def _object(value: Mapping[str, Any], room: int) -> str:
    """Identifiers first, then what is short, then parts of what is long."""
    names = sorted(value)[:MAX_KEYS]
    short = {name for name in names if _least(value[name], MAX_SHORT) <= MAX_SHORT}
    first = sorted(short, key=lambda name: (not is_identifier(name), name))
    rest = [name for name in names if name not in short]
    note = min(NOTE, max(24, room // 4))
    room -= note + 2
    kept = _fields(value, first, room * 2 // 3 if rest else room, 1)
    kept |= _fields(value, rest, room - sum(size_of(part) + 1 for part in kept.values()), SPREAD)
    parts = list(kept.values())
    if len(kept) < len(value):
        left = (name for name in sorted(value) if name not in kept)
        parts.append(_left_out(len(value) - len(kept), left, note))
    return "{" + ",".join(parts) + "}"


def _fields(value: Mapping[str, Any], names: Sequence[str], room: int, spread: int) -> dict[str, str]:
    kept: dict[str, str] = {}
    for place, name in enumerate(names):
        label = f"{_name(name)}:"
        share = room // min(len(names) - place, spread) - size_of(label) - 1
        part = label + shown(value[name], max(MIN_PART, share))
        if size_of(part) + 1 > room:
            break
        kept[name] = part
        room -= size_of(part) + 1
    return kept


def _list(items: Sequence[JsonValue], room: int) -> str:
    texts: list[str] = []
    room -= len(f"[… {len(items)} more items]") + 2
    for place, item in enumerate(items):
        share = room if place == len(items) - 1 else room // 2
        if texts and share < 2 * MIN_PART and compact(item, room) is None:
            break  # the rest of the space would only hold a stub
        text = shown(item, max(MIN_PART, share))
        if size_of(text) + 1 > room:
            break
        texts.append(text)
        room -= size_of(text) + 1
    return _closed(texts, len(items) - len(texts), "items")


def _table(rows: Sequence[Any], room: int) -> str:
    """The columns once, then the first rows as lists of their values."""
    columns = sorted(rows[0], key=lambda name: (not is_identifier(name), name))
    head = f"({len(rows)} rows of {','.join(map(_name, columns))})"
    room -= size_of(head) + len(f"[… {len(rows)} more rows]") + 3
    texts: list[str] = []
    for row in rows:
        if not isinstance(row, dict) or row.keys() != rows[0].keys():
            break
        text = "[" + ",".join(shown(row[name], MAX_SHORT) for name in columns) + "]"
        room -= size_of(text) + 1
        if room < 0:
            break
        texts.append(text)
    return _closed([head, *texts], len(rows) - len(texts), "rows") if texts else _list(rows, room)


def _is_table(items: Sequence[JsonValue]) -> bool:
    """True when the first items are flat objects with the same keys. Later ones are not looked at."""
    first = items[0] if len(items) > 1 else None
    if not isinstance(first, dict) or not 0 < len(first) <= MAX_COLUMNS:
        return False
    return all(isinstance(row, dict) and row.keys() == first.keys() and _is_flat(row) for row in items[:20])


def _is_flat(row: Mapping[str, Any]) -> bool:
    return not any(isinstance(cell, dict | list) for cell in row.values())


def _items(items: Sequence[JsonValue]) -> str:
    return "rows" if _is_table(items) else "items"


def _closed(texts: Sequence[str], left: int, what: str) -> str:
    return "[" + ",".join([*texts, *([f"… {left} more {what}"] if left else [])]) + "]"


def _left_out(count: int, names: Iterable[str], room: int) -> str:
    """How many keys were left out, and as many of their names as there is space for."""
    said = ""
    for name in names:
        more = f"{said}, {visible(name)}" if said else visible(name)
        if size_of(more) > room - 24:
            return f"(+{count} keys: {said}, …)" if said else f"(+{count} keys)"
        said = more
    return f"(+{count} keys: {said})"


def _name(name: str) -> str:
    return _said(name, True) if len(name) <= MAX_SHORT else cut_text(name, MAX_SHORT, quoted=True)


def _said(text: str, quoted: bool) -> str:
    return visible(_quote(text) if quoted else text)


def _least(value: Any, enough: int) -> int:
    """At least so many bytes of compact JSON; stops counting once they are more than `enough`."""
    if isinstance(value, str):
        return len(value) + 2
    if not isinstance(value, dict | list):
        return len(str(value))
    total = 1
    for part in value.items() if isinstance(value, dict) else value:
        if isinstance(value, dict):
            total += len(part[0]) + 4 + _least(part[1], enough - total)
        else:
            total += 1 + _least(part, enough - total)
        if total > enough:
            break
    return max(2, total)


def _kind(value: object) -> str:
    return type(value).__name__
