"""What happened, as it happens: LangGraph's updates turned into events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.graphs.thoughts import OnThought, Thoughts
from interlock.policies.outcomes import Outcome
from interlock.policies.runs import Run
from interlock.policies.steps import merge_steps

__all__ = ["Event", "Follower", "OnEvent"]


@dataclass(frozen=True, slots=True)
class Event:
    """One node has finished, or the run waits for a person."""

    node: str
    """Name of the node; `interrupt` when the run waits."""
    run_id: str
    step: int
    record: Mapping[str, Any]
    """The step's record so far (dumped StepRecord)."""
    control: Mapping[str, Any]
    """The dumped Control."""
    outcome: Mapping[str, Any] | None = None
    """The dumped Outcome, with the last event of a run."""
    pending: tuple[Mapping[str, Any], ...] = ()
    """Open questions, with an `interrupt` event."""


OnEvent = Callable[[Event], None]


class Follower:
    """Turns the graph's updates into events, and remembers where they led."""

    def __init__(
        self,
        run_id: str,
        on_event: OnEvent | None,
        known: Mapping[str, Any],
        on_thought: OnThought | None = None,
    ) -> None:
        self._run_id = run_id
        self._on_event = on_event
        self._steps: list[dict[str, Any]] = list(known.get("scratchpad") or [])[-1:]
        self._thoughts = Thoughts(run_id, on_thought) if on_thought is not None else None
        self._control: Mapping[str, Any] = known.get("control") or {}
        self.outcome: Mapping[str, Any] | None = None
        """The dumped Outcome, once it was seen."""
        self.pending: tuple[Mapping[str, Any], ...] = ()
        """Open questions, once the graph has stopped for them."""

    @property
    def step(self) -> int:
        """Number of the current step; 0 before the first."""
        return int(self._control.get("step", 0))

    @property
    def modes(self) -> list[str]:
        """LangGraph's stream modes that are followed: messages only while somebody listens."""
        return ["updates"] if self._thoughts is None else ["updates", "messages"]

    def follow(self, mode: str, item: Any) -> None:
        """One item of LangGraph's stream in these modes."""
        if mode == "updates":
            if self._thoughts is not None:
                self._thoughts.end()
            self.take(item)
        elif self._thoughts is not None:
            message, metadata = item
            self._thoughts.take(message, metadata, self.step + 1)

    def take(self, update: Mapping[str, Any]) -> None:
        """One item of LangGraph's `updates` stream."""
        for node, change in update.items():
            if node == "__interrupt__":
                self.pending = tuple(_question(one.value) for one in change)
                self._emit("interrupt")
            elif isinstance(change, Mapping):
                self._control = change.get("control", self._control)
                self._steps = merge_steps(self._steps, [change.get("scratchpad") or []])[-1:]
                self.outcome = change.get("outcome")
                self._emit(node)

    def run(self) -> Run | None:
        """The run after the graph has stopped, from what was streamed; None when that does not say."""
        if self.outcome is not None:
            ended = Outcome.load(self.outcome)
            return Run(run_id=self._run_id, status=ended.status, outcome=ended, steps=ended.steps)
        if self.pending:
            pending = [dict(one) for one in self.pending]
            return Run(run_id=self._run_id, status="waiting", pending=pending, steps=self.step)
        return None

    def _emit(self, node: str) -> None:
        if self._on_event is not None:
            record = self._steps[-1] if self._steps else {}
            self._on_event(
                Event(node, self._run_id, self.step, record, self._control, self.outcome, self.pending)
            )


def _question(value: Any) -> Mapping[str, Any]:
    """An interrupt's value; one that is not ours (a tool that pauses) is wrapped."""
    return dict(value) if isinstance(value, Mapping) else {"value": value}
