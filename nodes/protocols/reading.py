"""What a provider's message says beside the decision: text, calls, refusal, cut-off, usage."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage

from interlock.policies.canonical import ArgumentsError, check_bounds, parse_object
from interlock.policies.counting import tokens_in
from interlock.policies.record import JsonValue
from interlock.policies.replies import Tokens

__all__ = [
    "Call",
    "calls_of",
    "characters",
    "cut_off",
    "estimate",
    "provider_of",
    "raw_of",
    "refusal_of",
    "text_of",
    "tokens_of",
]

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_context_window_exceeded"})
_REFUSED = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "spii"})
_OWN = frozenset({"tool_calls", "function_call", "refusal", "parsed", "audio"})


@dataclass(frozen=True, slots=True)
class Call:
    """One call in a message."""

    name: str
    arguments: Any
    """The raw text wherever the message still carries it; else what the client parsed."""

    def parsed(self, takes_none: bool) -> dict[str, Any]:
        """The arguments as an object.

        Args:
            takes_none: the tool has no parameters, so that nothing at all stands for an empty object.

        Raises:
            ArgumentsError: absent, not JSON, not an object, a duplicate key, out of bounds.
        """
        given = self.arguments
        if isinstance(given, dict):
            check_bounds(given)
            return cast("dict[str, Any]", given)
        if given is None or (isinstance(given, str) and given.strip() in ("", "null")):
            if takes_none:
                return {}
            raise ArgumentsError("arguments are missing; send a JSON object, {} if you mean an empty one")
        if not isinstance(given, str):
            raise ArgumentsError(f"arguments must be a JSON object, not {type(given).__name__}")
        return parse_object(given)


def calls_of(message: AIMessage) -> list[Call]:
    """The calls of a message in their order, the unparseable ones included."""
    if raw := message.additional_kwargs.get("tool_calls"):
        return [_raw_call(item) for item in raw]
    if blocks := [item for item in _blocks(message) if item.get("type") == "function_call"]:
        return [Call(str(item.get("name") or ""), item.get("arguments")) for item in blocks]
    valid = [Call(item["name"], item["args"]) for item in message.tool_calls]
    return valid + [Call(item["name"] or "", item["args"]) for item in message.invalid_tool_calls]


def text_of(message: AIMessage) -> str:
    """The text of a message, without reasoning and other blocks."""
    if isinstance(message.content, str):
        return message.content
    parts = [item if isinstance(item, str) else str(_block_text(item)) for item in message.content]
    return "".join(parts)


def refusal_of(message: AIMessage) -> str | None:
    """The refusal in words, or None when the model did not refuse."""
    if told := message.additional_kwargs.get("refusal"):
        return str(told)
    for item in _blocks(message):
        if item.get("type") == "refusal":
            return str(item.get("refusal") or "no reason given")
    reason = _finish(message)
    return f"the provider ended the reply with {reason!r}" if reason in _REFUSED else None


def cut_off(message: AIMessage, cap: int | None) -> bool:
    """True when the reply ended before the model was done.

    Args:
        cap: the output tokens that the model may use; some servers report a cut as a normal end.
    """
    used = message.usage_metadata["output_tokens"] if message.usage_metadata else 0
    return _finish(message) in _CUT or (cap is not None and used >= cap)


def raw_of(message: AIMessage) -> str:
    """Text and calls of a message, for a person or the model to look at."""
    calls = [f"{call.name}({_raw_arguments(call.arguments)})" for call in calls_of(message)]
    return "\n".join([text_of(message), *calls]).strip()


def tokens_of(message: AIMessage, prompt_characters: Callable[[], int]) -> Tokens:
    """Tokens as reported; what the provider does not report is estimated from characters, never zero."""
    usage = message.usage_metadata or {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    known_input, known_output = max(0, usage["input_tokens"]), max(0, usage["output_tokens"])
    cached = max(0, (usage.get("input_token_details") or {}).get("cache_read") or 0)
    if apart := cached > known_input:  # a server that counts cached tokens beside the input
        known_input += cached
    return Tokens(
        input=known_input or estimate(prompt_characters()),
        cached=cached,
        output=known_output or estimate(characters([message])),
        estimated=apart or not (known_input and known_output),
    )


def estimate(count: int) -> int:
    """Tokens that so many characters come to, at least 1."""
    return max(1, tokens_in(count))


def characters(messages: Sequence[BaseMessage]) -> int:
    """Characters of text and calls in the messages."""
    total = 0
    for message in messages:
        total += len(message.content) if isinstance(message.content, str) else len(str(message.content))
        if isinstance(message, AIMessage) and message.tool_calls:
            total += sum(len(call["name"]) + len(str(call["args"])) for call in message.tool_calls)
    return total


def provider_of(message: AIMessage) -> dict[str, JsonValue]:
    """Opaque fields of the provider that its next call wants back, as plain JSON."""
    kept: dict[str, JsonValue] = {}
    for key, value in message.additional_kwargs.items():
        if key not in _OWN and value is not None:
            try:
                kept[key] = json.loads(json.dumps(value, allow_nan=False, ensure_ascii=False).encode())
            except (TypeError, ValueError):
                continue  # an object of the client, which no server sent, or text that no store can hold
    return kept


def _raw_arguments(arguments: Any) -> str:
    """As JSON, in which secrets are found by the names of their fields."""
    return (
        json.dumps(arguments, ensure_ascii=False, default=str)
        if isinstance(arguments, dict)
        else str(arguments)
    )


def _raw_call(item: Any) -> Call:
    function = _mapping(_mapping(item).get("function"))
    return Call(str(function.get("name") or ""), function.get("arguments"))


def _finish(message: AIMessage) -> str:
    meta = message.response_metadata
    details: Any = meta.get("incomplete_details") or {}
    for reason in (
        meta.get("finish_reason"),
        meta.get("stop_reason"),
        meta.get("done_reason"),
        details.get("reason"),
    ):
        if reason:
            return str(reason).lower()
    return ""


def _blocks(message: AIMessage) -> list[dict[str, Any]]:
    content = message.content if isinstance(message.content, list) else []
    return [item for item in content if isinstance(item, dict)]


def _mapping(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _block_text(item: dict[str, Any]) -> Any:
    return item.get("text") or "" if item.get("type") in ("text", "output_text") else ""
