"""Secrets out of plain data before it is saved. Digests are taken before.

A value is a secret by the name of its field, or by a shape that says so itself. Names are compared by whole
words, so that `token_count` and `max_tokens` stay.
"""

from __future__ import annotations

import re
from typing import Any

__all__ = ["REDACTED", "is_secret_name", "redact", "redact_text"]

REDACTED = "[redacted]"

_LAST = frozenset(
    {
        "password",
        "passwd",
        "passphrase",
        "pwd",
        "secret",
        "token",
        "apikey",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "jwt",
        "pin",
        "cvv",
        "cvc",
        "otp",
    }
)
_LAST_TWO = frozenset(
    ("api", kind) for kind in ("key", "secret")
) | {("access", "key"), ("private", "key"), ("secret", "key"), ("signing", "key"), ("encryption", "key"),
     ("set", "cookie"), ("session", "id"), ("card", "number")}  # fmt: skip
_PAGING = frozenset({"page", "next", "continuation", "sync", "cancel", "cancellation"})
"""Words before `token` that make it a bookmark: redacting it would break paging."""
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bBearer [A-Za-z0-9._~+/=-]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{22,}"
    r"|\bsk-[A-Za-z0-9_-]{20,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
"""Shapes that name themselves: PEM keys (RFC 7468), bearer tokens (RFC 6750), JWTs (RFC 7519), and the
prefixes that AWS, GitHub, OpenAI and Slack publish for their keys."""

_BEGINNINGS = ("-----BEGIN", "Bearer ", "AKIA", "gh", "sk-", "xox", "eyJ")

_IN_TEXT = re.compile(
    r"(?i)(\"?\b(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|client[_-]?secret)\"?\s*[:=]\s*)"
    r"(\"(?:[^\"\\]|\\.){1,4096}\"|[^\s,;&\"'}]{1,4096})"
)


def redact(value: Any) -> Any:
    """The same plain JSON data with every secret replaced by a marker. Idempotent; the structure stays."""
    if isinstance(value, dict):
        return {key: _hidden(item) if is_secret_name(key) else redact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [redact(item) for item in value]
    return _without_shapes(value) if isinstance(value, str) else value


def redact_text(text: str) -> str:
    """Free text without secrets: self-describing shapes, and values that stand behind a secret's name."""
    return _IN_TEXT.sub(rf"\1{REDACTED}", _without_shapes(text))


def is_secret_name(name: str) -> bool:
    """True when a field of this name holds a secret: by its last word, or its last two."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    if words[-1] == "token" and len(words) > 1 and words[-2] in _PAGING:
        return False
    return words[-1] in _LAST or tuple(words[-2:]) in _LAST_TWO


def _without_shapes(text: str) -> str:
    """Looking for the beginnings first is ten times faster than the expression on text without any."""
    if not any(beginning in text for beginning in _BEGINNINGS):
        return text
    return _SHAPES.sub(REDACTED, text)


def _hidden(value: Any) -> Any:
    """A secret field: whatever it holds is hidden, however deep."""
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return value if value is None or isinstance(value, bool) or value == "" else REDACTED
