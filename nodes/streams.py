"""A streamed reply, put together from its pieces as they were sent.

LangChain's own way of adding pieces completes arguments that were cut off, drops their raw text and adds up
usage that a server reports as a running total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.messages.base import merge_content

from interlock.nodes.protocols.reading import finish_of
from interlock.nodes.retries import BrokenStream

__all__ = ["Collected"]


@dataclass(slots=True)
class _Call:
    """One call of the reply so far."""

    at: Any
    id: Any
    name: str
    arguments: list[Any] = field(default_factory=list[Any])

    def raw(self) -> dict[str, Any]:
        texts = [one for one in self.arguments if one is not None]
        whole: Any = "".join(texts) if all(isinstance(one, str) for one in texts) else texts[0]
        named = {"name": self.name, "arguments": whole if texts else None}
        return {"id": self.id, "type": "function", "function": named}


class Collected:
    """The pieces of one reply.

    Args:
        openai: the server speaks OpenAI's protocol: it says when a reply is over, and its usage is a total.
    """

    def __init__(self, openai: bool) -> None:
        self._openai = openai
        self._whole: Any = None
        self._content: list[Any] = []
        self._calls: list[_Call] = []
        self._kwargs: dict[str, Any] = {}
        self._metadata: dict[str, Any] = {}
        self._usage: UsageMetadata | None = None

    def add(self, piece: Any) -> None:
        """One piece: a chunk, the same under `raw`, or a whole message of a model that does not stream."""
        piece = piece.get("raw") if isinstance(piece, Mapping) else piece
        if not isinstance(piece, AIMessageChunk):
            self._whole = self._whole if piece is None else piece
            return
        self._content += [piece.content] if piece.content else []
        kwargs = dict(piece.additional_kwargs)
        deltas: list[Any] = kwargs.pop("tool_call_deltas", None) or []
        for delta in deltas or piece.tool_call_chunks:
            self._take(delta)
        _gather(self._kwargs, kwargs)
        self._metadata |= {key: value for key, value in piece.response_metadata.items() if value is not None}
        if piece.usage_metadata:
            merged = _larger if self._openai else add_usage
            self._usage = merged(self._usage, piece.usage_metadata)

    @property
    def ended(self) -> bool:
        """True once the model has said that it is done."""
        return self._whole is not None or bool(finish_of(self._metadata) or self._metadata.get("status"))

    def message(self) -> Any:
        """The whole reply. Raises BrokenStream when it broke off."""
        if self._whole is not None:
            return self._whole
        if not self.ended and (self._openai or not (self._content or self._calls)):
            raise BrokenStream("the stream ended before the model had said that it was done")
        first, *rest = self._content or [""]
        made = AIMessage(
            content=merge_content(first, *rest),
            response_metadata=self._metadata,
            usage_metadata=self._usage,
        )
        made.additional_kwargs |= self._kwargs  # afterwards: a message reads raw calls when it is made
        if self._calls:
            made.additional_kwargs["tool_calls"] = [call.raw() for call in self._calls]
        return made

    def _take(self, delta: Any) -> None:
        """A piece of a call. It begins another one by its index, or by a name with an id of its own.

        An id alone says nothing: some servers make up a new one for each piece.
        """
        told: Any = delta.get("function") or delta
        at, given = delta.get("at", delta.get("index")), delta.get("id")
        name, arguments = told.get("name") or "", told.get("arguments", told.get("args"))
        call = next((one for one in reversed(self._calls) if at is None or one.at == at), None)
        another = bool(name) and ((given and call.id and given != call.id) or at is None) if call else True
        if call is None or another:
            call = _Call(at, given, "")
            self._calls.append(call)
        call.id = call.id or given
        call.name += name if name != call.name else ""
        call.arguments.append(arguments)


def _gather(known: dict[str, Any], new: dict[str, Any]) -> None:
    """Texts and lists go on, anything else is replaced."""
    for key, value in new.items():
        if isinstance(value, str | list) and type(known.get(key)) is type(value):
            known[key] = known[key] + value
        elif value is not None:
            known[key] = value


def _larger(known: UsageMetadata | None, new: UsageMetadata) -> UsageMetadata:
    """The larger of two totals, part by part."""
    if known is None:
        return new
    cached = [(one.get("input_token_details") or {}).get("cache_read") or 0 for one in (known, new)]
    return UsageMetadata(
        input_tokens=max(known["input_tokens"], new["input_tokens"]),
        output_tokens=max(known["output_tokens"], new["output_tokens"]),
        total_tokens=max(known["total_tokens"], new["total_tokens"]),
        input_token_details={"cache_read": max(cached)},
    )
