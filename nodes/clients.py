"""A chat model made ready for the loop: one layer of retries, whole replies, raw arguments.

A streamed reply is put together by completing JSON that was cut off, and langchain-openai drops the raw text
of arguments that it could parse: duplicate keys and the difference between `null` and `{}` are lost with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from pydantic import ValidationError

__all__ = ["prepared"]


def prepared(model: BaseChatModel) -> BaseChatModel:
    """A copy of the model that does not stream, does not retry on its own and keeps raw arguments.

    The user's object stays as it is.
    """
    settings = {"disable_streaming": True, "streaming": False, "max_retries": 0}
    changes: dict[str, Any] = {k: v for k, v in settings.items() if k in type(model).model_fields}
    openai = _is_openai(type(model))
    if openai:
        changes |= _clients_without_retries(model)
    copy = model.model_copy(update=changes)
    for name in set(vars(copy)) - set(type(copy).model_fields):
        del vars(copy)[name]  # clients that were built and cached with the old settings
    if openai:
        object.__setattr__(copy, "__class__", _keeping_arguments(type(model)))
    return copy


def _is_openai(kind: type) -> bool:
    """Known by name, because importing langchain-openai takes a second that other models need not pay."""
    return any(base.__qualname__ == "BaseChatOpenAI" for base in kind.__mro__)


def _clients_without_retries(model: Any) -> dict[str, Any]:
    """The clients keep the number of retries that they were built with, so the copy gets its own."""
    changes: dict[str, Any] = {}
    for root, completions in (("root_client", "client"), ("root_async_client", "async_client")):
        client = getattr(model, root, None)
        if client is not None:
            changes[root] = client.with_options(max_retries=0)
            changes[completions] = changes[root].chat.completions
    return changes


@cache
def _keeping_arguments(kind: Any) -> type[BaseChatModel]:
    """A subclass whose messages hold the provider's tool calls, raw, in `additional_kwargs`."""

    def create(self: Any, response: Any, generation_info: dict[str, Any] | None = None) -> Any:
        plain = _plain(response)
        try:
            result = kind._create_chat_result(self, response, generation_info)
        except ValidationError:  # arguments that are no object do not fit LangChain's message
            result = kind._create_chat_result(self, _without_calls(plain), generation_info)
        for choice, generation in zip(plain.get("choices") or [], result.generations, strict=False):
            _keep(choice.get("message") or {}, generation.message)
        return result

    made = type(kind.__name__, (kind,), {"_create_chat_result": create, "__module__": kind.__module__})
    return cast("type[BaseChatModel]", made)


def _plain(response: Any) -> dict[str, Any]:
    if isinstance(response, dict):
        return cast("dict[str, Any]", response)
    dumped = response.model_dump(exclude={"choices": {"__all__": {"message": {"parsed"}}}}, warnings=False)
    return cast("dict[str, Any]", dumped)


def _without_calls(response: dict[str, Any]) -> dict[str, Any]:
    choices = [
        {**choice, "message": {**(choice.get("message") or {}), "tool_calls": None}}
        for choice in response.get("choices") or []
    ]
    return {**response, "choices": choices}


def _keep(message: Mapping[str, Any], kept: Any) -> None:
    if isinstance(kept, AIMessage):
        for name in ("tool_calls", "reasoning_content"):
            if message.get(name):
                kept.additional_kwargs.setdefault(name, message[name])
