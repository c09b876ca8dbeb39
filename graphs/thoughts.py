"""What a model thinks, while it thinks: LangGraph's stream of messages turned into pieces of the thought."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage

from interlock.policies.redaction import redact_text

__all__ = ["OnThought", "Thought", "Thoughts"]

READ_AT_MOST = 20_000
"""Characters of a reply that are looked at for its thought."""
_FIELD = re.compile(r'"thought"\s*:\s*"((?:[^"\\]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*)("?)')


@dataclass(frozen=True, slots=True)
class Thought:
    """The next piece of what the model thinks. Nothing of it is decided, and a broken reply begins anew."""

    run_id: str
    step: int
    attempt: int
    """From 1; a higher number than the last piece's means that the thought begins anew."""
    text: str


OnThought = Callable[[Thought], None]


class Thoughts:
    """Tells the thought of each step in whole words, without secrets."""

    def __init__(self, run_id: str, tell: OnThought) -> None:
        self._run_id = run_id
        self._tell = tell
        self._at = (0, 0)
        self._begin(None)

    def take(self, message: Any, metadata: dict[str, Any], step: int) -> None:
        """One item of LangGraph's `messages` stream. Models inside tools think for themselves.

        Args:
            step: number of the step that is being decided.
        """
        if metadata.get("langgraph_node") != "think" or not isinstance(message, AIMessage):
            return
        if message.id != self._message or step != self._at[0]:
            self._at = (step, self._at[1] + 1 if step == self._at[0] else 1)
            self._begin(message.id)
        if len(self._raw) < READ_AT_MOST:
            self._raw += message.text
            self._show(*_thought_in(self._raw))

    def end(self) -> None:
        """The step is decided: what is still held back is told."""
        self._show(_thought_in(self._raw)[0], whole=True)
        self._begin(self._message)

    def _begin(self, message: str | None) -> None:
        self._message, self._raw, self._told = message, "", ""

    def _show(self, thought: str, whole: bool) -> None:
        """Up to the last whole word: what hides a secret has to see all of it."""
        text = redact_text(thought if whole else thought[: len(thought) - len(thought.split(" ")[-1])])
        if text.startswith(self._told) and len(text) > len(self._told):
            self._tell(Thought(self._run_id, *self._at, text[len(self._told) :]))
            self._told = text


def _thought_in(raw: str) -> tuple[str, bool]:
    """The thought in the text of a reply so far, and whether it is over.

    It is a field of the reply's JSON object, or else all of the text.
    """
    if not raw.lstrip().startswith(("{", "`")):
        return raw, False
    found = _FIELD.search(raw)
    if found is None:
        return "", False
    text = str(json.loads(f'"{found[1]}"', strict=False))
    return text.encode("utf-8", "ignore").decode(), bool(found[2])
