"""What langchain-openai drops of a reply, kept; and what it does not send back, sent.

The raw text of arguments that it could parse is lost with it: duplicate keys, and the difference between
`null` and `{}`. So are reasoning fields, which some servers demand back with the next request.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from interlock.nodes.misshapen import MISSHAPEN, messages_of, plain_of, text_only, well_shaped

__all__ = ["keeping"]

ECHOED = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields of a reply that langchain-openai drops and that its server wants back with the next request."""


@cache
def keeping(kind: Any) -> type[BaseChatModel]:
    """A subclass whose messages hold the provider's tool calls, raw, in `additional_kwargs`."""
    methods = {
        "_create_chat_result": _whole(kind),
        "_convert_chunk_to_generation_chunk": _piece(kind),
        "_get_request_payload": _request(kind),
        "__module__": kind.__module__,
    }
    return cast("type[BaseChatModel]", type(kind.__name__, (kind,), methods))


def _whole(kind: Any) -> Any:
    def create(self: Any, response: Any, generation_info: dict[str, Any] | None = None) -> Any:
        plain = plain_of(response)
        shape = response if well_shaped(plain) else text_only(plain)
        try:
            result = kind._create_chat_result(self, shape, generation_info)
        except MISSHAPEN:  # arguments that are no object do not fit LangChain's message, for one
            result = kind._create_chat_result(self, text_only(plain), generation_info)
        for message, generation in zip(messages_of(plain), result.generations, strict=False):
            _keep(message, generation.message)
        return result

    return create


def _piece(kind: Any) -> Any:
    def convert(self: Any, chunk: dict[str, Any], *more: Any) -> Any:
        try:
            result = kind._convert_chunk_to_generation_chunk(self, chunk, *more)
        except MISSHAPEN:
            plain = _without_calls(chunk, "delta")
            result = kind._convert_chunk_to_generation_chunk(self, plain, *more)
        for choice in (chunk.get("choices") or [])[:1]:
            if result is not None:
                _keep_delta(choice.get("delta") or {}, result.message)
        return result

    return convert


def _request(kind: Any) -> Any:
    def payload(self: Any, input_: Any, **options: Any) -> dict[str, Any]:
        made = cast("dict[str, Any]", kind._get_request_payload(self, input_, **options))
        said = self._convert_input(input_).to_messages()
        for message, sent in zip(said, made.get("messages") or [], strict=False):
            if isinstance(message, AIMessage):
                known = message.additional_kwargs
                sent.update({name: known[name] for name in ECHOED if name in known})
        return made

    return payload


def _without_calls(response: Mapping[str, Any], part: str) -> dict[str, Any]:
    """The response, or a piece of one, without its tool calls."""
    choices = [
        {**choice, part: {**(choice.get(part) or {}), "tool_calls": None}}
        for choice in response.get("choices") or []
    ]
    return {**response, "choices": choices}


def _keep(message: Mapping[str, Any], kept: Any) -> None:
    if isinstance(kept, AIMessage):
        for name in ("tool_calls", *ECHOED):
            if message.get(name):
                kept.additional_kwargs.setdefault(name, message[name])


def _keep_delta(delta: Mapping[str, Any], kept: Any) -> None:
    """Keep what LangChain drops of a piece of a reply. Calls that it could not hold go under another name,
    without the index by which it would merge them."""
    if not isinstance(kept, AIMessageChunk):
        return
    for name in ("refusal", *ECHOED):
        if delta.get(name):
            kept.additional_kwargs[name] = delta[name]
    calls = delta.get("tool_calls") or []
    if len(calls) != len(kept.tool_call_chunks):
        kept.additional_kwargs["tool_call_deltas"] = [
            {**{k: v for k, v in call.items() if k != "index"}, "at": call.get("index")} for call in calls
        ]
