"""The conditional edges: total, pure functions of the saved state. Their targets stand in their types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from interlock.policies.control import Control
from interlock.policies.steps import StepRecord
from interlock.policies.transitions import (
    after_authorize,
    after_execute,
    after_normalize,
    after_think,
    after_verify,
)

__all__ = ["from_authorize", "from_execute", "from_normalize", "from_think", "from_verify"]


def from_think(state: Mapping[str, Any]) -> Literal["authorize", "normalize", "verify"]:
    """The edge out of think."""
    return after_think(*_read(state))


def from_authorize(state: Mapping[str, Any]) -> Literal["execute", "normalize"]:
    """The edge out of authorize."""
    return after_authorize(*_read(state))


def from_execute(state: Mapping[str, Any]) -> Literal["normalize", "authorize"]:
    """The edge out of execute."""
    return after_execute(*_read(state))


def from_normalize(state: Mapping[str, Any]) -> Literal["think", "verify", "authorize"]:
    """The edge out of normalize."""
    return after_normalize(*_read(state))


def from_verify(state: Mapping[str, Any]) -> Literal["think", "__end__"]:
    """The edge out of verify."""
    return after_verify(*_read(state), ended=bool(state.get("outcome")))


def _read(state: Mapping[str, Any]) -> tuple[Control, StepRecord | None]:
    """The node before the edge wrote both records and validated them, so they are not validated again."""
    steps = state.get("scratchpad") or ()
    return Control.load(state["control"]), StepRecord.load(steps[-1]) if steps else None
