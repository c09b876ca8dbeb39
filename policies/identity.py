"""What the version of a policy knows of a rule: whatever decides, so that another rule is another policy."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType, MethodType
from typing import Any

__all__ = ["identity", "rule_name"]

DEPTH = 12
"""How far code and settings are followed."""


def identity(rule: Callable[..., Any]) -> str:
    """A rule's own statement of its `meaning`; else its name, code and settings, the same in every process.

    Settings are its defaults, what it closes over, the fields of its object, the upper-case constants of its
    module that it names, and the functions there that it calls. Of other objects only the type is known.
    """
    meaning = getattr(rule, "meaning", None)
    if meaning is not None:
        return str(meaning)
    return json.dumps([rule_name(rule), _object(rule, _Way()) if _is_object(rule) else _told(rule, _Way())])


def rule_name(rule: Callable[..., Any]) -> str:
    """The name under which a failure of the rule is reported."""
    return getattr(rule, "__qualname__", type(rule).__qualname__)


@dataclass(frozen=True, slots=True)
class _Way:
    """How deep a value lies, and which functions were told before: a second time their name is enough."""

    depth: int = 0
    told: set[int] = field(default_factory=set)

    def deeper(self) -> _Way:
        return replace(self, depth=self.depth + 1)


def _told(value: Any, way: _Way) -> Any:
    """Anything as JSON data."""
    if value is None or isinstance(value, str | int | float | bytes | type):
        return repr(value)
    if way.depth <= DEPTH:
        for kind, tell in _BY_TYPE:
            if isinstance(value, kind):
                return [type(value).__qualname__, tell(value, way.deeper())]
    return [type(value).__qualname__, getattr(value, "__qualname__", "")]


def _is_object(rule: Any) -> bool:
    return not any(isinstance(rule, kind) for kind, _ in _BY_TYPE)


def _object(value: Any, way: _Way) -> Any:
    """An object by its fields and by the code that is called."""
    slots = {name: getattr(value, name, None) for name in getattr(type(value), "__slots__", ())}
    called = _told(type(value).__call__, way)
    return [type(value).__qualname__, called, _told({**slots, **getattr(value, "__dict__", {})}, way)]


def _code(code: CodeType, way: _Way) -> Any:
    return [code.co_code.hex(), code.co_names, _items(code.co_consts, way)]


def _function(function: FunctionType, way: _Way) -> Any:
    if id(function) in way.told:
        return function.__qualname__
    way.told.add(id(function))
    given = [function.__defaults__, function.__kwdefaults__, _closed_over(function), _named(function)]
    return [function.__qualname__, _code(function.__code__, way), _items(given, way)]


def _closed_over(function: FunctionType) -> list[Any]:
    kept = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # a cell that is still empty
            kept.append(cell.cell_contents)
    return kept


def _named(function: FunctionType) -> dict[str, Any]:
    """The constants and functions of its own module that a function speaks of."""
    known = {name: function.__globals__.get(name) for name in _names(function.__code__)}
    return {name: one for name, one in known.items() if name.isupper() or _is_beside(function, one)}


def _is_beside(function: FunctionType, other: Any) -> bool:
    return isinstance(other, FunctionType) and other.__module__ == function.__module__


def _names(code: CodeType) -> set[str]:
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _unordered(values: Any, way: _Way) -> Any:
    return sorted(json.dumps(_told(one, way)) for one in values)


def _table(table: Mapping[Any, Any], way: _Way) -> Any:
    """In the order of the keys, which is the same in every process: what is told first is told in full."""
    return [[repr(key), _told(table[key], way)] for key in sorted(table, key=repr)]


def _items(values: Any, way: _Way) -> Any:
    return [_told(one, way) for one in values]


_BY_TYPE: tuple[tuple[Any, Callable[[Any, _Way], Any]], ...] = (
    (FunctionType, _function),
    (CodeType, _code),
    (MethodType, lambda bound, way: [_told(bound.__func__, way), _object(bound.__self__, way)]),
    (functools.partial, lambda made, way: _items((made.func, made.args, made.keywords), way)),
    (re.Pattern, lambda pattern, way: [repr(pattern.pattern), pattern.flags]),
    (Mapping, _table),
    ((set, frozenset), _unordered),
    ((list, tuple), _items),
)
