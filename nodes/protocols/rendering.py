"""A prompt as messages: a stable head, the scratchpad as it grows, and one last message that changes.

The messages before the last one are a prefix of the next step's, so that providers' prompt caches hit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from interlock.nodes.protocols.base import WireProtocol
from interlock.policies.folding import Fold, folded_text
from interlock.policies.folding import fold as fold_steps
from interlock.policies.prompt import Prompt
from interlock.policies.steps import StepRecord
from interlock.policies.text import visible
from interlock.policies.wording import closing_text, correction_text, goal_text, system_text

__all__ = ["Renderer"]

REMEMBERED = 4096
"""Steps whose messages are kept, so that a long run renders each step once."""


class Renderer:
    """Renders prompts in one protocol. Remembers the messages of steps that it has rendered.

    Args:
        name: of the model that reads them: what another one wants back it does not get.
    """

    def __init__(self, protocol: WireProtocol, name: str) -> None:
        self._protocol = protocol
        self._name = name
        self._known: dict[int, tuple[Mapping[str, Any], list[BaseMessage]]] = {}
        self._fold: tuple[Mapping[str, Any] | None, Fold] = (None, Fold())
        self._text: tuple[Mapping[str, Any] | None, str] = (None, "")

    def messages(self, prompt: Prompt) -> list[BaseMessage]:
        """The messages of one model call."""
        head: list[BaseMessage] = [
            SystemMessage(system_text(prompt, self._protocol.how(prompt.tools))),
            HumanMessage(goal_text(prompt)),
        ]
        fold = self._folded(prompt)
        if fold.start:
            head.append(HumanMessage(self._lines(prompt, fold)))
        for record in prompt.steps[fold.start :]:
            head += self._step(record)
        return [*head, HumanMessage(closing_text(prompt))]

    def _folded(self, prompt: Prompt) -> Fold:
        """Goes on where the last prompt of the same run stopped; anything else is folded from the start."""
        last, known = self._fold
        same = known.seen and known.seen <= len(prompt.steps) and prompt.steps[known.seen - 1] is last
        fold = fold_steps(known if same else Fold(), prompt.steps, prompt.context_tokens)
        self._fold = (prompt.steps[-1] if prompt.steps else None, fold)
        return fold

    def _lines(self, prompt: Prompt, fold: Fold) -> str:
        oldest = prompt.steps[fold.start - 1]
        if self._text[0] is not oldest:
            text = folded_text(prompt.steps[: fold.start], prompt.context_tokens // 4)
            self._text = (oldest, visible(text))
        return self._text[1]

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
        asked = record.model.get("asked", record.model.get("name", self._name))
        if isinstance(echoed, dict) and asked == self._name:
            reply.additional_kwargs.update(echoed)
        return [reply, told]


def _refused(record: StepRecord) -> tuple[AIMessage, BaseMessage]:
    """A reply that was no decision, as text, and what to correct."""
    raw = visible(record.invalid.raw) if record.invalid else ""
    return AIMessage(raw or "(an empty reply)"), HumanMessage(correction_text(record))
