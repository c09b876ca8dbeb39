"""When a run is stuck: what a finished step does to the counters. Pure.

Three rules: the same action with the same result (`max_repeats`), steps that bring nothing new (`max_stale`),
and errors in a row (`max_failures`). Each warns the model once, one step before its bound, where the bound
leaves room for that (`max_repeats` from 3, the others from 2); then the run stops, or a person is asked.
"""

from __future__ import annotations

from typing import Any, Literal

from interlock.policies.budget import Budget, Limit
from interlock.policies.control import Control
from interlock.policies.limits import stop
from interlock.policies.observations import Observation
from interlock.policies.outcomes import Reason
from interlock.policies.progress import Progress

__all__ = ["after_step", "fresh_start"]

CIRCLE_NAMES = 6
"""Actions of a circle that a message names."""


def after_step(
    control: Control,
    budget: Budget,
    observation: Observation,
    invalid: bool,
    found: Progress,
    on_stuck: Literal["stop", "ask"] = "stop",
) -> tuple[dict[str, Any], list[str]]:
    """What a finished step does to the counters: changes of the control, and warnings for the model.

    Args:
        invalid: the step had no valid decision.
        found: what the step brought.
        on_stuck: `ask` sets `stuck` instead of `stop`, unless no step is left in which advice could help.
    """
    failed = observation.status != "ok" and not found.advised
    counts = {
        "invalid": control.invalid + 1 if invalid else 0,
        "failures": control.failures + 1 if failed else 0,
    }
    if control.stop is not None:
        return counts, []
    if counts["invalid"] >= budget.max_invalid:
        detail = f"{counts['invalid']} invalid decisions in a row"
        limit = _limit("max_invalid", budget.max_invalid, counts["invalid"])
        return counts | stop(Reason.INVALID_DECISIONS, detail, limit), []
    if bound := _reached(counts["failures"], budget, found, invalid):
        if on_stuck == "ask" and control.step < budget.max_steps:
            return counts | _asking(*bound), []
        return counts | stop(*bound), []
    return counts, _warnings(counts["failures"], budget, found, invalid)


def fresh_start(step: int) -> dict[str, Any]:
    """The changes of the control after a person's advice in `step`: the counting begins anew behind it."""
    return {"fresh_from": step + 1, "failures": 0, "stop_detail": "", "stuck_by": None, "limit": None}


def _asking(reason: Reason, detail: str, limit: Limit) -> dict[str, Any]:
    return {"stuck": True, "stuck_by": reason, "stop_detail": detail, "limit": limit}


def _reached(
    failures: int, budget: Budget, found: Progress, invalid: bool
) -> tuple[Reason, str, Limit] | None:
    """The bound that is reached, with what was repeated and how often."""
    times, stale = found.repeats + 1, len(found.trail)
    if found.repeats >= max(1, budget.max_repeats - 1) and not invalid:
        return Reason.REPEATED_ACTION, _repeated(found), _limit("max_repeats", budget.max_repeats, times)
    if failures >= budget.max_failures:
        limit = _limit("max_failures", budget.max_failures, failures)
        return Reason.FAILURE_LIMIT, _failed(failures, found), limit
    if stale >= budget.max_stale:
        detail = f"{stale} steps in a row brought no new result, no new fact and no change"
        detail += f"; the last was {found.action}" if found.action else ""
        return Reason.NO_PROGRESS, detail, _limit("max_stale", budget.max_stale, stale)
    return None


def _warnings(failures: int, budget: Budget, found: Progress, invalid: bool) -> list[str]:
    told: list[str] = []
    last_but_one = budget.max_repeats - 2
    if found.repeats == last_but_one > 0 and last_but_one not in found.trail[:-1] and not invalid:
        told.append(
            "this action already gave this result; repeating it changes nothing, and the next repeat stops "
            f"the run{_round(found)}"
        )
    if failures == budget.max_failures - 1 > 0:
        told.append(f"{_failed(failures, found)}; one more error stops the run{_advice(found)}")
    if len(found.trail) == budget.max_stale - 1 > 0 and not found.waiting:
        told.append(
            f"the last {len(found.trail)} steps brought nothing new; one more like them stops the run: "
            "try something else, ask, or say what is in the way"
        )
    return told


def _repeated(found: Progress) -> str:
    return f"the same action gave the same result {found.repeats + 1} times: {found.action}{_round(found)}"


def _round(found: Progress) -> str:
    if len(found.circle) < 2:
        return ""
    names = ", ".join(found.circle[:CIRCLE_NAMES])
    return f" (in a circle of {len(found.circle)}: {names}{', …' if found.circle[CIRCLE_NAMES:] else ''})"


def _failed(failures: int, found: Progress) -> str:
    if found.guesses > 1 and found.guesses >= failures:
        return (
            f"{found.tool} failed in the same way {failures} times in a row, with other arguments each time"
        )
    return f"{failures} steps in a row ended in an error"


def _advice(found: Progress) -> str:
    return ": do not guess, look up what exists" if found.guesses > 1 else ""


def _limit(name: str, bound: int, used: int) -> Limit:
    return Limit(name=name, value=str(bound), used=str(used))
