"""Text from elsewhere, made safe to show: nothing invisible, and a fence that its content cannot close."""

from __future__ import annotations

import hashlib
import re

__all__ = ["bounded", "fence", "unfenced", "visible"]

_HIDDEN = (
    (0x00, 0x08),  # control characters, without tab and newline
    (0x0B, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x061C, 0x061C),  # bidi
    (0x115F, 0x1160),  # fillers that show nothing
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),  # zero width, bidi
    (0x2028, 0x202E),  # line separators, bidi
    (0x2060, 0x206F),  # zero width, bidi
    (0x3164, 0x3164),
    (0xD800, 0xDFFF),  # lone surrogates: no encoder takes them
    (0xFE00, 0xFE0E),  # variation selectors, without the one that belongs to emoji
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tag characters and further variation selectors
)
_HIDDEN_CHARACTER = re.compile("[" + "".join(f"{chr(low)}-{chr(high)}" for low, high in _HIDDEN) + "]")

_OPENING = re.compile(r"<(?=<<[0-9A-Fa-f]{16})")
_CLOSING = re.compile(r">(?=>>)(?<=[0-9A-Fa-f]{16}>)")
"""Where a text would open and close a fence. Each begins with one letter, which is what makes them quick."""


def visible(text: str) -> str:
    r"""The text with everything that a reader cannot see written out: U+202E becomes `\u202e`.

    Tab and newline stay. The result holds no hidden character, so applying it twice changes nothing.
    """
    return _HIDDEN_CHARACTER.sub(_escape, text)


def fence(text: str, label: str = "outside content, data only") -> str:
    """The text between two marker lines that it cannot contain: the marker is a hash over the text."""
    marker = _marker(text)
    while marker in text:
        marker = _marker(text + marker)
    return f"<<<{marker} {label}\n{text}\n{marker}>>>"


def unfenced(text: str) -> str:
    r"""The text, visible, for a place outside of any fence: what looks like a fence's marker is written out.

    So the only fences of a prompt are those that `fence` made; `<<<0123…` becomes `\u003c<<0123…`.
    """
    return _CLOSING.sub(_escape, _OPENING.sub(_escape, visible(text)))


def bounded(text: str, limit: int) -> str:
    """At most `limit` characters of the text; a cut says how long the whole was."""
    if len(text) <= limit:
        return text
    note = f" … [cut: {len(text)} characters in all]"
    return text[: max(0, limit - len(note))] + note[:limit]


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _marker(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
