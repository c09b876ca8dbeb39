"""The conditional edges: total, pure functions of the saved state. Their targets stand in their types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args, get_type_hints

from langchain_core.runnables import Runnable, RunnableConfig

from interlock.policies.errors import LoopBroken
from interlock.policies.transitions import (
    Standing,
    after_authorize,
    after_execute,
    after_normalize,
    after_think,
    after_verify,
    standing,
)

__all__ = ["EDGES", "Edge"]

EDGES: dict[str, Callable[[Standing], str]] = {
    "think": after_think,
    "authorize": after_authorize,
    "execute": after_execute,
    "normalize": after_normalize,
    "verify": after_verify,
}
"""The edge out of each node."""


class Edge(Runnable[Any, Any]):
    """An edge that LangGraph runs as it is; a plain function would be wrapped in callbacks."""

    def __init__(self, rule: Callable[[Standing], str]) -> None:
        self.name = rule.__name__
        self._rule = rule
        self._targets = list(get_args(get_type_hints(rule)["return"]))

    @property
    def targets(self) -> list[str]:
        """The nodes that the edge may lead to, from the rule's return type."""
        return self._targets

    def invoke(self, input: Mapping[str, Any], config: RunnableConfig | None = None, **kwargs: Any) -> str:
        return self._follow(input)

    async def ainvoke(
        self, input: Mapping[str, Any], config: RunnableConfig | None = None, **kwargs: Any
    ) -> str:
        return self._follow(input)

    def _follow(self, state: Mapping[str, Any]) -> str:
        """LangGraph ends a run without a word when an edge fails, so the error is named here."""
        try:
            target = self._rule(standing(state))
        except Exception as error:  # a rule is pure: no pause can come out of it
            raise LoopBroken(f"the edge {self.name} failed: {type(error).__name__}: {error}") from error
        if target not in self._targets:
            raise LoopBroken(f"the edge {self.name} leads to {target!r}, which does not exist")
        return target
