"""Taking a run that a limit has stopped up again, with more room. No node runs in here."""

from __future__ import annotations

from typing import Any, Final

from langgraph.types import StateSnapshot

from interlock.policies.budget import Grant, Limit
from interlock.policies.control import Control, Phase
from interlock.policies.errors import BadGrant
from interlock.policies.questions import HumanDecision
from interlock.policies.runs import RunRow

__all__ = ["REOPENED_BEHIND", "reopened"]

REOPENED_BEHIND: Final[Phase] = "normalize"
"""Where the run stands again: every step that a limit stopped has its observation, and think comes next."""


def reopened(
    snapshot: StateSnapshot, row: RunRow, decision: HumanDecision | None, add: Grant
) -> dict[str, Any]:
    """The update of the state that takes the outcome back and adds to the bounds.

    Raises:
        BadGrant: the run has not ended, no limit ended it, or what is added does not lift that limit.
    """
    if decision is not None:
        raise BadGrant("a run that a limit has stopped asks nothing: add to its bounds without a decision")
    if row.outcome is None:
        raise BadGrant(f"run {row.run_id} has not ended; raise a bound when it has stopped the run")
    _check(row.run_id, row.outcome.limit, add)
    if not snapshot.values.get("outcome"):  # the process died between the two files' writes: added already
        return {}
    control = Control.load(snapshot.values["control"])
    granted = (control.granted or Grant()).plus(add)
    changes = {"stop": None, "stop_detail": "", "limit": None, "granted": granted, "phase": REOPENED_BEHIND}
    return {"control": control.model_copy(update=changes).dump(), "outcome": None}


def _check(run_id: str, limit: Limit | None, add: Grant) -> None:
    if limit is None or limit.go_on is None:
        raise BadGrant(f"run {run_id} was not stopped by a bound that can be raised; start a new run")
    given: Any = getattr(add, limit.go_on)
    if limit.go_on == "calls":
        given = add.calls.get(limit.name.partition("[")[2].rstrip("]"), 0)
    if not given:
        raise BadGrant(
            f"run {run_id} stopped at {limit.name} ({limit.used} used of {limit.value}): add {limit.go_on}"
        )
