"""Canonical arguments and the digest that every comparison uses: repeats, approvals, ledger, replay."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

__all__ = ["MAX_BYTES", "MAX_DEPTH", "ArgumentsError", "action_digest", "canonical_json", "parse_object"]

MAX_DEPTH = 32
"""Deepest nesting of arguments. Deeper ones cannot be checkpointed safely."""
MAX_BYTES = 262_144
"""Largest canonical form of arguments, bytes."""


class ArgumentsError(ValueError):
    """Arguments that no tool may see, in words that the model can act on."""


def parse_object(raw: str) -> dict[str, Any]:
    """Parse the raw text of arguments as one JSON object.

    Raises:
        ArgumentsError: not JSON, not an object, a duplicate key, a number that is not finite, too deep.
    """
    if len(raw.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ArgumentsError(f"arguments are larger than {MAX_BYTES} bytes")
    try:
        value = json.loads(raw, object_pairs_hook=_no_duplicates, parse_constant=_not_finite)
    except RecursionError:
        raise ArgumentsError(f"arguments are nested deeper than {MAX_DEPTH} levels") from None
    except json.JSONDecodeError as error:
        raise ArgumentsError(f"arguments are not valid JSON: {error}") from None
    if isinstance(value, str):
        raise ArgumentsError("arguments are a string; send a JSON object, not a string that holds one")
    if not isinstance(value, dict):
        raise ArgumentsError(f"arguments must be a JSON object, not {type(value).__name__}")
    check_bounds(value)
    return value


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, finite numbers and exact integers; 1.0 and 1 are the same, so are -0.0 and 0.

    Raises:
        ArgumentsError: a number that is not finite, nesting or size out of bounds, not JSON data.
    """
    check_bounds(value)
    try:
        text = json.dumps(_plain_numbers(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False,
                          allow_nan=False)  # fmt: skip
    except (TypeError, ValueError) as error:
        raise ArgumentsError(f"arguments are not JSON data: {error}") from None
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ArgumentsError(f"arguments are larger than {MAX_BYTES} bytes")
    return text


def action_digest(tool: str, arguments: dict[str, Any], schema_hash: str, policy_version: str) -> str:
    """SHA-256 (hex) over tool name, canonical arguments, the tool's schema hash and the policy version."""
    parts = json.dumps([tool, canonical_json(arguments), schema_hash, policy_version], ensure_ascii=False)
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()


def check_bounds(value: Any, depth: int = 0) -> None:
    """Refuse numbers that are not finite and nesting beyond MAX_DEPTH. Raises ArgumentsError."""
    if depth > MAX_DEPTH:
        raise ArgumentsError(f"arguments are nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for item in value.values():
            check_bounds(item, depth + 1)
    elif isinstance(value, list | tuple):
        for item in value:
            check_bounds(item, depth + 1)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ArgumentsError("arguments hold a number that is not finite")


def _plain_numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain_numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain_numbers(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, item in pairs:
        if key in result:
            raise ArgumentsError(f"arguments hold the key {key!r} twice")
        result[key] = item
    return result


def _not_finite(text: str) -> Any:
    raise ArgumentsError(f"arguments hold {text}, which is not a finite number")
