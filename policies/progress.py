"""Progress: the same action with the same result is none. Pure, over a bounded window of step records."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["WINDOW", "repeats"]

WINDOW = 20
"""Steps that are looked at: an alternation of up to ten actions is seen, and a long run stays cheap."""


def repeats(steps: Sequence[Mapping[str, Any]]) -> int:
    """How often the newest step's action had given the same result before, within the window.

    An alternation (A-B-A-B) counts for each of its actions. New wording of the thought is no difference; a
    step whose action has no identity (an invalid decision) is never a repeat.

    Args:
        steps: dumped step records, newest last, the newest with its observation.
    """
    if not steps:
        return 0
    newest = _identity(steps[-1])
    if newest is None:
        return 0
    return sum(_identity(step) == newest for step in steps[-WINDOW:-1])


def _identity(step: Mapping[str, Any]) -> tuple[str, str] | None:
    """What was done, and what came of it; None when nothing was proposed."""
    proposal = (step.get("decision") or {}).get("proposal")
    if not proposal:
        return None
    ticket, result = step.get("ticket"), step.get("result") or {}
    action = ticket["digest"] if ticket else json.dumps(proposal, sort_keys=True)
    observation = step.get("observation") or {}
    came = result.get("raw_ref") or f"{observation.get('status')} {observation.get('summary')}"
    return action, came
