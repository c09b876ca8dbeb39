"""A run as the store lists it, and as start and resume return it."""

from __future__ import annotations

from typing import Any, Literal

from interlock.policies.outcomes import Outcome
from interlock.policies.record import JsonValue, Record

__all__ = ["Run", "RunRow", "RunStatus"]

RunStatus = Literal["completed", "failed", "stopped", "cancelled", "waiting", "running", "lost"]
"""The status of the outcome; without one: `waiting` for a person, `running` in a live process, or `lost` by a
crash until somebody resumes it."""


class RunRow(Record):
    """One run, as the store keeps it."""

    run_id: str
    goal: str
    fingerprint: str
    loop: str = ""
    """Name of the ready-made loop; empty for a loop of the user's own."""
    spec: dict[str, JsonValue] = {}
    """What a new process needs to build the same loop again."""
    status: RunStatus
    created_at: str
    updated_at: str
    ended_at: str | None = None
    outcome: Outcome | None = None
    cancel_requested_at: str | None = None
    cancel_by: str | None = None


class Run(Record):
    """Where a run stands after start, resume or cancel."""

    run_id: str
    status: RunStatus
    outcome: Outcome | None = None
    pending: list[dict[str, JsonValue]] = []
    """Open questions to a person: the interrupts' payloads."""
    steps: int = 0

    def document(self) -> dict[str, Any]:
        """The run as one JSON document, every key present."""
        ended = self.outcome.model_dump(mode="json") if self.outcome else {}
        return {
            "run_id": self.run_id,
            "status": self.status,
            "reason": ended.get("reason"),
            "message": ended.get("message"),
            "answer": ended.get("answer"),
            "steps": ended.get("steps", self.steps),
            "evidence": ended.get("evidence", []),
            "checks": ended.get("checks", []),
            "changes": ended.get("changes", []),
            "unfinished": ended.get("unfinished", []),
            "usage": ended.get("usage"),
            "pending": self.pending,
        }
