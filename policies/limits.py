"""Limits, checked before the spending. Pure: what was used, what is allowed → stop or go on."""

from __future__ import annotations

from typing import Any

from interlock.policies.budget import Budget
from interlock.policies.contracts import Contract
from interlock.policies.control import Control
from interlock.policies.observations import Observation
from interlock.policies.outcomes import Reason

__all__ = ["after_step", "before_action", "before_model", "before_tool", "stop"]


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


def after_step(
    control: Control, budget: Budget, observation: Observation, invalid: bool, seen: int
) -> tuple[dict[str, Any], str]:
    """What a finished step does to the counters: changes of the control, and a warning for the model.

    Args:
        invalid: the step had no valid decision.
        seen: how often the same action had given the same result before.
    """
    counts = {
        "invalid": control.invalid + 1 if invalid else 0,
        "failures": control.failures + 1 if observation.status != "ok" else 0,
    }
    if control.stop is not None:
        return counts, ""
    if counts["invalid"] >= budget.max_invalid:
        return counts | stop(Reason.INVALID_DECISIONS, f"{counts['invalid']} invalid decisions in a row"), ""
    if counts["failures"] >= budget.max_failures:
        return counts | stop(
            Reason.FAILURE_LIMIT, f"{counts['failures']} steps in a row ended in an error"
        ), ""
    if seen >= budget.max_repeats - 1 and not invalid:
        detail = f"the same action gave the same result {seen + 1} times"
        return counts | stop(Reason.REPEATED_ACTION, detail), ""
    if seen:
        return counts, "this action already gave this result; repeating it changes nothing"
    return counts, ""
