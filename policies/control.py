"""The small part of the state that every node reads and rewrites."""

from __future__ import annotations

from typing import Literal

from interlock.policies.budget import Grant, Limit, Usage
from interlock.policies.outcomes import Reason
from interlock.policies.record import Record

__all__ = ["SCHEMA_VERSION", "SCHEMA_VERSIONS", "Control", "Phase"]

SCHEMA_VERSION = 1
SCHEMA_VERSIONS = {1: "first version"}
"""One line per version of the saved state."""

Phase = Literal["think", "authorize", "execute", "normalize", "verify"]


class Control(Record):
    """Where the run stands. Saved in every checkpoint, so it stays small."""

    schema_version: int = SCHEMA_VERSION
    run_id: str
    goal: str
    fingerprint: str
    """Hash over graph, tools, contracts and policy of the loop that started the run."""
    phase: Phase | None = None
    """The node that finished last; None before the first."""
    step: int = 0
    """Number of the current step; 0 before the first."""
    stop: Reason | None = None
    """Set when the run has to end; verify writes the outcome."""
    stop_detail: str = ""
    """Why, in words that a person can act on."""
    limit: Limit | None = None
    """The bound that ended the run, where one did."""
    granted: Grant | None = None
    """What people added to the bounds."""
    fresh_from: int = 1
    """First step that counts when progress is judged: behind a person's advice for a stuck run."""
    doubt: bool = False
    """An earlier effect is in doubt: authorize has to ask a person."""
    stuck: bool = False
    """The run makes no progress: authorize has to ask a person."""
    stuck_by: Reason | None = None
    """The reason with which a stuck run ends when nobody helps; `stop_detail` has the words."""
    attempt: int = 0
    """How often this step came back to authorize; part of the approval id."""
    failures: int = 0
    """Consecutive steps that ended in an error."""
    invalid: int = 0
    """Consecutive invalid decisions."""
    rejected: int = 0
    """Rejected final answers."""
    calls: dict[str, int] = {}
    """Tool calls so far, by tool."""
    usage: Usage = Usage()
