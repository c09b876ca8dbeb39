"""Secrets out of plain data before it is saved. Digests are taken before.

A value is a secret by the name of its field, or by a shape that says so itself. Names are compared by whole
words, so that `token_count` and `max_tokens` stay.

- By name: whatever a field holds, however deep, whose name ends with a secret's word (`db_password`,
  `apiKey`, `Set-Cookie`); also the `value` beside such a `name` (headers as a list), and a field of JSON
  inside a text.
- By shape, anywhere in any text: private keys, bearer tokens, JSON web tokens, credentials in a header or in
  an address, and the keys that well-known services mark by a prefix.

Nulls, booleans and empty texts tell nothing and stay. Keys stay. The time is linear in the size.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache, partial
from typing import Any

__all__ = ["REDACTED", "is_secret_name", "redact", "redact_text"]

REDACTED = "[redacted]"

_LAST = frozenset(
    {
        "password",
        "passwords",
        "passwd",
        "passphrase",
        "pwd",
        "secret",
        "secrets",
        "token",
        "apikey",
        "apikeys",
        "sessionid",
        "authorization",
        "cookie",
        "cookies",
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
    f"{before} {last}"
    for before, lasts in {
        "api": "key keys secret",
        "access": "key keys tokens",
        "refresh": "tokens",
        "private": "key keys",
        "secret": "key keys",
        "signing": "key",
        "encryption": "key",
        "session": "id key",
        "card": "number",
    }.items()
    for last in lasts.split()
)
_PAGING = frozenset({"page", "next", "continuation", "sync", "cancel", "cancellation"})
"""Words before `token` that make it a bookmark: redacting it would break paging."""
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

_SHAPES = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)"
    r"|(?<![\w-])(?i:bearer) (?=[A-Za-z._~+/=-]{0,200}\d)[A-Za-z0-9._~+/=-]{16,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}"
    r"|\bgithub_pat_[A-Za-z0-9_]{22,}"
    r"|(?<![\w-])sk-(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_-]{20,}"
    r"|(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|(?<![\w-])eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
"""Shapes that name themselves: PEM keys (RFC 7468), bearer tokens (RFC 6750), JWTs (RFC 7519), and prefixes
that AWS, GitHub, OpenAI and Slack give their keys:
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html,
https://github.blog/engineering/platform-security/behind-githubs-new-authentication-token-formats/,
https://api.slack.com/authentication/token-types. A word is none:
a bearer token and an `sk-` key hold a digit."""

_HEADER = re.compile(r"(?<![\w-])((?i:authorization) ?: ?(?i:basic|bearer|digest|token) )[^\s\"'<>]{8,}")
"""Credentials in the line of a header (RFC 9110)."""
_ADDRESS = re.compile(
    r"((?<![\w+.-])[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,200}:)[^\s/@\"'<>]{1,2048}(?=@)"
)
"""The password in the user information of an address (RFC 3986)."""
_JSON_FIELD = re.compile(r'(?<!\\)("([\w.-]{1,64})"\s{0,8}:\s{0,8}")((?:[^"\\]|\\.)+)"')
_STEPS = (
    (("-----begin", "bearer ", "akia", "asia", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "sk-",
      "xox", "eyj"), _SHAPES, REDACTED),
    (("authorization",), _HEADER, rf"\1{REDACTED}"),
    (("://",), _ADDRESS, rf"\1{REDACTED}"),
)  # fmt: skip
"""Beginnings, in lower case, without which an expression cannot match: looking for them first is ten times
faster on a text without any."""

_IN_TEXT = re.compile(
    r"(?i)(\"?\b(?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|client[_-]?secret)\"?\s*[:=]\s*)"
    r"(\"(?:[^\"\\]|\\.){1,4096}\"|[^\s,;&\"'}]{1,4096})"
)


def redact(value: Any) -> Any:
    """The same plain JSON data with every secret replaced by a marker. Idempotent; the structure stays."""
    if isinstance(value, dict):
        return {key: _hidden(item) if _is_secret(key, value) else redact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [redact(item) for item in value]
    return _without_shapes(value) if isinstance(value, str) else value


def redact_text(text: str, names: Collection[str] = ()) -> str:
    """Free text without secrets: what `redact` finds in a text, and values behind a secret's name.

    Args:
        names: further names of fields of JSON in the text that hold secrets.
    """
    text = _IN_TEXT.sub(rf"\1{REDACTED}", _without_shapes(text))
    return _JSON_FIELD.sub(partial(_json_field, names=names), text) if names else text


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """True when a field of this name holds a secret: by its last word, or its last two."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words:
        return False
    if words[-1] == "token" and len(words) > 1 and words[-2] in _PAGING:
        return False
    return words[-1] in _LAST or " ".join(words[-2:]) in _LAST_TWO


def _is_secret(key: str, record: dict[str, Any]) -> bool:
    """True for a field with a secret's name, and for the `value` beside one (headers as a list)."""
    beside = record.get("name", record.get("key")) if key == "value" else None
    return is_secret_name(key) or (isinstance(beside, str) and is_secret_name(beside))


def _without_shapes(text: str) -> str:
    lower = text.lower()
    for beginnings, pattern, replacement in _STEPS:
        if any(beginning in lower for beginning in beginnings):
            text = pattern.sub(replacement, text)
    return _JSON_FIELD.sub(_json_field, text) if '"' in text else text


def _json_field(match: re.Match[str], names: Collection[str] = ()) -> str:
    hides = match[2] in names or is_secret_name(match[2])
    return f'{match[1]}{REDACTED}"' if hides else match[0]


def _hidden(value: Any) -> Any:
    """A secret field: whatever it holds is hidden, however deep."""
    if isinstance(value, dict):
        return {key: _hidden(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_hidden(item) for item in value]
    return value if value is None or isinstance(value, bool) or value == "" else REDACTED
