"""Limits, checked before the spending. Pure: what was used, what is allowed → stop or go on."""

from __future__ import annotations

from typing import Any

from interlock.policies.budget import Budget
from interlock.policies.contracts import Contract
from interlock.policies.control import Control
from interlock.policies.outcomes import Reason

__all__ = ["before_action", "before_model", "before_tool", "stop"]


def stop(reason: Reason, detail: str) -> dict[str, Any]:
    """The changes of the control that end the run."""
    return {"stop": reason, "stop_detail": detail}


def before_model(control: Control, budget: Budget) -> dict[str, Any]:
    """Changes that end the run before a model call would exceed a limit; empty when it may go on."""
    if control.stop is not None:
        return {"stop": control.stop}
    if control.step >= budget.max_steps:
        return stop(Reason.STEP_LIMIT, f"the limit of {budget.max_steps} steps is reached")
    return {}


def before_action(control: Control, budget: Budget) -> dict[str, Any]:
    """Changes that end the run before anybody is asked about an action that could not run."""
    if control.stop is not None:
        return {"stop": control.stop, "stop_detail": control.stop_detail}
    if control.step >= budget.max_steps and not control.doubt:
        return stop(
            Reason.STEP_LIMIT,
            f"the limit of {budget.max_steps} steps is reached; what was proposed on the last step did not "
            "run, because no step is left to look at what it does",
        )
    return {}


def before_tool(control: Control, budget: Budget, tool: str, contract: Contract) -> dict[str, Any]:
    """Changes that end the run before one more tool call would exceed a limit; empty when it may run."""
    if stopped := before_action(control, budget):
        return stopped
    if contract.max_calls is not None and control.calls.get(tool, 0) >= contract.max_calls:
        return stop(Reason.CALL_LIMIT, f"{tool} may be called {contract.max_calls} times in a run")
    return {}
