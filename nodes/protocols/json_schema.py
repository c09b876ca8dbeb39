"""The decision as structured output: the provider holds the model to a schema of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from interlock.nodes.clients import bound_to_schema, named_strict
from interlock.nodes.protocols.plain_json import PlainJson
from interlock.nodes.protocols.schemas import NO_CARD, Shape, is_optional, resolved, shape_of
from interlock.policies.canonical import ArgumentsError
from interlock.policies.controls import control_schemas
from interlock.policies.prompt import ToolCard

__all__ = ["StructuredOutput"]

CHARACTERS_PER_TOKEN = 3
"""On the safe side: JSON takes more tokens than prose."""
OUTPUT_TOKENS = 4_000
"""Tokens of one reply, where the model does not name its cap."""


class StructuredOutput(PlainJson):
    """The decision is the text of the reply, held to a schema. The words of the prompt stay the same.

    Args:
        cap: output tokens that the model may use, where it says so.
    """

    name = "json_schema"

    def __init__(self, cap: int | None) -> None:
        self._characters = CHARACTERS_PER_TOKEN * (cap or OUTPUT_TOKENS)
        self._strict = False
        self._known: tuple[list[ToolCard], Shape] | None = None

    def bind(self, model: BaseChatModel, tools: Sequence[ToolCard]) -> Runnable[Any, Any]:
        """The model held to the schema. Raises NotImplementedError when it cannot be."""
        self._strict, self._known = named_strict(model), None
        shape = self._shape(tools)
        return bound_to_schema(model, {"title": "decision", **shape.schema}, shape.strict)

    def meant(self, value: dict[str, Any], tools: Sequence[ToolCard]) -> dict[str, Any]:
        """Without the nulls that stand for what is left out. Raises ArgumentsError for what a cap has cut."""
        proposal = value.get("proposal")
        if not isinstance(proposal, dict):
            return value
        _check_uncut(proposal, self._shape(tools))
        kind = proposal.get("kind")
        control = next((one["parameters"] for one in control_schemas() if one["name"] == kind), NO_CARD)
        made = {k: v for k, v in proposal.items() if not (v is None and is_optional(k, control))}
        if isinstance(made.get("arguments"), dict):
            schema = next((card.schema for card in tools if card.name == made.get("tool")), NO_CARD)
            made["arguments"] = _left_out(made["arguments"], schema, schema)
        return {**value, "proposal": made}

    def _shape(self, tools: Sequence[ToolCard]) -> Shape:
        if self._known is None or self._known[0] != list(tools):
            self._known = (list(tools), shape_of(tools, self._characters, lengths=not self._strict))
        return self._known[1]


def _left_out(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> Any:
    """The value without the nulls of properties that have to be left out instead."""
    schema = _only(schema, root)
    if isinstance(value, list):
        return [_left_out(item, schema.get("items", {}), root) for item in value]
    if not isinstance(value, dict):
        return value
    known = {**schema, "$defs": root.get("$defs", {})}
    kept = {key: item for key, item in value.items() if not (item is None and is_optional(key, known))}
    return {key: _left_out(item, schema.get("properties", {}).get(key), root) for key, item in kept.items()}


def _only(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """The schema, or the one alternative beside null; {} where several could be meant."""
    schema = resolved(schema, root)
    parts = [part for part in schema.get("anyOf", []) if part != {"type": "null"}]
    return resolved(parts[0], root) if len(parts) == 1 else schema


def _check_uncut(value: Any, shape: Shape) -> None:
    """A server that holds a model to a cap closes the text there, and what was meant is lost."""
    if isinstance(value, str):
        if shape.text is not None and len(value) >= shape.text:
            raise ArgumentsError(
                f"arguments hold a text of {shape.text} characters, the most for one text, so it may have "
                "been cut; write it shorter"
            )
        return
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    if isinstance(value, list) and len(value) >= shape.items:
        raise ArgumentsError(
            f"arguments hold a list of {len(value)} items; at most {shape.items - 1} go into one reply"
        )
    for item in items:
        _check_uncut(item, shape)
