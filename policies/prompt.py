"""What the model sees, as plain data. Rendering to messages is the model adapter's part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.policies.contracts import Contract

__all__ = ["Prompt", "ToolCard"]


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
    notice: str = ""
    """One line about the state of the run for this step: the last step, for one."""
