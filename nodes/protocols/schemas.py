"""The schema of a decision for structured output: a closed union, each tool with its own arguments.

Every text and every list is capped so that the longest decision fits into one reply: small models fill what
they may fill. What the schema asks for is never what is trusted: the reply is validated like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.policies.controls import control_schemas
from interlock.policies.prompt import ToolCard

__all__ = ["NO_CARD", "Shape", "is_optional", "resolved", "shape_of"]

CAPS = ((4000, 50), (2000, 20), (1000, 20), (500, 10), (250, 8), (120, 5), (60, 3))
"""Characters of a text and items of a list, widest first: the first pair that fits is taken."""
NULL = {"type": "null"}
NO_CARD: dict[str, Any] = {"type": "object", "properties": {}}
_KEPT = ("type", "enum", "const", "description", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
         "multipleOf", "pattern", "format", "minItems", "maxItems", "minLength", "maxLength")  # fmt: skip
_LENGTHS = ("minLength", "maxLength")
_OTHER = frozenset({"not", "if", "then", "else", "patternProperties", "prefixItems", "dependentSchemas"})
"""Keywords that no strict mode takes: what holds one is sent as it is."""
_SCALAR = 24
"""Characters of the longest number, and of true, false and null."""
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """The schema of a decision as it is sent."""

    schema: dict[str, Any]
    strict: bool
    """Every object is closed and no length is named, so that a strict mode takes it."""
    text: int | None
    """Characters that a text of the proposal may have; None where the schema does not name them."""
    items: int
    """Items that a list of the proposal may have."""


def shape_of(tools: Sequence[ToolCard], characters: int, lengths: bool = True) -> Shape:
    """The schema for these tools.

    Args:
        characters: what one reply may have at most; the caps on texts and lists follow from it.
        lengths: name the lengths of texts in the schema, which strict modes refuse.
    """
    narrowed = (_under(caps, tools, lengths) for caps in CAPS)
    narrow, schema = next(narrowed)
    while _longest(schema, schema, narrow.text) > characters and (narrower := next(narrowed, None)):
        narrow, schema = narrower
    strict = not (lengths or narrow.open)
    return Shape(schema=schema, strict=strict, text=narrow.text if lengths else None, items=narrow.items)


def _under(caps: tuple[int, int], tools: Sequence[ToolCard], lengths: bool) -> tuple[_Narrow, dict[str, Any]]:
    narrow = _Narrow(*caps, lengths)
    return narrow, narrow.decision(tools)


@dataclass(slots=True)
class _Narrow:
    """Narrows schemas under one pair of caps."""

    text: int
    items: int
    lengths: bool
    open: bool = False
    """Some object could not be closed."""
    definitions: dict[str, Any] = field(default_factory=dict[str, Any])

    def decision(self, tools: Sequence[ToolCard]) -> dict[str, Any]:
        short = {"type": "string", "maxLength": min(200, self.text)}
        properties: dict[str, Any] = {
            "thought": self.node({"type": "string"}, ""),
            "missing_info": self.node({"type": "array", "items": short, "maxItems": 3}, ""),
            "proposal": {"anyOf": self.proposals(tools)},
        }
        return {**_object(properties), "$defs": self.definitions}

    def proposals(self, tools: Sequence[ToolCard]) -> list[dict[str, Any]]:
        made = [self.call("tool_call", number, card, {}) for number, card in enumerate(tools)]
        for control in control_schemas():
            if control["name"] != "request_approval":
                made.append(self.control(control))
                continue
            reason = {"reason": self.node(control["parameters"]["properties"]["reason"], "")}
            made += [self.call(control["name"], number, card, reason) for number, card in enumerate(tools)]
        return made

    def call(self, kind: str, number: int, card: ToolCard, more: dict[str, Any]) -> dict[str, Any]:
        name = f"arguments{number}"
        if name not in self.definitions:
            prefix = f"{name}."
            for key, value in (card.schema.get("$defs") or {}).items():
                self.definitions[f"{prefix}{key}"] = self.node(value, prefix)
            self.definitions[name] = self.node({**NO_CARD, **card.schema}, prefix)
        arguments = {"$ref": f"#/$defs/{name}"}
        return _object({"kind": _one(kind), "tool": _one(card.name), "arguments": arguments, **more})

    def control(self, control: dict[str, Any]) -> dict[str, Any]:
        narrowed = self.node(control["parameters"], "")
        return _object({"kind": _one(control["name"]), **narrowed["properties"]})

    def node(self, node: Any, prefix: str) -> dict[str, Any]:
        """One schema, narrowed. Definitions that it refers to are found under the prefix."""
        if not isinstance(node, dict) or not node or _OTHER & set(node):
            self.open = True
            return node if isinstance(node, dict) else {}
        if "$ref" in node:
            return {"$ref": f"#/$defs/{prefix}{node['$ref'].rpartition('/')[2]}"}
        for union in ("anyOf", "oneOf", "allOf"):
            if union in node:
                return self.union(union, node[union], prefix)
        kept = {key: node[key] for key in _KEPT if key in node}
        kind: Any = kept.get("type")
        types: list[Any] = kind if isinstance(kind, list) else [kind]
        if "string" in types and not {"enum", "const"} & set(kept):
            kept["maxLength"] = min(kept.get("maxLength", self.text), self.text)
        if "array" in types:
            kept["items"] = self.node(node.get("items", {}), prefix)
            kept["maxItems"] = min(kept.get("maxItems", self.items), self.items)
        if not self.lengths:
            kept = {key: value for key, value in kept.items() if key not in _LENGTHS}
        return {**kept, **self.object(node, prefix)} if "object" in types else kept

    def union(self, kind: str, parts: list[Any], prefix: str) -> dict[str, Any]:
        if kind == "allOf" and len(parts) > 1:
            self.open = True
            return {"allOf": [self.node(part, prefix) for part in parts]}
        closed = [part for part in parts if part != {"type": "object"}] or parts
        return {"anyOf": [self.node(part, prefix) for part in closed]}

    def object(self, node: dict[str, Any], prefix: str) -> dict[str, Any]:
        if "properties" not in node:
            self.open = True
            more = node.get("additionalProperties")
            return {"additionalProperties": self.node(more, prefix)} if isinstance(more, dict) else {}
        required = node.get("required", [])
        properties = {key: self.node(value, prefix) for key, value in node["properties"].items()}
        return _object(
            {
                key: value if key in required or _takes_null(value, {}) else {"anyOf": [value, NULL]}
                for key, value in properties.items()
            }
        )


def is_optional(key: str, schema: dict[str, Any]) -> bool:
    """True for a property that may be left out but may not be null: in this schema, null leaves it out."""
    prop = resolved(schema.get("properties", {}).get(key), schema)
    return key not in schema.get("required", []) and bool(prop) and not _takes_null(prop, schema)


def resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """The schema behind a local reference; {} for anything that is none."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        schema = root.get("$defs", {}).get(str(schema["$ref"]).rpartition("/")[2])
    return schema if isinstance(schema, dict) else {}


def _takes_null(schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if None in schema.get("enum", []) or ("const" in schema and schema["const"] is None):
        return True
    if parts := schema.get("anyOf") or schema.get("oneOf"):
        return any(_takes_null(resolved(part, root), root) for part in parts)
    kind = schema.get("type")
    return (
        (kind is None and "$ref" not in schema)
        or kind == "null"
        or (isinstance(kind, list) and "null" in kind)
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    """A closed object, all of it required, as strict modes demand."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _one(value: str) -> dict[str, Any]:
    return {"type": "string", "enum": [value]}


def _longest(node: Any, root: dict[str, Any], text: int, depth: int = 0) -> int:
    """Characters of the longest JSON that fits a schema; a recursive one counts as one more text."""
    if not isinstance(node, dict) or depth > _DEEPEST:
        return text
    node = resolved(node, root) if "$ref" in node else node
    if parts := node.get("anyOf") or node.get("allOf"):
        return max(_longest(part, root, text, depth + 1) for part in parts)
    if "enum" in node:
        return max((len(str(value)) + 2 for value in node["enum"]), default=0)
    if "properties" in node:
        inside = node["properties"].items()
        return 2 + sum(len(key) + 6 + _longest(value, root, text, depth + 1) for key, value in inside)
    if node.get("type") == "array":
        return 2 + int(node["maxItems"]) * (2 + _longest(node["items"], root, text, depth + 1))
    if node.get("type") in ("integer", "number", "boolean", "null"):
        return _SCALAR
    return 2 + int(node.get("maxLength", text))
