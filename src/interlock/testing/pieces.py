"""A message cut into the pieces in which a server would stream it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

__all__ = ["pieces_of"]


def pieces_of(message: AIMessage) -> Iterator[AIMessageChunk]:
    """The text word by word, each call in two halves, and at last how the reply ended and what it took."""
    if isinstance(message.content, str):
        for word in re.findall(r"\S+\s*|\s+", message.content):
            yield AIMessageChunk(content=word)
    for index, call in enumerate([*message.tool_calls, *message.invalid_tool_calls]):
        arguments: Any = call["args"]
        text = arguments if isinstance(arguments, str | None) else json.dumps(arguments, ensure_ascii=False)
        half = len(text or "") // 2
        first = tool_call_chunk(name=call["name"], args=text and text[:half], id=call["id"], index=index)
        yield AIMessageChunk(content="", tool_call_chunks=[first])
        if text:
            rest = tool_call_chunk(name=None, args=text[half:], id=None, index=index)
            yield AIMessageChunk(content="", tool_call_chunks=[rest])
    yield AIMessageChunk(
        content="" if isinstance(message.content, str) else message.content,
        additional_kwargs=message.additional_kwargs,
        response_metadata=message.response_metadata,
        usage_metadata=message.usage_metadata,
    )
