"""What every verifier works with, and what it finds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.visit import Visit
from interlock.policies.effects import EffectRow
from interlock.policies.redaction import redact_text
from interlock.policies.text import bounded, visible
from interlock.policies.verifiers import Claim

__all__ = ["Finding", "Look", "briefly", "words"]

MAX_WORDS = 2_000
"""Longest text of one finding, characters."""


@dataclass(frozen=True, slots=True)
class Look:
    """One round of looking at the world, for one claim."""

    claim: Claim
    effects: Sequence[EffectRow]
    """The run's effects, in the order in which they started."""
    visit: Visit
    deps: Deps
    until: float
    """`clock.monotonic()` at which the time for verifying is over."""

    def left(self) -> float:
        """Seconds left for verifying; 0 or less when there are none."""
        return self.until - self.deps.clock.monotonic()

    async def cancelled(self) -> bool:
        """True when somebody asked for the run's end."""
        return await self.deps.io(self.deps.store.runs.cancel_requested, self.visit.control.run_id)


@dataclass(frozen=True, slots=True)
class Finding:
    """What one verifier found."""

    passed: bool
    detail: str = ""
    outside: bool = False
    """The detail holds outside content."""
    calls: int = 0
    """Calls of tools that it took."""


def words(text: str) -> str:
    """The text as it may be saved and shown: bounded, nothing hidden, no secrets."""
    return bounded(visible(redact_text(text)), MAX_WORDS)


def briefly(value: Any) -> str:
    """Plain JSON data in a few words."""
    return bounded(json.dumps(value, ensure_ascii=False), 200)
