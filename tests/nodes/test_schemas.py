"""The schema of a decision: closed, capped, no wider than the tools. What it asks for is not trusted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from langchain_core.messages import AIMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field, SecretStr

from interlock import contract
from interlock.nodes.clients import named_strict
from interlock.nodes.model import ChatModel
from interlock.nodes.protocols.json_schema import StructuredOutput
from interlock.nodes.protocols.schemas import shape_of
from interlock.nodes.tools import bind_tools
from interlock.policies.errors import BadLoop
from interlock.policies.prompt import ToolCard
from interlock.policies.proposals import Decision
from interlock.testing import answer, ask, call, cannot_complete, delegate, request_approval


class Line(BaseModel):
    """A line of an invoice."""

    text: str = Field(max_length=40)
    amounts: list[int] = []
    parent: Line | None = None


@contract(effect="write")
def bill(
    to: str, lines: list[Line], mode: Literal["now", "later"] = "now", tags: list[str] | None = None
) -> None:
    """Send a bill."""


@contract(effect="read")
def find(where: dict[str, str], anything: Any = None) -> None:
    """Find something: arguments that no strict schema holds."""


def cards(*tools: Any) -> list[ToolCard]:
    bound = bind_tools(list(tools), {})
    return [ToolCard(name, tool.tool.description, tool.schema, tool.contract) for name, tool in bound.items()]


def nodes_of(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from nodes_of(value)
    elif isinstance(schema, list):
        for item in schema:
            yield from nodes_of(item)


@pytest.mark.parametrize("lengths", [True, False])
def test_every_object_is_closed_with_all_of_it_required_and_every_list_is_capped(lengths: bool) -> None:
    shape = shape_of(cards(bill), 12_000, lengths)
    Draft202012Validator.check_schema(shape.schema)
    found = list(nodes_of(shape.schema))
    objects = [node for node in found if node.get("type") == "object"]
    assert len(objects) > 7
    assert all(node["additionalProperties"] is False for node in objects)
    assert all(node["required"] == list(node["properties"]) for node in objects)
    assert all("maxItems" in node for node in found if node.get("type") == "array")
    texts = [node for node in found if node.get("type") == "string" and "enum" not in node]
    assert all(("maxLength" in node) is lengths for node in texts)
    assert shape.strict is not lengths


def test_what_no_strict_mode_takes_is_left_open_and_said_so() -> None:
    assert shape_of(cards(bill), 12_000, lengths=False).strict
    assert not shape_of(cards(find), 12_000, lengths=False).strict


def longest(schema: dict[str, Any], root: dict[str, Any], depth: int = 0) -> Any:
    """A value as long as the schema allows, written by other rules than the code's."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    if "anyOf" in schema:
        parts = [part for part in schema["anyOf"] if depth < 8 or part.get("type") == "null"] or schema[
            "anyOf"
        ]
        return max(
            (longest(part, root, depth + 1) for part in parts), key=lambda value: len(json.dumps(value))
        )
    if "enum" in schema:
        return max(schema["enum"], key=len)
    match schema["type"]:
        case "object":
            return {key: longest(value, root, depth + 1) for key, value in schema["properties"].items()}
        case "array":
            return [longest(schema["items"], root, depth + 1)] * schema["maxItems"]
        case "string":
            return "x" * schema["maxLength"]
        case kind:
            return {"integer": 10**15, "number": 0.123456789012345, "boolean": False, "null": None}[kind]


def flat(to: str, subject: str, body: str, tags: list[str], urgent: bool = False) -> None:
    """Send a letter."""


@pytest.mark.parametrize("characters", [2_000, 6_000, 12_000, 48_000])
def test_the_longest_decision_fits_into_one_reply(characters: int) -> None:
    schema = shape_of(cards(flat), characters).schema
    value = longest(schema, schema)
    Draft202012Validator(schema).validate(value)
    assert len(json.dumps(value)) <= characters


@given(
    st.sampled_from(
        [
            call("bill", "So.", to="ana", lines=[{"text": "rent"}]),
            call("bill", to="ana", lines=[], mode="later", tags=["a", "b"]),
            request_approval(
                "bill", "large", to="ana", lines=[{"text": "x", "amounts": [1, 2], "parent": None}]
            ),
            ask("Who?"),
            answer("done", ["a"]),
            cannot_complete("no", ["key"]),
            delegate("other", "the rest", 0.25),
        ]
    )
)
def test_what_the_schema_asks_for_is_read_as_the_decision_that_was_meant(decision: Decision) -> None:
    tools = cards(bill)
    shape = shape_of(tools, 12_000)
    full = filled(decision)
    Draft202012Validator(shape.schema).validate(full)
    parsed = StructuredOutput(None).parse(AIMessage(json.dumps(full)), tools)
    assert parsed.decision is not None, parsed.invalid
    assert validated(parsed.decision) == validated(decision)


def filled(decision: Decision) -> dict[str, Any]:
    """The decision with a null for everything that was left out, as the schema demands."""
    proposal = decision.proposal.model_dump(mode="json")
    if "arguments" in proposal:
        given = proposal["arguments"]
        lines = [{"amounts": None, "parent": None, **line} for line in given["lines"]]
        proposal["arguments"] = {"mode": None, "tags": None, **given, "lines": lines}
    return {"thought": decision.thought, "missing_info": [], "proposal": proposal}


def validated(decision: Decision) -> dict[str, Any]:
    """The proposal with the arguments that the tool would get."""
    proposal = decision.proposal.model_dump(mode="json")
    if "arguments" in proposal:
        proposal["arguments"] = bind_tools([bill], {})["bill"].validate(proposal["arguments"])
    return proposal


def client(model: str = "gpt-4o", base_url: str | None = None, profile: Any = None) -> ChatOpenAI:
    return ChatOpenAI(model=model, api_key=SecretStr("none"), base_url=base_url, profile=profile)


def test_a_known_host_gets_strict_mode_without_lengths_and_any_other_gets_lengths() -> None:
    assert named_strict(client())
    assert not named_strict(client(base_url="http://127.0.0.1:9/v1"))
    assert not named_strict(client(base_url="https://openai.com.example.org/v1"))


def test_the_profile_of_a_model_chooses_the_protocol() -> None:
    neither = {"tool_calling": False, "structured_output": False}
    assert ChatModel(client()).protocol == "tools"
    assert ChatModel(client(model="nobody-knows")).protocol == "tools"
    assert (
        ChatModel(client(profile={"tool_calling": False, "structured_output": True})).protocol
        == "json_schema"
    )
    assert ChatModel(client(profile={"tool_calling": False})).protocol == "json"
    assert ChatModel(client(profile=neither)).protocol == "json"
    assert ChatModel(client(profile=neither), "tools").protocol == "tools"
    with pytest.raises(BadLoop, match="known are: tools, json_schema, json"):
        ChatModel(client(), "xml")  # type: ignore[arg-type]
