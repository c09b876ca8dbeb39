"""What the nodes need from the outside, as narrow protocols.

Every method may be a plain function or a coroutine function: nodes call them through `deps.io`, so one logic
serves the sync and the async graph, and a store on another database changes nothing here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol, TypeVar

from interlock.policies.effects import EffectRow
from interlock.policies.observations import ToolResult
from interlock.policies.outcomes import Outcome
from interlock.policies.questions import Approval, HumanDecision, Question
from interlock.policies.replies import Expected, Reply, Room
from interlock.policies.runs import RunRow

T = TypeVar("T")

__all__ = ["IO", "Approvals", "Clock", "Ids", "Ledger", "ModelCall", "Payloads", "Ports", "Runs", "Traces"]


class IO(Protocol):
    """How the running graph calls a port: directly in a sync run, off the event loop in an async one."""

    def __call__(self, call: Callable[..., T | Awaitable[T]], /, *args: Any) -> Awaitable[T]: ...


class Clock(Protocol):
    """Time, injected."""

    def now(self) -> datetime:
        """The current time, UTC, timezone-aware."""
        ...

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        ...


class Ids(Protocol):
    """Identifiers, injected."""

    def __call__(self) -> str:
        """A new identifier, unique in the store."""
        ...


class ModelCall(Protocol):
    """One model call, rendered and ready to be made. Never raises for what the model or its server does."""

    def expected(self) -> Expected:
        """What one attempt will take, on the safe side."""
        ...

    def decide(self, room: Room) -> Reply:
        """Make the call; a failure is in the reply."""
        ...

    async def adecide(self, room: Room) -> Reply:
        """The same for the async graph."""
        ...


class Runs(Protocol):
    """The runs of a store."""

    def ensure(self, run_id: str, goal: str, fingerprint: str, at: str) -> None:
        """Make sure that the run has a row. Does nothing when it has one."""
        ...

    def create(
        self, run_id: str, goal: str, fingerprint: str, *, loop: str, spec: dict[str, Any], at: str
    ) -> None:
        """Add a run. Raises RunExists when the id is taken."""
        ...

    def get(self, run_id: str) -> RunRow:
        """The run. Raises UnknownRun."""
        ...

    def request_cancel(self, run_id: str, by: str) -> None:
        """Ask for the run's end. Raises UnknownRun."""
        ...

    def lease(self, run_id: str) -> AbstractContextManager[Any]:
        """Hold the run while driving it. Raises RunBusy when another live process holds it."""
        ...

    def cancel_requested(self, run_id: str) -> bool:
        """True when somebody asked for the run's end."""
        ...

    def reopen(self, run_id: str, at: str) -> None:
        """Take the outcome of a run back, because its bounds were raised."""
        ...

    def finish(self, run_id: str, outcome: Outcome, at: str) -> None:
        """Record the outcome. Idempotent."""
        ...


class Approvals(Protocol):
    """Questions to people, and their decisions: the single place where a decision becomes valid."""

    def open(self, question: Question) -> Approval:
        """Store the question unless its `approval_id` is known; either way return what the store holds."""
        ...

    def get(self, approval_id: str) -> Approval | None: ...

    def decide(self, approval_id: str, decision: HumanDecision, at: str) -> Approval:
        """Compare-and-set from pending to decided.

        Raises:
            AlreadyDecided: another decision was first, or the question expired or was abandoned.
            UnknownApproval: no such question.
        """
        ...

    def close(self, approval_id: str, status: str, at: str) -> Approval:
        """Compare-and-set from pending to `expired` or `abandoned`; returns what the store then holds."""
        ...

    def pending(self, run_id: str | None = None) -> list[Approval]:
        """Open questions, of one run or of all."""
        ...

    def of_run(self, run_id: str) -> list[Approval]:
        """All questions of a run, open or closed, oldest first."""
        ...

    def rejected(self, run_id: str, digest: str) -> Approval | None:
        """The rejection of the same action in the same run, if there is one."""
        ...


class Ledger(Protocol):
    """The write-ahead record of effects."""

    def begin(self, intent: EffectRow) -> EffectRow | None:
        """Commit the intent. None: it is new or was cleared, the tool may run. A row: what is known of it."""
        ...

    def retry(self, key: str, at: str) -> None:
        """Count one more start of an idempotent action under the same key."""
        ...

    def finish(self, key: str, result: ToolResult, summary: str, at: str) -> None:
        """The effect happened, with this result. Idempotent."""
        ...

    def doubt(self, key: str, at: str) -> None:
        """The effect may or may not have happened."""
        ...

    def clear(self, key: str, at: str) -> None:
        """The effect did not happen: it may run under the same key."""
        ...

    def late(self, key: str, summary: str, at: str) -> None:
        """Record what a timed-out call returned afterwards."""
        ...

    def of_action(self, run_id: str, digest: str) -> list[EffectRow]:
        """The effects of one exact action in a run, in the order in which they started."""
        ...

    def of_run(self, run_id: str) -> list[EffectRow]:
        """All effects of a run, in the order in which they started."""
        ...


class Payloads(Protocol):
    """Raw values by content hash."""

    def put(self, value: Any) -> tuple[str, int]:
        """Store plain JSON data. Returns its reference (SHA-256, hex) and its size in bytes."""
        ...

    def get(self, ref: str) -> Any:
        """The stored value. Raises KeyError when the reference is unknown."""
        ...


class Traces(Protocol):
    """One record per step."""

    def record(self, run_id: str, step: int, record: dict[str, Any]) -> None:
        """Store the step's record. Writing the same step again replaces it."""
        ...

    def steps(self, run_id: str) -> list[dict[str, Any]]:
        """The records of a run, in the order of their steps."""
        ...


class Ports(Protocol):
    """The store, as the nodes see it."""

    @property
    def runs(self) -> Runs: ...
    @property
    def approvals(self) -> Approvals: ...
    @property
    def ledger(self) -> Ledger: ...
    @property
    def payloads(self) -> Payloads: ...
    @property
    def traces(self) -> Traces: ...
