"""Which old steps the prompt shows as one line each, so that it stays under its token budget.

Folding goes in blocks: when the open steps outgrow their part of the budget, the oldest are folded until half
of it is free. Between two foldings a prompt only grows at its end. Facts are never folded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlock.policies.counting import CHARACTERS_PER_TOKEN
from interlock.policies.text import unfenced

__all__ = ["Fold", "fold", "folded_text", "lines_room", "step_line_of", "steps_room"]

LINES_PART = 5
"""The folded lines take at most one part in so many of the budget, the open steps the rest."""
LINE_CHARS = 160
"""Longest line for a folded step, characters."""
FRAME_CHARS = 100
"""What stands around the lines, characters."""


@dataclass(frozen=True, slots=True)
class Fold:
    """How far a scratchpad is folded."""

    seen: int = 0
    """Records looked at so far."""
    start: int = 0
    """Records that are folded: the oldest ones."""
    tokens: int = 0
    """Tokens of the records that are not."""


def lines_room(limit: int) -> int:
    """Tokens that the folded lines may take of a budget."""
    return limit // LINES_PART


def steps_room(limit: int) -> int:
    """Tokens that the open steps may take of a budget; no single step may be larger."""
    return limit - lines_room(limit)


def fold(
    known: Fold, steps: Sequence[Mapping[str, Any]], limit: int, size: Callable[[Mapping[str, Any]], int]
) -> Fold:
    """Go on folding where `known` stopped. The result does not depend on how often one stops in between.

    Args:
        limit: tokens of the budget.
        size: tokens of a step as it is shown, at most `steps_room`; the newest one is never folded.
    """
    start, tokens, room = known.start, known.tokens, steps_room(limit)
    for index in range(known.seen, len(steps)):
        tokens += size(steps[index])
        if tokens > room:
            while start < index and tokens > room // 2:
                tokens -= size(steps[start])
                start += 1
    return Fold(len(steps), start, tokens)


def folded_text(steps: Sequence[Mapping[str, Any]], limit: int) -> str:
    """The folded steps, one line each: what was done and how it ended, never outside content.

    Args:
        limit: tokens of the budget; the oldest lines beyond their part of it are only counted.
    """
    room = max(1, (lines_room(limit) * CHARACTERS_PER_TOKEN - FRAME_CHARS) // (LINE_CHARS + 1))
    lines = [step_line_of(step) for step in steps[-room:]]
    if len(steps) > room:
        lines.insert(0, f"({len(steps) - room} steps before these are not listed)")
    return "Earlier steps, folded to one line each:\n" + "\n".join(lines)


def step_line_of(step: Mapping[str, Any]) -> str:
    """A step in one line, at most LINE_CHARS."""
    proposal = (step.get("decision") or {}).get("proposal") or {}
    observation = step.get("observation") or {}
    name = proposal.get("tool") or proposal.get("kind") or "invalid decision"
    arguments = json.dumps(proposal["arguments"], ensure_ascii=False) if proposal.get("arguments") else ""
    ref = f", raw_ref {observation['raw_ref']}" if observation.get("raw_ref") else ""
    ended = f" → {observation.get('status', 'no observation')}{ref}"
    head = unfenced(f"step {step.get('step')}: {name}{arguments[:LINE_CHARS]}").replace("\n", " ")
    return head[: LINE_CHARS - len(ended)] + ended
