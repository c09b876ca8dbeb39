"""What think yields: one decision with exactly one proposal. A proposal grants no permission."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from interlock.policies.record import JsonValue, Record

__all__ = [
    "Ask",
    "CannotComplete",
    "Decision",
    "Delegate",
    "FinalAnswer",
    "Proposal",
    "RequestApproval",
    "ToolCall",
]

Text = Annotated[str, Field(max_length=8_000)]
Short = Annotated[str, Field(max_length=1_000)]
Name = Annotated[str, Field(min_length=1, max_length=128)]


class ToolCall(Record):
    """Run one tool."""

    kind: Literal["tool_call"] = "tool_call"
    tool: Name
    """Exact name of the tool."""
    arguments: dict[str, JsonValue] = {}
    """Arguments as the model wrote them; authorize validates them."""


class RequestApproval(Record):
    """Ask a person to approve one exact tool call, also where the policy would not ask."""

    kind: Literal["request_approval"] = "request_approval"
    tool: Name
    arguments: dict[str, JsonValue] = {}
    reason: Short = ""
    """Why the model wants a person to look."""


class Ask(Record):
    """Ask a person for information that no tool can give."""

    kind: Literal["ask"] = "ask"
    question: Annotated[str, Field(min_length=1, max_length=8_000)]


class Delegate(Record):
    """Hand a part of the goal to a named delegate."""

    kind: Literal["delegate"] = "delegate"
    delegate: Name
    goal: Text
    share: Annotated[float, Field(gt=0, le=1)] = 0.5
    """Part of the remaining budget that the delegate may use, above 0 and at most 1."""


class FinalAnswer(Record):
    """A claim that the goal is reached. verify decides whether it is."""

    kind: Literal["final_answer"] = "final_answer"
    answer: JsonValue
    """The answer: text, or an object that fits the loop's answer schema."""
    cites: list[Short] = []
    """Keys of the facts that the answer rests on."""


class CannotComplete(Record):
    """The goal cannot be reached."""

    kind: Literal["cannot_complete"] = "cannot_complete"
    reason: Annotated[str, Field(min_length=1, max_length=8_000)]
    missing: list[Short] = []
    """What would be needed."""


Proposal = Annotated[
    ToolCall | RequestApproval | Ask | Delegate | FinalAnswer | CannotComplete,
    Field(discriminator="kind"),
]
"""The closed union of what a model may propose, discriminated on `kind`."""


class Decision(Record):
    """The validated output of think for one step."""

    proposal: Proposal
    """The single proposal of this step."""
    thought: Text = ""
    """The model's reasoning in its own words. Never evidence."""
    goal: Text = ""
    """The goal as the model understands it; empty when the protocol does not ask for it."""
    known_facts: list[Short] = []
    """What the model claims to know. Inferred, never evidence."""
    missing_info: list[Short] = []
    """What the model says is still missing."""
    options: list[Short] = []
    """Alternatives that were considered."""
