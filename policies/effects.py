"""Effects as the ledger keeps them: an intent before the call, its completion after."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from interlock.policies.observations import ToolResult
from interlock.policies.record import JsonValue, Record

__all__ = ["EffectRow", "EffectState"]

EffectState = Literal["in_flight", "done", "unknown", "cleared"]
"""`in_flight`: started, no result yet; `unknown`: it may or may not have happened; `cleared`: a person or the
world said that it did not happen, so it may run."""


class EffectRow(Record):
    """One intended effect."""

    key: str
    """Idempotency key."""
    run_id: str
    step: int
    tool: str
    arguments: dict[str, JsonValue]
    digest: str
    state: EffectState = "in_flight"
    result: ToolResult | None = None
    summary: str | None = None
    """The result in short, as text."""
    approved_by: str | None = None
    attempts: Annotated[int, Field(ge=1)] = 1
    """How often the tool was started under this key."""
    started_at: str
    finished_at: str | None = None
    late_result: str | None = None
    """What a call that had timed out returned afterwards."""
