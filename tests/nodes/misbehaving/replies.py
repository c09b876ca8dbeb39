"""Bodies of the chat completions API: whole, in chunks, and what a strict server demands of a history."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["called", "chunks_of", "gives_up", "problem_with", "reply"]

PIECE, PIECES = 7, 12
"""Characters of one chunk at least, and chunks of one text at most."""
MISSING: Any = object()


def reply(
    *calls: dict[str, Any],
    content: Any = None,
    finish: str | None = None,
    usage: Any = (50, 9),
    **fields: Any,
) -> dict[str, Any]:
    """A chat completion.

    Args:
        calls: what `called` makes.
        finish: why the reply ended; by default what fits.
        usage: tokens of prompt and completion, or the object as the server reports it, or None.
        fields: further fields of the message.
    """
    said = {
        "role": "assistant",
        "content": content,
        **({"tool_calls": list(calls)} if calls else {}),
        **fields,
    }
    choice = {"index": 0, "finish_reason": finish or ("tool_calls" if calls else "stop"), "message": said}
    body: dict[str, Any] = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-small-2"}
    body["choices"] = [choice]
    if isinstance(usage, tuple):
        usage = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    if usage is not None:
        body["usage"] = usage
    return body


def called(name: Any, arguments: Any = MISSING, id: Any = "c") -> dict[str, Any]:
    """One call in a reply: the arguments as the server sends them, whatever they are."""
    function = {"name": name} if arguments is MISSING else {"name": name, "arguments": arguments}
    call = {"type": "function", "function": function}
    return call if id is MISSING else {"id": id, **call}


def gives_up(**options: Any) -> dict[str, Any]:
    """A reply that ends the run."""
    return reply(called("cannot_complete", '{"reason": "that is all"}', id="end"), **options)


def chunks_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """A body with a text as the chunks of a stream; the last one holds the usage, if there is any."""
    head = {**{key: body[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    choice = body["choices"][0]
    message = {"content": None, "tool_calls": None, **choice["message"]}
    content, calls = message.pop("content"), message.pop("tool_calls")
    deltas: list[dict[str, Any]] = [{**message, "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(content or "")]
    deltas += [
        {"tool_calls": [part]} for place, call in enumerate(calls or []) for part in _parts(place, call)
    ]
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]})
    chunks = [{**head, "choices": [one]} for one in choices]
    if "usage" in body:
        chunks.append({**head, "choices": [], "usage": body["usage"]})
    return chunks


def problem_with(messages: Sequence[dict[str, Any]]) -> str | None:
    """Why a strict server refuses this history: every call has exactly one result, right behind it."""
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"a tool message answers {message['tool_call_id']!r}, which is not an open call"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"the calls {open_calls} have no tool message"
        open_calls = [call["id"] for call in message.get("tool_calls") or []]
    return f"the calls {open_calls} have no tool message" if open_calls else None


def _parts(place: int, call: dict[str, Any]) -> list[dict[str, Any]]:
    """The first part of a streamed call names it, the others bring its arguments."""
    function = dict(call["function"])
    arguments = function.pop("arguments", MISSING)
    if not isinstance(arguments, str):
        return [{"index": place, **call}]
    first = {"index": place, **call, "function": {**function, "arguments": ""}}
    return [first, *({"index": place, "function": {"arguments": piece}} for piece in _pieces(arguments))]


def _pieces(text: str) -> list[str]:
    size = max(PIECE, -(-len(text) // PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]
