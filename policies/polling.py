"""Polling: a read that its contract lets repeat, spaced and capped, until a condition holds. Pure.

Everything comes from the step records, so that a new process goes on where the old one stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from interlock.policies.budget import Budget, Limit
from interlock.policies.contracts import Poll
from interlock.policies.control import Control
from interlock.policies.limits import stop
from interlock.policies.observations import Polled, Status
from interlock.policies.outcomes import Reason
from interlock.policies.queries import pick
from interlock.policies.record import JsonValue
from interlock.policies.verdicts import Deny

__all__ = ["calls_made", "cap_reached", "looked", "out_of_time", "seconds_to_wait", "told"]

Step = Mapping[str, Any]


def looked(poll: Poll, status: Status, raw: JsonValue, at: str) -> Polled:
    """What one call says about the condition. It does not hold on an error, or when it cannot be evaluated.

    Args:
        raw: the result as plain JSON.
        at: time at which the call ended, UTC, ISO 8601.
    """
    if status != "ok":
        return Polled(held=False, ended_at=at)
    found = pick(poll.until, raw)
    return Polled(held=_true(found.value), ended_at=at, note=found.note)


def calls_made(steps: Sequence[Step], digest: str) -> list[Step]:
    """The steps that really called this action, oldest first."""
    return [
        step
        for step in steps
        if (step.get("ticket") or {}).get("digest") == digest and (step.get("result") or {}).get("polled")
    ]


def cap_reached(tool: str, poll: Poll, steps: Sequence[Step], digest: str) -> Deny | None:
    """The denial of one more call of this action than the contract allows in a run.

    It names the last result. Outside content is not quoted, because the denial itself is the loop's own word.
    """
    calls = calls_made(steps, digest)
    if len(calls) < poll.max_calls:
        return None
    last = calls[-1]
    seen = last.get("observation") or {}
    ref = f", raw_ref {seen['raw_ref']}" if seen.get("raw_ref") else ""
    said = f": {seen.get('summary')}" if seen.get("trust") == "trusted" else ""
    held = "holds" if last["result"]["polled"]["held"] else "did not hold yet"
    return Deny(
        rule="poll_cap",
        reason=f"{tool} may be polled at most {poll.max_calls} times in a run with these arguments, and was; "
        f"the condition {poll.until} {held}; the last result is that of step {last['step']}, "
        f"{seen.get('status')}{ref}{said}",
    )


def seconds_to_wait(poll: Poll, steps: Sequence[Step], digest: str, now: datetime) -> float:
    """Seconds until the action may be called again, at most the interval, whatever the clock says."""
    calls = calls_made(steps, digest)
    if not calls:
        return 0.0
    ended = datetime.fromisoformat(calls[-1]["result"]["polled"]["ended_at"])
    return min(poll.interval_s, max(0.0, poll.interval_s - (now - ended).total_seconds()))


def out_of_time(control: Control, budget: Budget, spent: float, wait: float, now: datetime) -> dict[str, Any]:
    """Changes that end the run because a wait would go past its time; empty when it fits.

    Args:
        budget: the bounds with what people added to them.
        spent: seconds of this pass so far.
        wait: seconds that would be waited.
    """
    if wait <= 0:
        return {}
    used, due = control.usage.active_seconds + spent, f"the next poll is due in {wait:.1f} s"
    if used + wait >= budget.max_seconds:
        bound = f"{budget.max_seconds:g}"
        limit = Limit(name="max_seconds", value=bound, used=f"{used:.3f}", go_on="seconds")
        detail = f"{due}, and {used:.1f} of {bound} active seconds are used"
    elif budget.deadline and (budget.deadline - now).total_seconds() <= wait:
        bound = budget.deadline.isoformat()
        limit = Limit(name="deadline", value=bound, used=now.isoformat(), go_on="deadline")
        detail = f"{due}, after the deadline {bound}"
    else:
        return {}
    return stop(Reason.TIME_LIMIT, detail, limit)


def told(poll: Poll, polled: Polled, calls: int) -> list[str]:
    """What the model is told of a condition that does not hold yet.

    Args:
        calls: calls of this action so far, this one included.
    """
    if polled.held:
        return []
    left = poll.max_calls - calls
    again = f"the same call again waits until {poll.interval_s:g} s have passed; {left} more may be made"
    if left <= 0:
        again = f"no call is left, {poll.max_calls} were allowed"
    return [f"{poll.until} does not hold yet; {again}", *([polled.note] if polled.note else [])]


def _true(value: Any) -> bool:
    """JMESPath's own idea of truth: null, false and what is empty are not true, the number 0 is."""
    return value is not None and value is not False and value not in ("", [], {})
