"""Which old steps the prompt shows as one line each, so that it stays under its token budget.

Folding goes in blocks: when the open steps outgrow the budget, the oldest are folded until half of it is
free. Between two foldings a prompt only grows at its end. Facts are never folded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Fold", "fold", "folded_text"]

STEP_TOKENS = 60
"""Estimate for what surrounds an observation: the call, its id, status and framing."""
CHARS_PER_TOKEN = 4
"""Rule of thumb for English text: https://help.openai.com/en/articles/4936856"""
LINE_CHARS = 160
"""Longest line for a folded step, characters."""


@dataclass(frozen=True, slots=True)
class Fold:
    """How far a scratchpad is folded."""

    seen: int = 0
    """Records looked at so far."""
    start: int = 0
    """Records that are folded: the oldest ones."""
    tokens: int = 0
    """Estimated tokens of the records that are not."""


def fold(known: Fold, steps: Sequence[Mapping[str, Any]], limit: int) -> Fold:
    """Go on folding where `known` stopped. The result does not depend on how often one stops in between.

    Args:
        limit: tokens that the open steps may take. The newest step is never folded.
    """
    start, tokens = known.start, known.tokens
    for index in range(known.seen, len(steps)):
        tokens += _tokens(steps[index])
        if tokens > limit:
            while start < index and tokens > limit // 2:
                tokens -= _tokens(steps[start])
                start += 1
    return Fold(len(steps), start, tokens)


def folded_text(steps: Sequence[Mapping[str, Any]], limit: int) -> str:
    """The folded steps, one line each: what was done and how it ended, never outside content.

    Args:
        limit: tokens that the lines may take; the oldest beyond it are only counted.
    """
    room = max(1, limit * CHARS_PER_TOKEN // LINE_CHARS)
    lines = [_line(step) for step in steps[-room:]]
    if len(steps) > room:
        lines.insert(0, f"({len(steps) - room} steps before these are not listed)")
    return "Earlier steps, folded to one line each:\n" + "\n".join(lines)


def _tokens(step: Mapping[str, Any]) -> int:
    observation = step.get("observation") or {}
    said = int((step.get("model") or {}).get("output_tokens") or 0)
    return STEP_TOKENS + said + int(observation.get("size_after") or 0) // CHARS_PER_TOKEN


def _line(step: Mapping[str, Any]) -> str:
    proposal = (step.get("decision") or {}).get("proposal") or {}
    observation = step.get("observation") or {}
    name = proposal.get("tool") or proposal.get("kind") or "invalid decision"
    arguments = json.dumps(proposal["arguments"], ensure_ascii=False) if proposal.get("arguments") else ""
    ref = f", raw_ref {observation['raw_ref']}" if observation.get("raw_ref") else ""
    ended = f" → {observation.get('status', 'no observation')}{ref}"
    head = f"step {step.get('step')}: {name}{arguments}"
    return head[: LINE_CHARS - len(ended)] + ended
