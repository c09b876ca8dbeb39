"""One protocol of one model: the prompt as its messages, and the model with what the protocol binds to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable

from interlock.nodes.clients import prepared
from interlock.nodes.protocols.base import WireProtocol
from interlock.nodes.protocols.rendering import Rendered, Renderer
from interlock.policies.controls import check_names
from interlock.policies.prompt import Prompt, ToolCard

__all__ = ["Wire"]

_Bound = tuple[list[ToolCard], Runnable[Any, Any], int]


class Wire:
    """Keeps what it has rendered and bound, because tools and past steps are the same at every step."""

    def __init__(self, model: BaseChatModel, protocol: WireProtocol, name: str) -> None:
        self.protocol = protocol
        self._model = model
        self._renderer = Renderer(protocol, name)
        self._bound: dict[bool, _Bound] = {}

    def render(self, prompt: Prompt) -> Rendered:
        """The prompt in this protocol."""
        return self._renderer.render(prompt)

    def runnable(self, tools: Sequence[ToolCard], streaming: bool) -> tuple[Runnable[Any, Any], int]:
        """The model with its tools bound, and their characters; anew only when the tools have changed.

        Raises:
            BadLoop: a tool has the name of a control proposal.
        """
        bound = self._bound.get(streaming)
        if bound is None or bound[0] != list(tools):
            check_names(card.name for card in tools)
            size = sum(len(card.description) + len(json.dumps(card.schema, default=str)) for card in tools)
            ready = self.protocol.bind(prepared(self._model, streaming), tools)
            bound = self._bound[streaming] = (list(tools), ready, size)
        return bound[1], bound[2]
