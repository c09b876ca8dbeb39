"""Where a run stands, from the store alone."""

from __future__ import annotations

from interlock.nodes.ports import Ports
from interlock.policies.errors import BadLoop
from interlock.policies.runs import Run

__all__ = ["INSIDE", "inspect"]

INSIDE = "/"
"""In the id of a run, what stands between a parent's thread and the loop inside it."""


def inspect(store: Ports, run_id: str) -> Run:
    """Where a run stands, from the store alone. Raises UnknownRun."""
    if not hasattr(store, "runs"):
        raise BadLoop(f"inspect takes what open_store(path) returns, not {type(store).__name__}")
    row = store.runs.get(run_id)
    asked = store.approvals.pending(run_id)
    pending = [approval.payload() for approval in asked]
    begun = [approval.question.step for approval in asked]
    steps = row.outcome.steps if row.outcome else max([len(store.traces.steps(run_id)), *begun])
    return Run(run_id=run_id, status=row.status, outcome=row.outcome, pending=pending, steps=steps)
