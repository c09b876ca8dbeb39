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
from pydantic import BaseModel, ValidationError

from interlock.nodes.misshapen import messages_of, text_only, well_shaped
from interlock.policies.text import bounded, visible

__all__ = ["NoCompletion", "prepared"]

_MISSHAPEN = (ValidationError, TypeError, AttributeError, LookupError, RecursionError)
"""What langchain-openai raises at a reply of another shape than the API's."""


class NoCompletion(Exception):
    """What came back is no reply of a chat model: a page of a proxy, or an error under the status 200."""

    def __init__(self, text: str, status_code: int | None = None) -> None:
        super().__init__(text)
        self.status_code = status_code
        """The status that the error should have had, where it says so."""


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
        shape = response if well_shaped(plain) else text_only(plain)
        try:
            result = kind._create_chat_result(self, shape, generation_info)
        except _MISSHAPEN:  # arguments that are no object do not fit LangChain's message, for one
            result = kind._create_chat_result(self, text_only(plain), generation_info)
        for message, generation in zip(messages_of(plain), result.generations, strict=False):
            _keep(message, generation.message)
        return result

    made = type(kind.__name__, (kind,), {"_create_chat_result": create, "__module__": kind.__module__})
    return cast("type[BaseChatModel]", made)


def _plain(response: Any) -> dict[str, Any]:
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


def _dumped(response: BaseModel) -> dict[str, Any]:
    return response.model_dump(exclude={"choices": {"__all__": {"message": {"parsed"}}}}, warnings=False)


def _keep(message: Mapping[str, Any], kept: Any) -> None:
    if isinstance(kept, AIMessage):
        for name in ("tool_calls", "reasoning_content"):
            if message.get(name):
                kept.additional_kwargs.setdefault(name, message[name])
