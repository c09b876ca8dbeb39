"""The control proposals as the model may call them: names, schemas, and the way back to a proposal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from interlock.policies.errors import BadLoop
from interlock.policies.proposals import (
    Ask,
    CannotComplete,
    Delegate,
    FinalAnswer,
    Proposal,
    RequestApproval,
    ToolCall,
)

__all__ = ["CONTROLS", "check_names", "control_schemas", "proposal_of"]

CONTROLS: dict[str, type[Ask | RequestApproval | Delegate | FinalAnswer | CannotComplete]] = {
    "ask": Ask,
    "request_approval": RequestApproval,
    "delegate": Delegate,
    "final_answer": FinalAnswer,
    "cannot_complete": CannotComplete,
}
"""Names that no tool of a user may have, and the proposals that they stand for."""

_TEXT = {"type": "string"}
_NAMES = {"type": "array", "items": {"type": "string"}}
_SCHEMAS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "ask": (
        "Ask a person for information that no tool can give.",
        {"question": {**_TEXT, "description": "One question."}},
        ["question"],
    ),
    "request_approval": (
        "Ask a person to approve one exact tool call before it runs, also where no rule demands it.",
        {
            "tool": {**_TEXT, "description": "Exact name of the tool."},
            "arguments": {"type": "object", "description": "Its arguments."},
            "reason": {**_TEXT, "description": "Why a person should look."},
        },
        ["tool", "arguments"],
    ),
    "delegate": (
        "Hand a part of the goal to a named delegate, if the instructions name one.",
        {
            "delegate": {**_TEXT, "description": "Name of the delegate."},
            "goal": {**_TEXT, "description": "What it has to reach."},
            "share": {"type": "number", "description": "Part of the remaining budget, above 0, at most 1."},
        },
        ["delegate", "goal"],
    ),
    "final_answer": (
        "Claim that the goal is reached, with the answer. It is checked.",
        {
            "answer": {"anyOf": [_TEXT, {"type": "object"}], "description": "The answer."},
            "cites": {**_NAMES, "description": "Keys of the facts that the answer rests on."},
        },
        ["answer"],
    ),
    "cannot_complete": (
        "Say that the goal cannot be reached.",
        {
            "reason": {**_TEXT, "description": "What is in the way."},
            "missing": {**_NAMES, "description": "What would be needed."},
        },
        ["reason"],
    ),
}


def control_schemas() -> list[dict[str, Any]]:
    """The control proposals as function schemas: `name`, `description`, `parameters`."""
    return [
        {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": dict(properties),
                "required": list(required),
                "additionalProperties": False,
            },
        }
        for name, (description, properties, required) in _SCHEMAS.items()
    ]


def check_names(tools: Iterable[str]) -> None:
    """Raises BadLoop when a tool has the name of a control proposal."""
    if clash := sorted(set(tools) & set(CONTROLS)):
        raise BadLoop(
            f"tools may not be named {', '.join(clash)}: the loop uses these names for its own proposals; "
            "rename the tools"
        )


def proposal_of(name: str, arguments: dict[str, Any]) -> Proposal:
    """The proposal that a call stands for. Raises pydantic.ValidationError when the arguments do not fit."""
    control = CONTROLS.get(name)
    if control is None:
        return ToolCall.model_validate({"tool": name, "arguments": arguments}, strict=True)
    return control.model_validate(arguments, strict=True)
