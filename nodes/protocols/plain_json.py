"""The decision as one JSON object in the text, for models and servers that have neither tools nor schemas."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable
from pydantic import ValidationError

from interlock.nodes.protocols.base import Parsed, decision_fields, encodable, invalid, problem_of
from interlock.nodes.protocols.reading import text_of
from interlock.policies.canonical import ArgumentsError, parse_object
from interlock.policies.controls import control_schemas
from interlock.policies.prompt import ToolCard
from interlock.policies.proposals import Decision
from interlock.policies.steps import StepRecord
from interlock.policies.wording import observation_text, schema_shown, tool_text

__all__ = ["PlainJson", "json_message"]

_HOW = """\
Reply with one JSON object and nothing else:
{"thought": "…", "missing_info": ["…"], "proposal": {"kind": "…", …}}
`thought` is short; `missing_info` names what you still need; you may add goal, known_facts and options.
`proposal` is one of:
{"kind": "tool_call", "tool": "NAME", "arguments": {…}}"""
_CODE_BLOCK = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL)


class PlainJson:
    """The decision is the text of the reply."""

    name = "json"

    def bind(self, model: BaseChatModel, tools: Sequence[ToolCard]) -> Runnable[Any, Any]:
        """The model as it is."""
        return model

    def how(self, tools: Sequence[ToolCard]) -> str:
        """The shape of a decision, and the tools with their schemas."""
        controls = [
            f'{{"kind": "{one["name"]}", …}}: {one["description"]} {_compact(one["parameters"])}'
            for one in control_schemas()
        ]
        listed = [
            f"- {card.name}: {tool_text(card)}\n  arguments: {_compact(schema_shown(card.schema))}"
            for card in tools
        ]
        return "\n".join([_HOW, *controls, "", "Tools:", *(listed or ["none"])])

    def exchange(self, record: StepRecord, decision: Decision) -> tuple[AIMessage, BaseMessage]:
        """The model's JSON, and the observation as the next thing that it is told."""
        told = HumanMessage(f"Observation of step {record.step}:\n{observation_text(record)}")
        return json_message(decision), told

    def parse(self, message: AIMessage, tools: Sequence[ToolCard]) -> Parsed:
        """The whole text as one object; a code block around it is wrapping, anything else is not."""
        text = text_of(message)
        if not text.strip():
            return invalid("the reply was empty; reply with one JSON object", text)
        wrapped = _CODE_BLOCK.match(text)
        try:
            value = parse_object(wrapped.group(1) if wrapped else text)
            decision = encodable(Decision.model_validate(value, strict=True))
        except (ArgumentsError, ValidationError) as error:
            problem = problem_of(error)
            if isinstance(error, ArgumentsError):
                problem = problem.replace("arguments", "the reply's fields", 1)
            return invalid(f"the reply is not one JSON object with one proposal: {problem}", text)
        return Parsed(decision=decision)


def json_message(decision: Decision) -> AIMessage:
    """A decision as the model's message."""
    proposal = decision.proposal.model_dump(mode="json", exclude_defaults=True)
    value = {**decision_fields(decision), "proposal": {"kind": decision.proposal.kind, **proposal}}
    return AIMessage(content=json.dumps(value, ensure_ascii=False))


def _compact(schema: dict[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
