"""A step that is larger than all steps together may be, in the room that there is."""

from __future__ import annotations

import json

from interlock.policies.folding import step_line_of
from interlock.policies.steps import StepRecord
from interlock.policies.text import bounded, fence, unfenced, visible

__all__ = ["short_step"]

FENCE_CHARS = 80
"""What a fence adds, characters."""
LEAST_CHARS = 40
"""Least that is shown of a text, so that its note on the cut fits."""


def short_step(record: StepRecord, room: int) -> str:
    """A step in one message instead of a call and its result: neither is without the other.

    Args:
        room: characters, at least 600. The call has one line, people's words a quarter, the result the rest.
    """
    lines = [f"Step {record.step}, too large to be shown whole:", step_line_of(record.dump())]
    said = [answer.decision.dump() for answer in record.answers if answer.decision]
    if said:
        lines.append(bounded(unfenced(f"person: {json.dumps(said, ensure_ascii=False)}"), room // 4))
    left = max(LEAST_CHARS, room - sum(len(line) + 1 for line in lines) - FENCE_CHARS)
    outside = record.observation is not None and record.observation.trust == "untrusted"
    text = bounded(visible(_told(record)) if outside else unfenced(_told(record)), left)
    return "\n".join([*lines, fence(text) if outside else text])


def _told(record: StepRecord) -> str:
    seen = record.observation
    if record.invalid is not None:
        return f"Nothing ran: {record.invalid.problem}\nPropose exactly one action."
    if seen is None:
        return "nothing was observed"
    more = [json.dumps(item, ensure_ascii=False) for item in (seen.next_actions, seen.entities) if item]
    return "\n".join([f"summary: {seen.summary}", *more])
