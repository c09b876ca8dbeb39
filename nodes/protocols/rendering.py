"""A prompt as messages: a stable head, the scratchpad as it grows, and one last message that changes.

The messages before the last one are a prefix of the next step's, so that providers' prompt caches hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from interlock.nodes.protocols.base import WireProtocol
from interlock.policies.prompt import Prompt
from interlock.policies.steps import StepRecord
from interlock.policies.text import visible
from interlock.policies.wording import closing_text, correction_text, goal_text, system_text

__all__ = ["Renderer"]

REMEMBERED = 4096
"""Steps whose messages are kept, so that a long run renders each step once."""


class Renderer:
    """Renders prompts in one protocol. Remembers the messages of steps that it has rendered."""

    def __init__(self, protocol: WireProtocol) -> None:
        self._protocol = protocol
        self._known: dict[int, tuple[Mapping[str, Any], list[BaseMessage]]] = {}

    def messages(self, prompt: Prompt) -> list[BaseMessage]:
        """The messages of one model call."""
        head: list[BaseMessage] = [
            SystemMessage(system_text(prompt, self._protocol.how(prompt.tools))),
            HumanMessage(goal_text(prompt)),
        ]
        for record in prompt.steps:
            head += self._step(record)
        return [*head, HumanMessage(closing_text(prompt))]

    def _step(self, record: Mapping[str, Any]) -> list[BaseMessage]:
        """Records are shared and never changed in place, so identity is enough; the kept one holds its id."""
        known = self._known.get(id(record))
        if known is not None and known[0] is record:
            return known[1]
        messages = self._render(record)
        if len(self._known) >= REMEMBERED:
            self._known.clear()
        self._known[id(record)] = (record, messages)
        return messages

    def _render(self, dumped: Mapping[str, Any]) -> list[BaseMessage]:
        record = StepRecord.load(dumped)
        reply, told = (
            self._protocol.exchange(record, record.decision) if record.decision else _refused(record)
        )
        echoed = record.model.get("provider")
        if isinstance(echoed, dict):
            reply.additional_kwargs.update(echoed)
        return [reply, told]


def _refused(record: StepRecord) -> tuple[AIMessage, BaseMessage]:
    """A reply that was no decision, as text, and what to correct."""
    raw = visible(record.invalid.raw) if record.invalid else ""
    return AIMessage(raw or "(an empty reply)"), HumanMessage(correction_text(record))
