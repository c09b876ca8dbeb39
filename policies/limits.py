"""Limits, checked before the spending. Pure: what was used, what is allowed → stop or go on."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from interlock.policies.budget import Budget, Limit
from interlock.policies.contracts import Contract
from interlock.policies.control import Control
from interlock.policies.outcomes import Reason
from interlock.policies.replies import Expected, Room

__all__ = [
    "before_action",
    "before_call",
    "before_model",
    "before_tool",
    "call_bound",
    "room_for",
    "seconds_left",
    "stop",
]

Stop = dict[str, Any]
"""Changes of the control that end the run; empty when it may go on."""


def stop(reason: Reason, detail: str, limit: Limit | None = None) -> Stop:
    """The changes of the control that end the run."""
    return {"stop": reason, "stop_detail": detail, "limit": limit}


def before_model(control: Control, budget: Budget, now: datetime) -> Stop:
    """Ends the run before a step that its bounds do not allow.

    Args:
        budget: with what people added.
    """
    return _first((_already(control), _step(control, budget), _time(control, budget, now)))


def before_call(control: Control, budget: Budget, expected: Expected) -> Stop:
    """Ends the run before a model call whose tokens or money are more than what is left."""
    usage = control.usage
    used = usage.input_tokens + usage.output_tokens
    if used + expected.tokens.total > budget.max_tokens:
        limit = Limit(name="max_tokens", value=str(budget.max_tokens), used=str(used), go_on="tokens")
        return stop(
            Reason.TOKEN_LIMIT,
            f"the next model call needs about {expected.tokens.total} tokens; {used} of at most "
            f"{budget.max_tokens} are used",
            limit,
        )
    return _money(control, budget, expected)


def room_for(control: Control, budget: Budget, expected: Expected, now: datetime) -> Room:
    """How many attempts of a call the tokens and the money suffice for, and how long they may take."""
    usage = control.usage
    tokens = budget.max_tokens - usage.input_tokens - usage.output_tokens
    cost = None if budget.max_cost is None else budget.max_cost - usage.cost
    attempts = tokens // max(1, expected.tokens.total)
    if cost is not None and expected.cost:
        attempts = min(attempts, int(cost / expected.cost))
    seconds = max(0.001, seconds_left(control, budget, now))
    return Room(attempts=max(1, attempts), seconds=seconds, tokens=tokens, cost=cost)


def before_action(
    control: Control, budget: Budget, now: datetime, tool: str = "", contract: Contract | None = None
) -> Stop:
    """Ends the run before anybody is asked about an action that could not run.

    Args:
        tool, contract: of the action, where it is one that a tool carries out.
    """
    if control.doubt:
        return _already(control)
    calls = _calls(control, budget, tool, contract) if contract is not None else {}
    return _first((_already(control), _last_step(control, budget), _time(control, budget, now), calls))


def before_tool(control: Control, budget: Budget, now: datetime, tool: str, contract: Contract) -> Stop:
    """Ends the run before one more tool call would exceed a limit."""
    return before_action(control, budget, now, tool, contract)


def call_bound(control: Control, budget: Budget, tool: str, contract: Contract) -> int | None:
    """Calls of a tool that are allowed in this run; None leaves it to the steps."""
    bounds = [one for one in (contract.max_calls, budget.max_calls.get(tool)) if one is not None]
    granted = control.granted.calls.get(tool, 0) if control.granted else 0
    return min(bounds) + granted if bounds else None


def seconds_left(control: Control, budget: Budget, now: datetime) -> float:
    """Seconds until the first bound on time; 0 or less when one is reached."""
    left = budget.max_seconds - control.usage.active_seconds
    return left if budget.deadline is None else min(left, (budget.deadline - now).total_seconds())


def out_of_time(control: Control, budget: Budget, now: datetime) -> Limit:
    """The bound on time that ends before the other one."""
    active_left = budget.max_seconds - control.usage.active_seconds
    if budget.deadline is not None and (budget.deadline - now).total_seconds() < active_left:
        return Limit(
            name="deadline", value=budget.deadline.isoformat(), used=now.isoformat(), go_on="deadline"
        )
    used = control.usage.active_seconds
    return Limit(name="max_seconds", value=f"{budget.max_seconds:g}", used=f"{used:.3f}", go_on="seconds")


def _already(control: Control) -> Stop:
    return {} if control.stop is None else stop(control.stop, control.stop_detail, control.limit)


def _step(control: Control, budget: Budget) -> Stop:
    if control.step < budget.max_steps:
        return {}
    detail = f"the limit of {_steps(budget)} is reached"
    return stop(Reason.STEP_LIMIT, detail, _step_limit(control, budget))


def _last_step(control: Control, budget: Budget) -> Stop:
    if control.step < budget.max_steps:
        return {}
    return stop(
        Reason.STEP_LIMIT,
        f"the limit of {_steps(budget)} is reached; what was proposed on the last step did not run, "
        "because no step is left to look at what it does",
        _step_limit(control, budget),
    )


def _time(control: Control, budget: Budget, now: datetime) -> Stop:
    if budget.deadline is not None and now >= budget.deadline:
        detail = f"the deadline {budget.deadline.isoformat()} has passed"
        return stop(Reason.TIME_LIMIT, detail, out_of_time(control, budget, now))
    used = control.usage.active_seconds
    if used < budget.max_seconds:
        return {}
    detail = f"{used:.1f} of at most {budget.max_seconds:g} active seconds are used"
    return stop(Reason.TIME_LIMIT, detail, out_of_time(control, budget, now))


def _money(control: Control, budget: Budget, expected: Expected) -> Stop:
    """A call whose price is not known counts as too much wherever money is bounded."""
    if budget.max_cost is None:
        return {}
    used, cost = control.usage.cost, expected.cost
    if cost is not None and used + cost <= budget.max_cost:
        return {}
    needs = "has no known price" if cost is None else f"needs about {_dollars(cost)}"
    most = _dollars(budget.max_cost)
    limit = Limit(name="max_cost", value=most, used=_dollars(used), go_on="cost")
    return stop(
        Reason.COST_LIMIT,
        f"the next model call {needs}; {_dollars(used)} of at most {most} US dollars are spent",
        limit,
    )


def _calls(control: Control, budget: Budget, tool: str, contract: Contract) -> Stop:
    bound, used = call_bound(control, budget, tool, contract), control.calls.get(tool, 0)
    if bound is None or used < bound:
        return {}
    limit = Limit(name=f"max_calls[{tool}]", value=str(bound), used=str(used), go_on="calls")
    times = "once" if bound == 1 else "never" if bound == 0 else f"{bound} times"
    return stop(Reason.CALL_LIMIT, f"{tool} may be called {times} in a run", limit)


def _step_limit(control: Control, budget: Budget) -> Limit:
    return Limit(name="max_steps", value=str(budget.max_steps), used=str(control.step), go_on="steps")


def _steps(budget: Budget) -> str:
    return "1 step" if budget.max_steps == 1 else f"{budget.max_steps} steps"


def _dollars(amount: Decimal) -> str:
    return format(amount.normalize(), "f")


def _first(stops: Iterable[Stop]) -> Stop:
    return next((one for one in stops if one), {})
