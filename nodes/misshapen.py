"""Replies of another shape than the API's: what can be read of them, so that they are judged like any other.

A reply without a usable part is an empty one: the model is asked again, boundedly, and its tokens count. To
raise instead would end the run with a traceback's words and forget what was spent.
"""

from __future__ import annotations

import json
from typing import Any, cast

__all__ = ["messages_of", "text_only", "well_shaped"]


def well_shaped(body: dict[str, Any]) -> bool:
    """True when the body has choices, and usage of a shape that a client can read, if any."""
    return bool(body.get("choices")) and isinstance(body.get("usage"), dict | None)


def messages_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a completion's choices; an empty one where there is none."""
    return [_mapping(choice.get("message")) for choice in _choices(body)]


def text_only(body: dict[str, Any]) -> dict[str, Any]:
    """A completion with the same text and usage and without calls, in a shape that every client reads."""
    choices = [
        {
            "index": index,
            "finish_reason": choice.get("finish_reason"),
            "message": {
                "role": "assistant",
                "content": _text(_mapping(choice.get("message")).get("content")),
            },
        }
        for index, choice in enumerate(_choices(body))
    ]
    usage = body.get("usage")
    return {**body, "choices": choices, "usage": usage if isinstance(usage, dict) else None}


def _choices(body: dict[str, Any]) -> list[dict[str, Any]]:
    choices = body.get("choices")
    return [_mapping(choice) for choice in choices] if isinstance(choices, list) and choices else [{}]


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(content: Any) -> Any:
    """Text and blocks as they are; anything else as the JSON that it came in."""
    if content is None or isinstance(content, str):
        return content or ""
    return json.dumps(content, default=str)
