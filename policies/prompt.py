"""What the model sees, as plain data. Rendering to messages is the model adapter's part."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.policies.contracts import Contract

__all__ = ["Prompt", "ToolCard", "parse_step_line", "step_line"]

_STEP_LINE = re.compile(r"^Step ([1-9][0-9]{0,8}) of at most ([1-9][0-9]{0,8})\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToolCard:
    """A tool as the model sees it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON schema of the arguments."""
    contract: Contract


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything that one model call is built from. Built afresh from the state at each step."""

    instructions: str
    """The operator's instructions."""
    tools: Sequence[ToolCard]
    policy: str
    """The policy in words."""
    goal: str
    steps: Sequence[Mapping[str, Any]]
    """Complete step records (dumped StepRecord), oldest first: every action has its observation."""
    facts: Mapping[str, Mapping[str, Any]]
    """Known facts (dumped Fact) by key."""
    step: int
    """Number of the step to decide, from 1."""
    max_steps: int
    context_tokens: int = 8_000
    """Tokens that the steps may take; older ones are folded to one line each."""
    answer_schema: Mapping[str, Any] | None = None
    """JSON schema that the final answer has to fit; None when any answer will do."""
    notice: str = ""
    """One line about the state of the run for this step: the last step, for one."""


def step_line(step: int, max_steps: int) -> str:
    """The line of the last message that says where the run stands."""
    return f"Step {step} of at most {max_steps}."


def parse_step_line(text: str) -> tuple[int, int] | None:
    """Step and limit from the last step line in the text; None when there is none.

    The last one counts: whatever was quoted from elsewhere stands above it.
    """
    found = _STEP_LINE.findall(text)
    return (int(found[-1][0]), int(found[-1][1])) if found else None
