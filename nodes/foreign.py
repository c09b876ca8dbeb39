"""Objects that are not JSON, opened by one level: a model becomes its fields, a date its text.

Nothing here is bounded and anything may raise: `plain` does the bounding and the catching.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import PurePath
from typing import Any
from uuid import UUID

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, SecretBytes, SecretStr

__all__ = ["MAX_BINARY", "opened"]

MAX_BINARY = 65_536
"""Longest binary value that is kept, bytes; of a longer one only the size is."""
MAX_REPR = 1_000
"""Longest text that stands for an object, characters."""
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


def opened(value: Any) -> Any:
    """The object by one level: JSON data, a dict or list of further objects, or an iterable."""
    for kind, convert in _BY_TYPE:
        if isinstance(value, kind):
            return convert(value)
    if isinstance(value, type):
        return {"$object": f"class {value.__qualname__}"}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return _by_behaviour(value)


def _by_behaviour(value: Any) -> Any:
    """Objects of libraries that are not imported here: numpy's scalars and arrays, rows of a database."""
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        return value.item()
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    if callable(getattr(value, "keys", None)) and hasattr(value, "__getitem__"):
        return {key: value[key] for key in value.keys()}  # noqa: SIM118 (sqlite3.Row iterates over its values)
    if hasattr(value, "page_content"):
        return {"page_content": value.page_content, "metadata": getattr(value, "metadata", None)}
    if isinstance(value, Iterable) and not _has(value, "__str__"):
        return iter(value)
    return _named(value)


def _named(value: Any) -> dict[str, Any]:
    """The class's name, and the object's own text where that says more. Never an address in memory."""
    named = {"$object": type(value).__qualname__}
    if not _has(value, "__str__") and not _has(value, "__repr__"):
        return named
    text = str(value)
    return named if _ADDRESS.search(text) else {**named, "text": text[:MAX_REPR]}


def _has(value: Any, method: str) -> bool:
    """True when the class has a method of its own, not the one of every object."""
    return getattr(type(value), method) is not getattr(object, method)


def _binary(value: bytes | bytearray | memoryview) -> dict[str, Any]:
    data = bytes(value)
    kept = base64.b64encode(data).decode("ascii") if len(data) <= MAX_BINARY else None
    return {"$bytes": kept, "size": len(data)}


def _message(value: BaseMessage) -> dict[str, Any]:
    """What a message says; its ids and token counts mean nothing to the loop."""
    extra = {name: getattr(value, name, None) for name in ("artifact", "status")}
    said = {name: item for name, item in extra.items() if item is not None and item != "success"}
    return {"content": value.content, **said}


def _model(value: BaseModel) -> dict[str, Any]:
    """The fields as they are, a field of a further model included."""
    return {**dict(value), **(value.__pydantic_extra__ or {})}


_BY_TYPE: tuple[tuple[type[Any] | tuple[type[Any], ...], Callable[[Any], Any]], ...] = (
    (enum.Enum, lambda value: value.value),
    ((SecretStr, SecretBytes), lambda value: "[secret]"),
    (BaseMessage, _message),
    (BaseModel, _model),
    ((bytes, bytearray, memoryview), _binary),
    (Decimal, str),
    ((datetime, date, time), lambda value: value.isoformat()),
    (timedelta, lambda value: value.total_seconds()),
    ((UUID, PurePath), str),
    (BaseException, lambda value: f"{type(value).__name__}: {value}"),
)
