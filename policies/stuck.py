"""What a finished step does to the counters of a run. Pure."""

from __future__ import annotations

from typing import Any

from interlock.policies.budget import Budget
from interlock.policies.control import Control
from interlock.policies.limits import stop
from interlock.policies.observations import Observation
from interlock.policies.outcomes import Reason

__all__ = ["after_step"]


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
