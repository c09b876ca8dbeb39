"""Where did each value of an action come from: goal, user, trusted source, outside content, nowhere?

The law: a value counts as trusted only when it was found, as a whole, in something that outside content could
not write. Whatever cannot be found counts as made up by the model, which asks like outside content does. So a
mistake in matching leads to a question too many, never to one too few.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.policies.matching import content_index, made_of, normal, occurs, share_from
from interlock.policies.templates import fillings

__all__ = [
    "Content",
    "Origin",
    "Sources",
    "argument_of",
    "is_key",
    "is_trusted",
    "leaves",
    "trace_arguments",
    "trusted_facts",
    "unknown_values",
]

Origin = str
"""`goal`; `user`: a person's answer; `default`: the tool's own default; `fact:KEY` and `tool:NAME`: a trusted
source; `outside:TOOL#STEP`: outside content; `model`: found nowhere, so the model made it up."""

SIGNIFICANT = 0.3
"""Share of a long text that has to stem from a content for the text to count as coming from it."""
MAX_PARTS = 64
"""Parts that one text is looked at as: an enumeration in a string, the addresses and codes in a long text."""

_ENUMERATION = re.compile(r"[,;\n]")
_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::00)?)(?::00|Z|\+00:00)?")
_TELLING = re.compile(r"[^\s,;|<>()\[\]{}\"']{0,200}[@\d/][^\s,;|<>()\[\]{}\"']{0,200}")
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w-]*")


@dataclass(frozen=True, slots=True)
class Content:
    """Something that was read, in searchable form."""

    origin: Origin
    index: str
    """`content_index` of the raw value; may be kept by content hash."""
    echoes: tuple[str, ...] = ()
    """Values of the call's own arguments that were not trusted (`unknown_values`). A trusted tool that says
    "nothing found for X" does not vouch for X."""

    @classmethod
    def of(cls, origin: Origin, value: Any, echoes: Iterable[str] = ()) -> Content:
        """The content with the index of a raw value, plain JSON."""
        return cls(origin, content_index(value), tuple(echoes))

    def vouches(self, value: str | int | float) -> bool:
        """True when the value stands in here and is not merely what the call was given, or made of it."""
        if not occurs(value, self.index):
            return False
        return not any(_repeats(value, echo) for echo in self.echoes) and not made_of(value, self.echoes)


@dataclass(frozen=True, slots=True)
class Sources:
    """What a run has read so far, as plain data, by how far it can be trusted."""

    goal: str
    """The goal in the user's words. Never a goal that a model wrote, as for a delegate."""
    user: tuple[str, ...] = ()
    """Texts that people answered. An approval is no such text: it speaks for one action only."""
    trusted: tuple[Content, ...] = ()
    """Facts that are neither tainted nor inferred (`fact:KEY`), results of trusted tools (`tool:NAME`)."""
    outside: tuple[Content, ...] = ()
    """Raw results of untrusted tools (`outside:TOOL#STEP`), as they were, not as they were summarized."""
    defaults: Mapping[str, Any] | None = None
    """Defaults of the tool's arguments, by name."""
    declared: frozenset[str] = frozenset()
    """Names of fields that the tool's schema declares, at any depth. Other keys are data."""


def trusted_facts(
    facts: Mapping[str, Mapping[str, Any]], echoes: Mapping[int, tuple[str, ...]] | None = None
) -> tuple[Content, ...]:
    """The facts (dumped, by key) that may vouch for a value: neither tainted nor inferred by the model.

    Args:
        echoes: by step, what the result may merely repeat: a fact of that step vouches for none of it.
    """
    repeated = echoes or {}
    return tuple(
        Content.of(f"fact:{key}", fact.get("value"), repeated.get(int(fact.get("step", 0)), ()))
        for key, fact in facts.items()
        if not fact.get("tainted") and fact.get("trust") in ("observed", "user")
    )


def is_trusted(origin: Origin) -> bool:
    """True when the value comes from the goal, the user, the tool's defaults or a trusted source."""
    return origin in ("goal", "user", "default") or origin.startswith(("fact:", "tool:"))


def trace_arguments(arguments: Mapping[str, Any], sources: Sources) -> dict[str, Origin]:
    """The origin of every value of an action's arguments, by path (`to`, `cc[0]`, `files[1].id`).

    The first source that holds the value as a whole wins: default, goal, user, trusted, outside. So a value
    in the goal and outside counts as the goal's. Texts, numbers and items of lists are traced one by one, and
    so are keys of nested objects that the tool does not declare. Nulls count as not given. A boolean has no
    origin beside the tool's default. A text that is an enumeration ("a, b") or a moment ("2024-05-15 10:00")
    has the worst origin of its parts. A text that follows a template of the person's ('Dinner at {place}')
    is the goal's when all that fills it is trusted. A longer text counts as outside when it holds an
    address, a code or a number from there, or when a significant part of it stems from there.
    """
    goal = Content.of("goal", sources.goal)
    known = [goal, *(Content.of("user", text) for text in sources.user), *sources.trusted]
    defaults = sources.defaults or {}
    kept = {name for name, value in arguments.items() if name in defaults and _same(value, defaults[name])}
    return {
        path: "default" if argument_of(path) in kept else _trace(value, known, sources.outside)
        for path, value in leaves(arguments, sources.declared)
    }


def leaves(arguments: Mapping[str, Any], declared: frozenset[str] = frozenset()) -> Iterator[tuple[str, Any]]:
    """Every value of the arguments with its path: texts, numbers, booleans, empty lists and objects, keys."""
    for name, value in arguments.items():
        yield from _leaves(_quoted(name), value, declared)


def is_key(path: str) -> bool:
    """True for the path of a key of a nested object, rather than of a value."""
    return path.endswith("}")


def argument_of(path: str) -> str:
    """Name of the argument that a path leads into."""
    if path.startswith("["):
        name, _ = json.JSONDecoder().raw_decode(path, 1)
        return str(name)
    return re.split(r"[.\[{]", path, maxsplit=1)[0]


def unknown_values(arguments: Mapping[str, Any], origins: Mapping[str, Origin]) -> tuple[str, ...]:
    """The values that nothing trusted vouches for: what the result of this call may merely repeat."""
    return tuple(
        str(value)
        for path, value in leaves(arguments)
        if not isinstance(value, bool | dict | list) and not is_trusted(origins.get(path, "model"))
    )


def _leaves(path: str, value: Any, declared: frozenset[str]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            if key not in declared:
                yield f"{path}{{{json.dumps(key, ensure_ascii=False)}}}", key
            step = f".{key}" if _PLAIN_NAME.fullmatch(key) else _quoted(key)
            yield from _leaves(f"{path}{step}", item, declared)
    elif isinstance(value, list) and value:
        for number, item in enumerate(value):
            yield from _leaves(f"{path}[{number}]", item, declared)
    elif value is not None:
        yield path, value


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"[{json.dumps(name, ensure_ascii=False)}]"


def _trace(value: Any, known: list[Content], outside: tuple[Content, ...]) -> Origin:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return "model"
    origin = _found(value, known) or _found(value, outside)
    if origin is not None or not isinstance(value, str):
        return origin or "model"
    if _follows_a_template(value, known):
        return "goal"
    parts = [_found(part, known) or _found(part, outside) or "model" for part in _parts(value)]
    worst = _worst(parts) if parts else "model"
    return worst if worst != "model" else _carried(value, known, outside)


def _follows_a_template(text: str, known: list[Content]) -> bool:
    """True when a person gave a template for this text and everything that fills it is trusted."""
    said = [content.index for content in known if content.origin in ("goal", "user")]
    return any(
        all(_found(part, known) for part in filling) for index in said for filling in fillings(text, index)
    )


def _parts(text: str) -> list[str]:
    """The parts of a moment or of an enumeration; none for any other text."""
    if moment := _MOMENT.fullmatch(text.strip()):
        return [moment[1], moment[2]]
    parts = [part.strip() for part in _ENUMERATION.split(text) if part.strip()]
    listed = 2 <= len(parts) <= MAX_PARTS and all(len(part) <= 80 for part in parts)
    return parts if listed else []


def _worst(origins: list[Origin]) -> Origin:
    """Outside content before what the model made up, and that before anything trusted."""
    bad = [origin for origin in origins if not is_trusted(origin)]
    return next((origin for origin in bad if origin != "model"), bad[0] if bad else origins[0])


def _carried(text: str, known: list[Content], outside: tuple[Content, ...]) -> Origin:
    """A longer text in the model's own words: outside when it carries something telling from there."""
    telling = [match[0].rstrip(".:!?") for match in _TELLING.finditer(text)][:MAX_PARTS]
    for part in telling:
        if (origin := _found(part, outside)) and not _found(part, known):
            return origin
    for content in outside:
        if share_from(text, content.index) >= SIGNIFICANT:
            return content.origin
    return "model"


def _found(value: str | int | float, contents: Iterable[Content]) -> Origin | None:
    return next((content.origin for content in contents if content.vouches(value)), None)


def _repeats(value: str | int | float, echo: str) -> bool:
    """True when the value is in the echo, even as a part of a longer word."""
    return occurs(value, content_index(echo)) or normal(str(value)) in normal(echo)


def _same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)
