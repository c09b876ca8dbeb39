"""Replies of another shape than the API's: what can be read of them, so that they are judged like any other.

A reply without a usable part is an empty one: the model is asked again, boundedly, and its tokens count. To
raise instead would end the run with a traceback's words and forget what was spent.
"""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from interlock.policies.text import bounded, visible

__all__ = ["MISSHAPEN", "NoCompletion", "messages_of", "plain_of", "text_only", "well_shaped"]

MISSHAPEN = (ValidationError, TypeError, AttributeError, LookupError, RecursionError)
"""What langchain-openai raises at a reply of another shape than the API's."""


class NoCompletion(Exception):
    """What came back is no reply of a chat model: a page of a proxy, or an error under the status 200."""

    def __init__(self, text: str, status_code: int | None = None) -> None:
        super().__init__(text)
        self.status_code = status_code
        """The status that the error should have had, where it says so."""


def plain_of(response: Any) -> dict[str, Any]:
    """The completion as plain data. Raises NoCompletion when it is none."""
    if not isinstance(response, dict | BaseModel):
        begins = bounded(visible(str(response)), 200)
        raise NoCompletion(f"the server sent no chat completion; check its address. It begins: {begins!r}")
    plain = response if isinstance(response, dict) else _dumped(response)
    if error := plain.get("error"):
        code = error.get("code") if isinstance(error, dict) else None
        status = code if isinstance(code, int) and 400 <= code <= 599 else None
        raise NoCompletion(f"the server sent an error in place of a completion: {error}", status)
    return plain


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


def _dumped(response: BaseModel) -> dict[str, Any]:
    return response.model_dump(exclude={"choices": {"__all__": {"message": {"parsed"}}}}, warnings=False)


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
