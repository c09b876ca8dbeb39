"""The waits between two calls of a poll: no CPU, in slices, so that a cancelled run ends within a second."""

from __future__ import annotations

from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.tools import BoundTool
from interlock.nodes.visit import Visit, cancelled
from interlock.policies.polling import calls_made, cap_reached, out_of_time, seconds_to_wait, told
from interlock.policies.steps import StepRecord
from interlock.policies.tickets import Ticket
from interlock.policies.verdicts import Verdict

__all__ = ["poll_verdicts", "poll_words", "waited"]

SLICE_S = 1.0
"""Longest sleep between two looks at the cancel flag, seconds."""


async def waited(tool: BoundTool, ticket: Ticket, visit: Visit, deps: Deps) -> dict[str, Any]:
    """Wait until the action may be polled again.

    Returns:
        Changes that end the run instead: somebody cancelled it, or its time would not last. Else nothing.
    """
    if tool.contract.poll is None:
        return {}
    now, spent = deps.clock.now(), deps.clock.monotonic() - visit.began
    left = seconds_to_wait(tool.contract.poll, _steps(visit), ticket.digest, now)
    if stopped := out_of_time(visit.control, visit.bounds(deps), spent, left, now):
        return stopped
    while left > 0:
        await deps.io(deps.sleep, min(left, SLICE_S))
        left -= SLICE_S  # not read from the clock: one that stands still would make the wait endless
        if stopped := await cancelled(visit, deps):
            return stopped
    return {}


def poll_verdicts(tool: BoundTool, digest: str, visit: Visit) -> list[Verdict]:
    """The denial of an action that was polled as often as its contract allows; empty otherwise."""
    if tool.contract.poll is None:
        return []
    denied = cap_reached(tool.name, tool.contract.poll, _steps(visit), digest)
    return [denied] if denied else []


def poll_words(record: StepRecord, visit: Visit, deps: Deps) -> list[str]:
    """What the model is told of a poll whose condition does not hold yet."""
    if record.ticket is None or record.result is None or record.result.polled is None:
        return []
    poll = deps.tools[record.ticket.tool].contract.poll
    calls = len(calls_made(_steps(visit), record.ticket.digest))
    return told(poll, record.result.polled, calls) if poll else []


def _steps(visit: Visit) -> list[dict[str, Any]]:
    return visit.state.get("scratchpad") or []
