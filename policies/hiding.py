"""Secrets by their type, and secrets repeated elsewhere: by a tool, by a rule, in what does not fit."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from interlock.policies.redaction import REDACTED

__all__ = ["secret_fields", "secret_values", "without", "without_typed"]

SHORT = 4
"""Shorter secrets are words of their own or nothing: a PIN of `1` is not every 1."""
MAX_NESTING = 64
"""Deepest schema that is followed; one that refers to itself ends here."""


def without_typed(value: Any, schema: Any, root: Mapping[str, Any], depth: int = 0) -> Any:
    """Plain JSON without what its schema marks as a password (`format`), at any depth.

    Args:
        schema: JSON schema of the value.
        root: the schema that references point into.
    """
    schema = _resolved(schema, root)
    if depth > MAX_NESTING or value is None or not schema:
        return value
    if schema.get("format") == "password":
        return REDACTED
    for way in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(way, ()):
            value = without_typed(value, part, root, depth + 1)
    if isinstance(value, dict):
        known, other = schema.get("properties", {}), schema.get("additionalProperties")
        return {
            key: without_typed(item, known.get(key, other), root, depth + 1) for key, item in value.items()
        }
    if isinstance(value, list):
        return [without_typed(item, schema.get("items"), root, depth + 1) for item in value]
    return value


def secret_fields(schema: Any) -> frozenset[str]:
    """Names of the fields that a schema marks as passwords, at any depth."""
    return frozenset(
        name
        for inner in _schemas(schema)
        for name, one in (inner.get("properties") or {}).items()
        if any(part.get("format") == "password" for part in _schemas(one))
    )


def secret_values(clear: Any, hidden: Any) -> tuple[str, ...]:
    """The values that stand in `clear` where `hidden`, the same data, holds the marker."""
    if hidden == REDACTED and clear != REDACTED:
        return tuple(str(one) for one in _scalars(clear))
    if isinstance(clear, dict) and isinstance(hidden, dict):
        return tuple(one for key in clear for one in secret_values(clear[key], hidden.get(key)))
    if isinstance(clear, list) and isinstance(hidden, list):
        return tuple(one for pair in zip(clear, hidden, strict=False) for one in secret_values(*pair))
    return ()


def without(value: Any, secrets: tuple[str, ...]) -> Any:
    """Plain JSON whose texts no longer repeat one of the secrets, plain or quoted."""
    if not secrets:
        return value
    if isinstance(value, dict):
        return {without(key, secrets): without(item, secrets) for key, item in value.items()}
    if isinstance(value, list):
        return [without(item, secrets) for item in value]
    return _pattern(secrets).sub(REDACTED, value) if isinstance(value, str) else value


def _pattern(secrets: tuple[str, ...]) -> re.Pattern[str]:
    spelled = {form for one in secrets if one for form in (one, json.dumps(one)[1:-1], repr(one)[1:-1])}
    return re.compile("|".join(_form(one) for one in sorted(spelled, key=len, reverse=True)) or "(?!)")


def _form(text: str) -> str:
    return re.escape(text) if len(text) >= SHORT else rf"(?<!\w){re.escape(text)}(?!\w)"


def _scalars(value: Any) -> Iterator[str | int | float]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _scalars(one)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield value


def _schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """A schema and all that it consists of, definitions included."""
    if isinstance(schema, dict):
        yield schema
    if isinstance(schema, dict | list):
        for one in schema.values() if isinstance(schema, dict) else schema:
            yield from _schemas(one)


def _resolved(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """The schema that a reference within the same document stands for, with what stands beside it."""
    for _ in range(MAX_NESTING):
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        beside = {key: one for key, one in schema.items() if key != "$ref"}
        found = _at(reference[2:], root)
        schema = {**found, **beside} if isinstance(found, dict) else beside
    return {}


def _at(pointer: str, root: Any) -> Any:
    for key in pointer.split("/"):
        root = root.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(root, dict) else None
    return root
