"""The saved state, as LangGraph channels. Plain JSON data only: no checkpoint ever holds a class.

Scratchpad and facts are delta channels: a checkpoint stores what a node added, not the whole history.
"""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from langgraph.channels.delta import DeltaChannel

from interlock.policies.facts import merge_facts
from interlock.policies.steps import merge_steps

__all__ = ["LoopInput", "LoopOutput", "LoopState"]

SNAPSHOT_EVERY = 5_000
"""Updates between two full copies of a delta channel: as rare as LangGraph's own bound of 5,000 super-steps
allows, because full copies are what makes a file grow quadratically."""


def first(known: str, new: str) -> str:
    """The goal that the run was started with: later input never changes it."""
    return known or new


class LoopInput(TypedDict):
    """What a run starts with."""

    goal: str
    """What is to be reached, in words."""


class LoopOutput(TypedDict):
    """What a run ends with."""

    outcome: dict[str, Any]
    """The dumped Outcome."""


class LoopState(TypedDict, total=False):
    """Everything that is saved about a run."""

    goal: Annotated[str, first]
    control: dict[str, Any]
    """The dumped Control: where the run stands. Small, rewritten by every node."""
    scratchpad: Annotated[list[dict[str, Any]], DeltaChannel(merge_steps, snapshot_frequency=SNAPSHOT_EVERY)]
    """Dumped step records, oldest first."""
    facts: Annotated[dict[str, Any], DeltaChannel(merge_facts, snapshot_frequency=SNAPSHOT_EVERY)]
    """Dumped facts by key."""
    outcome: dict[str, Any]
    """The dumped Outcome, once the run has ended."""
