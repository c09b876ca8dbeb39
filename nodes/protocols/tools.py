"""Native tool calling: the loop's tools, and the control proposals as tools beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import Runnable
from pydantic import ValidationError

from interlock.nodes.protocols.base import Parsed, build, fields_of, invalid, problem_of, thought_text
from interlock.nodes.protocols.reading import Call, calls_of, raw_of, text_of
from interlock.policies.canonical import ArgumentsError
from interlock.policies.controls import CONTROLS, control_schemas, proposal_of
from interlock.policies.prompt import ToolCard
from interlock.policies.proposals import Decision, ToolCall
from interlock.policies.steps import StepRecord
from interlock.policies.text import bounded
from interlock.policies.wording import observation_text, schema_shown, tool_text

__all__ = ["ToolCalling", "call_id", "calling_message"]

_HOW = """\
Reply with exactly one tool call. The way to end is a call too: final_answer or cannot_complete; text alone
decides nothing. In the text beside the call say briefly what you think, or write a JSON object with any of:
thought, goal, known_facts, missing_info, options."""


class ToolCalling:
    """The decision is one tool call; the text beside it is the thought."""

    name = "tools"

    def bind(self, model: BaseChatModel, tools: Sequence[ToolCard]) -> Runnable[Any, Any]:
        """The model with all tools bound. Raises NotImplementedError when it cannot bind any."""
        own = [
            {"name": card.name, "description": tool_text(card), "parameters": schema_shown(card.schema)}
            for card in tools
        ]
        return model.bind_tools([{"type": "function", "function": one} for one in [*own, *control_schemas()]])

    def how(self, tools: Sequence[ToolCard]) -> str:
        """How a decision has to be written."""
        return _HOW

    def exchange(self, record: StepRecord, decision: Decision) -> tuple[AIMessage, BaseMessage]:
        """The model's call and its result: there is never one without the other."""
        message = calling_message(decision, record.step)
        name = message.tool_calls[0]["name"]
        result = ToolMessage(observation_text(record), tool_call_id=call_id(record.step), name=name)
        return message, result

    def parse(self, message: AIMessage, tools: Sequence[ToolCard]) -> Parsed:
        """The first call as the proposal; the others do not run."""
        text, calls, raw = text_of(message), calls_of(message), raw_of(message)
        if not calls:
            problem = "the reply proposes nothing; call exactly one tool, final_answer to end"
            return invalid(problem if raw else f"the reply was empty: {problem}", raw)
        first, *rest = calls
        notes = tuple(f"not run: {bounded(call.name, 128)!r}: one action per step" for call in rest[:10])
        try:
            arguments = first.parsed(_takes_none(first, tools))
            decision = build(proposal_of(first.name, arguments), fields_of(text))
        except (ArgumentsError, ValidationError) as error:
            problem = f"the call of {bounded(first.name, 128)!r} is not valid: {problem_of(error)}"
            return invalid(". ".join([problem, *notes]), raw)
        return Parsed(decision=decision, notes=notes)


def calling_message(decision: Decision, step: int) -> AIMessage:
    """A decision as the model's message, with a call id derived from the number of the step."""
    proposal = decision.proposal
    if isinstance(proposal, ToolCall):
        name, arguments = proposal.tool, dict(proposal.arguments)
    else:
        name, arguments = proposal.kind, proposal.model_dump(mode="json", exclude={"kind"})
    call = {"name": name, "args": arguments, "id": call_id(step), "type": "tool_call"}
    return AIMessage(content=thought_text(decision), tool_calls=[call])


def call_id(step: int) -> str:
    """Id of the call of a step: nine letters and digits, because some servers take nothing else."""
    return f"step{step:05d}"


def _takes_none(call: Call, tools: Sequence[ToolCard]) -> bool:
    """True for a tool without parameters, and for an unknown one, whose name is what has to be told."""
    if call.name in CONTROLS:
        return False
    card = next((card for card in tools if card.name == call.name), None)
    return card is None or not card.schema.get("properties")
