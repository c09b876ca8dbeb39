"""What a prompt is made of: the tokens of each part, and how much of it the next one could use again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from interlock.policies.counting import CHARACTERS_PER_TOKEN, tokens_in

__all__ = ["PARTS", "Part", "PromptReport", "Section", "common_length", "prompt_report"]

Part = Literal["head", "folded", "steps", "closing"]
PARTS: tuple[Part, ...] = ("head", "folded", "steps", "closing")
"""In the order of the prompt. `head`: instructions and goal, tools where they are in the text; `folded`: old
steps, a line each; `steps`: the others, whole; `closing`: facts and where the run stands."""


@dataclass(frozen=True, slots=True)
class Section:
    """One piece of a prompt, a message for one."""

    part: Part
    text: str


@dataclass(frozen=True, slots=True)
class PromptReport:
    """What a prompt takes."""

    tokens: dict[Part, int]
    """By part; parts that are not there are left out."""
    total: int
    reusable: int | None
    """Tokens at the beginning of the prompt before that this one begins with as well: what a provider's cache
    can serve. None for the first prompt."""
    before: int | None
    """Tokens of the prompt before."""

    def dump(self) -> dict[str, int]:
        """Plain data for a step record: tokens by part, `total`, and `reusable` of `before` where known."""
        known = {} if self.reusable is None else {"reusable": self.reusable, "before": self.before or 0}
        return {**{str(part): size for part, size in self.tokens.items()}, "total": self.total, **known}


def prompt_report(prompt: Sequence[Section], before: Sequence[Section] | None = None) -> PromptReport:
    """Tokens of each part of a prompt, and of what it has in common with the beginning of the one before.

    Args:
        before: the prompt of the step before; None when there was none.
    """
    sizes: dict[Part, int] = {}
    for section in prompt:
        sizes[section.part] = sizes.get(section.part, 0) + len(section.text)
    return PromptReport(
        tokens={part: tokens_in(size) for part, size in sizes.items()},
        total=tokens_in(sum(sizes.values())),
        reusable=None if before is None else _common(before, prompt) // CHARACTERS_PER_TOKEN,
        before=None if before is None else tokens_in(sum(len(section.text) for section in before)),
    )


def common_length(one: str, other: str) -> int:
    """Characters with which both texts begin."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low


def _common(before: Sequence[Section], prompt: Sequence[Section]) -> int:
    """Characters of the longest common beginning."""
    same = 0
    for old, new in zip(before, prompt, strict=False):
        if old.text != new.text:
            return same + common_length(old.text, new.text)
        same += len(old.text)
    return same
