"""What every protocol offers, and the parts of reading a decision that they share."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable
from pydantic import ValidationError

from interlock.policies.canonical import ArgumentsError, parse_object
from interlock.policies.prompt import ToolCard
from interlock.policies.proposals import Decision, Proposal
from interlock.policies.steps import InvalidDecision, StepRecord
from interlock.policies.text import bounded

__all__ = ["Parsed", "WireProtocol", "build", "fields_of", "invalid", "kept", "thought_text"]

RAW_LIMIT = 1000
"""Characters of an invalid reply that are kept and shown to the model again."""
THOUGHT_LIMIT = 8000
_FIELDS = frozenset({"thought", "goal", "known_facts", "missing_info", "options"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """What one reply says: a decision or why it is none."""

    decision: Decision | None = None
    invalid: InvalidDecision | None = None
    notes: tuple[str, ...] = ()
    """What was ignored in the reply."""


class WireProtocol(Protocol):
    """One way to ask a model for a decision and to read it."""

    @property
    def name(self) -> str:
        """`tools`, `json_schema` or `json`."""
        ...

    def bind(self, model: BaseChatModel, tools: Sequence[ToolCard]) -> Runnable[Any, Any]:
        """The model as it has to be called."""
        ...

    def how(self, tools: Sequence[ToolCard]) -> str:
        """How a decision has to be written, for the system message."""
        ...

    def exchange(self, record: StepRecord, decision: Decision) -> tuple[AIMessage, BaseMessage]:
        """A step as the model's message and what came of it."""
        ...

    def parse(self, message: AIMessage, tools: Sequence[ToolCard]) -> Parsed:
        """The decision in a reply that is complete. Never repairs one."""
        ...


def build(proposal: Proposal, fields: Mapping[str, Any]) -> Decision:
    """The decision. Raises pydantic.ValidationError or ArgumentsError when its parts do not make one."""
    decision = Decision.model_validate({**fields, "proposal": proposal}, strict=True)
    return encodable(decision)


def encodable(decision: Decision) -> Decision:
    """The decision. Raises ArgumentsError when no store could hold its text."""
    try:
        json.dumps(decision.dump(), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ArgumentsError("arguments hold half of a surrogate pair, which is no character") from None
    return decision


def invalid(problem: str, raw: str) -> Parsed:
    """A reply that is no decision."""
    return Parsed(invalid=InvalidDecision(problem=_text(problem), raw=kept(raw)))


def kept(raw: str) -> str:
    """As much of a reply's raw text as is kept, in characters that a store can hold."""
    return bounded(_text(raw), RAW_LIMIT)


def problem_of(error: ArgumentsError | ValidationError) -> str:
    """The error in words that the model can act on, bounded."""
    if isinstance(error, ArgumentsError):
        return bounded(str(error), RAW_LIMIT)
    parts = [
        f"{'.'.join(str(part) for part in item['loc']) or 'the decision'}: {item['msg']}"
        for item in error.errors(include_url=False, include_input=False)[:5]
    ]
    return bounded("; ".join(parts), RAW_LIMIT)


def fields_of(text: str) -> dict[str, Any]:
    """The decision's fields in the text beside a call: a JSON object of them, or else the thought."""
    if text.lstrip().startswith("{"):
        try:
            value = parse_object(text)
            if set(value) <= _FIELDS:
                Decision.model_validate({**value, "proposal": {"kind": "ask", "question": "?"}}, strict=True)
                return value
        except (ArgumentsError, ValidationError):
            pass  # prose that looks like JSON is a thought like any other
    return {"thought": bounded(_text(text), THOUGHT_LIMIT)}


def thought_text(decision: Decision) -> str:
    """The inverse of `fields_of`."""
    fields = decision_fields(decision)
    if set(fields) <= {"thought"} and fields_of(decision.thought) == {"thought": decision.thought}:
        return decision.thought
    return json.dumps(fields, ensure_ascii=False)


def decision_fields(decision: Decision) -> dict[str, Any]:
    """The fields beside the proposal that say something."""
    return decision.model_dump(mode="json", include=set(_FIELDS), exclude_defaults=True)


def _text(text: str) -> str:
    """The text without half surrogate pairs, which no store can hold."""
    return text.encode("utf-8", "backslashreplace").decode()
