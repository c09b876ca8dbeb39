"""Templates in a person's words: 'Dinner at {restaurant}' says what may be written, and where it varies."""

from __future__ import annotations

import re
from collections.abc import Iterator

from interlock.policies.matching import normal

__all__ = ["fillings"]

MAX_LENGTH = 500
"""Longest text, characters, that is compared with templates."""
MAX_PLACES = 2
"""Placeholders that a template may have; with more of them a text can be cut in too many ways."""

_QUOTED = re.compile(r"""['"“‘]([^'"“”‘’{\n]{0,200}(?:\{\w{1,64}\}[^'"“”‘’{\n]{0,200}){1,2})['"”’]""")
_PLACE = re.compile(r"\{\w{1,64}\}")


def fillings(text: str, said: str) -> Iterator[tuple[str, ...]]:
    """What fills the placeholders, for every quoted template in `said` (its index) that the text follows."""
    form = normal(text)
    if len(form) > MAX_LENGTH or "{" not in said:
        return
    for quoted in _QUOTED.finditer(said):
        literals = _PLACE.split(normal(quoted[1]))
        if any(literals) and len(literals) <= MAX_PLACES + 1:
            match = re.fullmatch("(.{1,200}?)".join(re.escape(literal) for literal in literals), form)
            if match:
                yield match.groups()
