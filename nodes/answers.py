"""The response schema of the one interrupt: a bad answer is refused before anything is saved."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from interlock.nodes.tools import BoundTool
from interlock.policies.canonical import ArgumentsError
from interlock.policies.errors import BadDecision
from interlock.policies.questions import ALLOWED_DECISIONS, DecisionType, HumanDecision, Question
from interlock.policies.redaction import REDACTED

__all__ = ["Answer", "answer_of", "answer_schema", "check_answer", "decision_of"]


class EditedAction(BaseModel):
    """The action as a person changed it. The name has to stay."""

    model_config = ConfigDict(extra="forbid")
    name: str
    args: dict[str, Any]


class OneDecision(BaseModel):
    """One decision, in the ecosystem's human-in-the-loop form."""

    model_config = ConfigDict(extra="forbid")
    type: Literal["approve", "edit", "reject", "respond"]
    message: str | None = None
    edited_action: EditedAction | None = None


class Answer(BaseModel):
    """What resumes a waiting run: `{"decisions": [{"type": "approve"}]}`, and optionally who and why."""

    model_config = ConfigDict(extra="forbid")
    decisions: list[OneDecision] = Field(min_length=1, max_length=1)
    approval_id: str | None = None
    by: str | None = None
    reason: str | None = None


def answer_schema(question: Question, tool: BoundTool | None) -> type[Answer]:
    """The answers that this question accepts. Everything else raises pydantic.ValidationError."""

    class Fitting(Answer):
        model_config = ConfigDict(title="Answer")

        @model_validator(mode="after")
        def fits(self) -> Self:
            if problem := _problem(self, question, tool):
                raise ValueError(problem)
            return self

    return Fitting


def check_answer(answer: dict[str, Any], question: Question, tool: BoundTool | None) -> Answer:
    """The validated answer. Raises BadDecision, in one line, when it does not fit the question."""
    try:
        return answer_schema(question, tool).model_validate(answer)
    except ValidationError as error:
        text = "; ".join(
            item["msg"].removeprefix("Value error, ") for item in error.errors(include_url=False)
        )
        raise BadDecision(f"{text}; nothing was recorded") from None


def answer_of(decision: HumanDecision, question: Question) -> dict[str, Any]:
    """A person's decision as the answer that resumes the graph."""
    one: dict[str, Any] = {"type": decision.type}
    if decision.message is not None:
        one["message"] = decision.message
    if decision.arguments is not None:
        one["edited_action"] = {"name": question.tool, "args": decision.arguments}
    return {
        "decisions": [one],
        "approval_id": question.approval_id,
        "by": decision.by,
        "reason": decision.reason,
    }


def decision_of(answer: Answer) -> HumanDecision:
    """The validated answer as the record that the store keeps."""
    one = answer.decisions[0]
    return HumanDecision(
        type=one.type,
        message=one.message,
        arguments=one.edited_action.args if one.edited_action else None,
        by=answer.by or "unknown",
        reason=answer.reason,
    )


def _problem(answer: Answer, question: Question, tool: BoundTool | None) -> str | None:
    one = answer.decisions[0]
    allowed: tuple[DecisionType, ...] = ALLOWED_DECISIONS[question.kind]
    if answer.approval_id not in (None, question.approval_id):
        return f"the answer is for question {answer.approval_id}, but the run asks {question.approval_id}"
    if one.type not in allowed:
        return f"{one.type} does not answer this question; it takes {', '.join(allowed)}"
    if question.approvers and answer.by not in question.approvers:
        return f"{answer.by or 'nobody'} may not decide this; it takes {' or '.join(question.approvers)}"
    if one.type == "respond" and not (one.message and one.message.strip()):
        return "a response needs a message"
    if (one.type == "edit") != (one.edited_action is not None):
        return "an edit needs the new arguments, and nothing else may carry any"
    return _edit_problem(one.edited_action, question, tool) if one.edited_action else None


def _edit_problem(edited: EditedAction, question: Question, tool: BoundTool | None) -> str | None:
    if edited.name != question.tool or tool is None:
        return f"an edit keeps the tool's name, {question.tool}"
    if tool.redacted(edited.args) != edited.args or REDACTED in str(edited.args):
        return "an edit cannot carry secret values: they would be saved"
    try:
        tool.validate(edited.args)
    except ArgumentsError as error:
        return f"the edited arguments do not fit {question.tool}: {error}"
    return None
