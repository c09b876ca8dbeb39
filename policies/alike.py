"""When two actions are the same in all but looks. Pure; used to count repeats, never to decide what may run.

Not a difference: the order of keys, 1 and 1.0, invisible characters, whitespace around a text and between its
words, and in prose also letter case and the punctuation at its end. Prose is a text of one line with at least
two words. A single word keeps its case, because ids that differ only in case may be different things. A text
of several lines keeps its case and the indentation of its lines, because it may be code.
"""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from typing import Any

from interlock.policies.canonical import ArgumentsError, canonical_json
from interlock.policies.redaction import REDACTED

__all__ = ["action_key", "action_name", "bare"]

MAX_TEXT = 2_000
"""Characters of the longest text whose looks are ignored. A longer one is compared as it is."""
NAME_CHARS = 160
"""Characters of an action in a message."""


def action_key(step: Mapping[str, Any]) -> str | None:
    """What a step did, apart from its looks; None when nothing was proposed.

    Args:
        step: a dumped step record.
    """
    proposal = (step.get("decision") or {}).get("proposal")
    if not proposal:
        return None
    ticket = step.get("ticket") or {}
    arguments = ticket.get("arguments", proposal.get("arguments")) or {}
    words = bare(str(proposal.get("question") or proposal.get("goal") or ""))
    key = json.dumps([_name(step), _canonical(_plain(arguments)), words])
    return f"{key} {ticket.get('digest', '')}" if REDACTED in key else key


def action_name(step: Mapping[str, Any]) -> str:
    """The step's action for a message: the tool with its arguments, cut to NAME_CHARS characters."""
    proposal = (step.get("decision") or {}).get("proposal") or {}
    arguments = (step.get("ticket") or {}).get("arguments", proposal.get("arguments")) or {}
    given = ", ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())
    text = f"{_name(step)}({given})" if given else _name(step)
    return text if len(text) <= NAME_CHARS else f"{text[: NAME_CHARS - 1]}…"


def bare(words: str) -> str:
    """Only the letters and digits, in one case: what is left of a question however it is worded."""
    return "".join(letter for letter in words.casefold() if letter.isalnum())


def _name(step: Mapping[str, Any]) -> str:
    proposal = (step.get("decision") or {}).get("proposal") or {}
    known = (step.get("ticket") or {}).get("tool") or proposal.get("tool") or proposal.get("delegate")
    return str(known or proposal.get("kind") or "invalid decision")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return _plain_text(value) if isinstance(value, str) else value


def _plain_text(text: str) -> str:
    if len(text) > MAX_TEXT:
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c) != "Cf")
    lines = text.strip().splitlines()
    if len(lines) > 1:
        return "\n".join(_plain_line(line) for line in lines)
    words = text.split()
    joined = " ".join(words)
    return joined.casefold().rstrip(" .!?…") if len(words) > 1 else joined


def _plain_line(line: str) -> str:
    indentation = line[: len(line) - len(line.lstrip())]
    return indentation + " ".join(line.split())


def _canonical(arguments: Any) -> str:
    try:
        return canonical_json(arguments)
    except ArgumentsError:
        return json.dumps(arguments, sort_keys=True)
