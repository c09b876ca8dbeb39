"""What the model sees of a result: a bounded, structured envelope."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from interlock.policies.record import JsonValue, Record

__all__ = ["Observation", "Polled", "Status", "ToolResult", "Trust"]

Status = Literal[
    "ok",
    "retryable_error",
    "invalid_input",
    "permission_denied",
    "not_found",
    "conflict",
    "unknown_outcome",
    "tool_error",
]
"""`not_found` is a confirmed absence; `unknown_outcome` means an effect may or may not have happened."""

Trust = Literal["trusted", "untrusted"]
"""`untrusted`: the content comes from outside and is data, never instructions."""


class Polled(Record):
    """What one call of a polling tool says about its condition."""

    held: bool
    """True when the condition holds."""
    ended_at: str
    """Time at which the call ended, UTC, ISO 8601: the next one is spaced from here."""
    note: str = ""
    """Why the condition could not be evaluated; empty when it could."""


class ToolResult(Record):
    """What execute recorded about one call: where the raw value is, and how the call ended."""

    status: Status
    raw_ref: str | None = None
    """Content hash of the raw value in the payload store; None when there is no value."""
    error: str | None = None
    """The error in words, with the exception's type; None when the call succeeded."""
    size: Annotated[int, Field(ge=0)] = 0
    """Size of the raw value, bytes of its JSON."""
    attempts: Annotated[int, Field(ge=0)] = 1
    """How often the tool was called for this result."""
    recorded: bool = False
    """True when the result was taken from the ledger instead of running the tool again."""
    polled: Polled | None = None
    """Set for a tool with a poll contract that was called."""


class Observation(Record):
    """The envelope of one step's result, as the model sees it."""

    status: Status
    summary: str
    """Bounded text that stands for the result."""
    entities: list[JsonValue] = []
    """Identifiers and records found in the result, bounded."""
    next_actions: list[str] = []
    """What could be done next, in words."""
    raw_ref: str | None = None
    """Content hash of the raw value in the payload store."""
    trust: Trust = "trusted"
    size_before: Annotated[int, Field(ge=0)] = 0
    """Size of the raw value, bytes of its JSON."""
    size_after: Annotated[int, Field(ge=0)] = 0
    """Size of what the model sees, bytes."""
    result_key: str | None = None
    """Hash of the raw value without the contract's volatile fields; None where the contract names none."""
