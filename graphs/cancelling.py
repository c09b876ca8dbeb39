"""Ending a run from any process."""

from __future__ import annotations

from interlock.graphs.inspecting import INSIDE, inspect
from interlock.graphs.loop import Loop
from interlock.graphs.running import aresume, resume
from interlock.nodes.ports import Ports
from interlock.policies.errors import BadLoop, RunBusy, RunFinished
from interlock.policies.runs import Run

__all__ = ["acancel", "cancel"]


def cancel(store: Ports, run_id: str, *, by: str = "unknown", loop: Loop | None = None) -> Run:
    """Ask for the end of a run, from any process.

    A process that drives the run stops before its next node or tool. When nobody drives it and `loop` is
    given, the run is driven to its cancelled outcome here.

    Raises:
        UnknownRun: there is no such run.
        RunFinished: the run has an outcome already.
    """
    _request_cancel(store, run_id, by)
    if loop is not None and INSIDE not in run_id:
        try:
            return resume(loop, run_id)
        except (RunBusy, RunFinished):
            pass
    return inspect(store, run_id)


async def acancel(store: Ports, run_id: str, *, by: str = "unknown", loop: Loop | None = None) -> Run:
    """`cancel` for a running event loop."""
    _request_cancel(store, run_id, by)
    if loop is not None and INSIDE not in run_id:
        try:
            return await aresume(loop, run_id)
        except (RunBusy, RunFinished):
            pass
    return inspect(store, run_id)


def _request_cancel(store: Ports, run_id: str, by: str) -> None:
    if not hasattr(store, "runs"):
        raise BadLoop(f"cancel takes what open_store(path) returns, not {type(store).__name__}")
    row = store.runs.get(run_id)
    if row.outcome is not None:
        raise RunFinished(f"run {run_id} ended: {row.outcome.status}, {row.outcome.reason}")
    store.runs.request_cancel(run_id, by)
