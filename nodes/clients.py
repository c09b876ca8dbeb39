"""A chat model made ready for the loop: one layer of retries, raw arguments, structured output unparsed."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from interlock.nodes.keeping import keeping

__all__ = ["bound_to_schema", "is_openai", "named_strict", "prepared"]

STRICT_HOSTS = re.compile(r"(?:.*\.)?openai(?:\.azure)?\.com")
"""Hosts whose structured output has a strict mode, in which no length of a text may be named."""


def prepared(model: BaseChatModel, streaming: bool = False) -> BaseChatModel:
    """A copy of the model that does not retry on its own, keeps raw arguments, and streams or does not.

    The user's object stays as it is.
    """
    settings = {"disable_streaming": not streaming, "streaming": streaming, "max_retries": 0}
    changes: dict[str, Any] = {k: v for k, v in settings.items() if k in type(model).model_fields}
    openai = is_openai(model)
    if openai:
        changes |= _clients_without_retries(model)
    copy = model.model_copy(update=changes)
    for name in set(vars(copy)) - set(type(copy).model_fields):
        del vars(copy)[name]  # clients that were built and cached with the old settings
    if openai:
        object.__setattr__(copy, "__class__", keeping(type(model)))
    return copy


def is_openai(model: BaseChatModel) -> bool:
    """Known by name, because importing langchain-openai takes a second that other models need not pay."""
    return any(base.__qualname__ == "BaseChatOpenAI" for base in type(model).__mro__)


def named_strict(model: BaseChatModel) -> bool:
    """True when the model's server is known to have a strict mode for structured output."""
    address: Any = getattr(getattr(model, "root_client", None), "base_url", None)
    return STRICT_HOSTS.fullmatch(str(getattr(address, "host", ""))) is not None


def bound_to_schema(model: BaseChatModel, schema: dict[str, Any], strict: bool) -> Runnable[Any, Any]:
    """The model held to a schema, with the raw message as its output, or under `raw` in a mapping.

    A schema that langchain-openai knows of goes through the client's parser, which raises for a reply that
    was cut off and drops its text and usage; so the schema goes beside the request.

    Raises:
        NotImplementedError: the model has no structured output.
    """
    if not is_openai(model):
        return model.with_structured_output(schema, method="json_schema", include_raw=True)
    client: Any = model
    named = {
        "name": "decision",
        "strict": strict,
        "schema": {k: v for k, v in schema.items() if k != "title"},
    }
    wanted = {"response_format": {"type": "json_schema", "json_schema": named}}
    if client._use_responses_api(dict(client.model_kwargs)):
        return model.bind(**wanted)
    return model.bind(extra_body={**(client.extra_body or {}), **wanted})


def _clients_without_retries(model: Any) -> dict[str, Any]:
    """The clients keep the number of retries that they were built with, so the copy gets its own."""
    changes: dict[str, Any] = {}
    for root, completions in (("root_client", "client"), ("root_async_client", "async_client")):
        client = getattr(model, root, None)
        if client is not None:
            changes[root] = client.with_options(max_retries=0)
            changes[completions] = changes[root].chat.completions
    return changes
