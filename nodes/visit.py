"""What every node does on the way in and on the way out: check the phase, read, time, write back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.nodes.deps import Deps
from interlock.policies.budget import Budget
from interlock.policies.control import SCHEMA_VERSION, Control, Phase
from interlock.policies.errors import LoopBroken, LoopChanged
from interlock.policies.outcomes import Reason
from interlock.policies.record import Record
from interlock.policies.steps import StepRecord
from interlock.policies.transitions import check_transition

__all__ = ["State", "Update", "Visit", "enter", "iso"]

State = Mapping[str, Any]
"""The saved state as LangGraph hands it to a node: plain JSON data by channel."""

Update = dict[str, Any]
"""What a node returns: plain JSON data by channel."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One pass through one node: the validated state, and when the pass began."""

    node: Phase
    control: Control
    record: StepRecord | None
    """The current step's record; None before the first step."""
    state: State
    began: float
    """`clock.monotonic()` on entry, seconds."""

    def step_record(self) -> StepRecord:
        """The current step's record. Raises LoopBroken when there is none."""
        if self.record is None or self.record.step != self.control.step:
            raise LoopBroken(f"{self.node} was entered in step {self.control.step}, which has no record")
        return self.record

    def bounds(self, deps: Deps) -> Budget:
        """The bounds of the run, with what people added to them."""
        return deps.budget.plus(self.control.granted)

    def leave(self, deps: Deps, *, part: Mapping[str, Any] | None = None, **changes: Any) -> Update:
        """The update of this pass: the control with `changes`, and this node's part of the step record."""
        spent = deps.clock.monotonic() - self.began
        usage = changes.pop("usage", self.control.usage)
        usage = usage.model_copy(update={"active_seconds": round(usage.active_seconds + spent, 6)})
        control = self.control.model_copy(update={**changes, "phase": self.node, "usage": usage})
        update: Update = {"control": control.dump()}
        if part is not None:
            plain = {key: _dump(value) for key, value in part.items() if value is not None}
            phases = {self.node: round(spent * 1000, 3)}
            update["scratchpad"] = [{"step": control.step, **plain, "phases": phases}]
        return update


def enter(node: Phase, state: State, deps: Deps) -> Visit:
    """Validate the state on entry to a node.

    Raises:
        IllegalTransition: the node may not follow the phase that finished last.
        LoopChanged: the run was started by another loop.
        LoopBroken: the state is missing, of a newer schema, or not what this node wrote.
    """
    began = deps.clock.monotonic()
    raw = state.get("control")
    if not raw:
        raise LoopBroken(f"{node} was entered before think had started the run")
    version = raw.get("schema_version", 0)
    if version > SCHEMA_VERSION:
        raise LoopBroken(
            f"the run was saved with schema {version}; this version knows up to {SCHEMA_VERSION}"
        )
    control = Control.load(raw)
    if control.fingerprint != deps.fingerprint:
        raise LoopChanged(
            f"run {control.run_id} was started by a loop with other tools, contracts or policy, or other "
            "demands on the answer; resume it with that loop"
        )
    check_transition(control.phase, node)
    steps = state.get("scratchpad") or ()
    record = StepRecord.load(steps[-1]) if steps else None
    return Visit(node, control, record, state, began)


async def cancelled(visit: Visit, deps: Deps) -> dict[str, Any]:
    """The changes that end the run when somebody asked for its end; empty otherwise."""
    if visit.control.stop is None and await deps.io(deps.store.runs.cancel_requested, visit.control.run_id):
        return {"stop": Reason.CANCELLED, "stop_detail": "the run was cancelled on request"}
    return {}


def iso(deps: Deps) -> str:
    """The current time, UTC, ISO 8601."""
    return deps.clock.now().isoformat()


def _dump(value: Any) -> Any:
    if isinstance(value, Record):
        return {key: item for key, item in value.dump().items() if item != []}
    if isinstance(value, list):
        return [_dump(item) for item in value]
    return value
