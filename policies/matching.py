"""Does a value occur in a content? Equality and occurrence between boundaries, never inside a longer word.

A content is searched through its index: one normalized line per text, number and key that it holds. The index
is a plain string, so it can be kept by content hash; building it and searching it take linear time.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from interlock.policies.spellings import number_text, spellings

__all__ = ["content_index", "made_of", "normal", "occurs", "share_from"]

MAX_HITS = 2_000
"""Places looked at for one value in one content. A value that stands between boundaries nowhere among them
counts as not found, which only ever leads to one more question."""
RUN = 5
"""Words in a row that make a passage recognizable."""
SAMPLES = 48
"""Passages of a long text that are looked up."""

_OPENING = r"\s(\[{<>\"`“‘«„;|=—"
_CLOSING = r".,;:!?)\]}>\"'`”’»*_…"
_UNITS = "ms|s|sec|secs|min|mins|h|hr|hrs|d|mm|cm|km|kg|g|kb|mb|gb|tb|px|usd|eur|gbp|chf|%|°|€|£|¥|[$]"

_BEFORE = re.compile(
    rf"""(?:[{_OPENING}] | (?<!\w)['’] | (?<!\d), | ,(?!\d) | [^\d\s]: | (?<![\w$€£¥])[$€£¥](?=\d) )
    [#@*_]{{0,3}} . \Z""",
    re.VERBOSE | re.DOTALL,
)
"""What may stand before a value; it is matched against the five characters before it and its first one."""
_AFTER = re.compile(
    rf"""\A . (?:['’]s(?!\w))? (?:(?<=\d)(?:{_UNITS})(?!\w))?
    [{_CLOSING}]{{0,8}}? (?: \s | ,(?!\d) | [;|"<>()\[\]{{}}—] )""",
    re.VERBOSE | re.DOTALL,
)
"""What may stand after a value; it is matched against its last character and the twenty after it."""

_WORD = re.compile(r"[^\W_]+")
_MONTH = "(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]{0,6}"
_QUANTITY = "(?:second|minute|hour|day|night|week|month|year|person|euro|dollar)s?|times|people|percent"
_DAY_BEFORE = re.compile(rf"\b{_MONTH}\.? \Z")
_DAY_AFTER = re.compile(rf"\A (?:of )?{_MONTH}\b")
_MARKER_BEFORE = re.compile(r"(?:[\n:.?!;] ?|\()\Z")
_MARKER_AFTER = re.compile(r"\A[.)] ")
_UNIT_AFTER = re.compile(rf"\A ?(?:{_UNITS}|{_QUANTITY})(?!\w)")


def normal(text: str) -> str:
    """The form in which texts are compared: composed (NFC), lower case, every run of white space one space.

    Nothing beyond that is made equal: `straße` and `strasse`, or a text with a zero-width character in it,
    name different things.
    """
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def content_index(value: Any) -> str:
    """The searchable form of plain JSON: its texts, numbers and keys, normalized, one a line.

    Booleans and nulls are left out: `true` in a result says nothing about a `true` in an argument.
    """
    lines: list[str] = []
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            pending.extend(one.values())
            lines.extend(normal(str(key)) for key in one)
        elif isinstance(one, list | tuple):
            pending.extend(one)
        elif isinstance(one, str):
            lines.append(normal(one))
        elif isinstance(one, int | float) and not isinstance(one, bool):
            lines.append(number_text(one))
    return "\n" + "\n".join(lines) + "\n"


def occurs(value: str | int | float, index: str) -> bool:
    """True when the value, in one of its spellings, is a line of the index or stands between boundaries.

    `4471` occurs in "deploy 4471." and not in "44712", "INC-4471" or "1,4471"; `bob@example.org` does not
    occur in "jacob@example.org" or "bob@example.org.evil.net"; `a.org` does not occur in "a.org/b".

    A bare number is not the day in "June 13" nor the marker in "1. Read the mail". A text of digits is an
    identifier and no quantity either: the text "4" does not occur in "4 hours", while the number 4 does.
    Signs alone (`/`, `*`, `..`) mean something else in a sentence: they occur only as a whole line.
    """
    text = normal(value) if isinstance(value, str) else number_text(value)
    if text.isascii() and not any(character.isalnum() for character in text):
        return bool(text) and f"\n{text}\n" in index
    return any(_stands_alone(form, index, isinstance(value, str)) for form in spellings(text))


def made_of(value: str | int | float, given: Sequence[str]) -> bool:
    """True when a value can be put together from the given texts: from their words, or from them in a row.

    Signs, spaces, hidden characters, capitals and the widths of letters count for nothing.
    """
    if not given:
        return False
    own, told = _words(str(value)), [word for text in given for word in _words(text)]
    decoded = {word for text in given for word in _words(unquote(text))}
    return decoded.union(told).issuperset(own) or "".join(own) in "".join(told)


def share_from(text: str, index: str) -> float:
    """Share (0 to 1) of a text's passages of five words that stand in the index, from a bounded sample."""
    words = normal(text).split(" ")
    starts = range(len(words) - RUN + 1)
    sample = starts[:: max(1, len(starts) // SAMPLES)]
    found = sum(" ".join(words[at : at + RUN]) in index for at in sample)
    return found / len(sample) if sample else 0.0


def _words(text: str) -> list[str]:
    shown = "".join(one for one in text if unicodedata.category(one) != "Cf")
    return _WORD.findall(unicodedata.normalize("NFKC", shown).casefold())


def _stands_alone(form: str, index: str, identifies: bool) -> bool:
    if not form:
        return False
    at = index.find(form)
    for _ in range(MAX_HITS):
        if at < 0:
            return False
        end = at + len(form)
        alone = _BEFORE.search(index[max(0, at - 5) : at + 1]) and _AFTER.match(index[end - 1 : end + 20])
        if alone and (not form.isdecimal() or _means_itself(index, at, end, identifies)):
            return True
        at = index.find(form, at + 1)
    return False


def _means_itself(index: str, at: int, end: int, identifies: bool) -> bool:
    """False for a bare number that is a day of a month, the marker of an item or, for a text, a quantity."""
    before, after = index[max(0, at - 12) : at], index[end : end + 14]
    if end - at <= 2:
        if _DAY_BEFORE.search(before) or _DAY_AFTER.match(after):
            return False
        if _MARKER_BEFORE.search(before) and _MARKER_AFTER.match(after):
            return False
    return not (identifies and (_UNIT_AFTER.match(after) or before.endswith(("$", "€", "£", "¥"))))
