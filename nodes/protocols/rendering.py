"""A prompt as messages: a stable head, the scratchpad as it grows, and one last message that changes.

The messages before the last one are a prefix of the next step's, so that providers' prompt caches hit.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from interlock.nodes.protocols.base import WireProtocol
from interlock.nodes.protocols.reading import characters
from interlock.policies.context import PromptReport, Section, prompt_report
from interlock.policies.counting import CHARACTERS_PER_TOKEN, tokens_in
from interlock.policies.folding import Fold, folded_text, steps_room
from interlock.policies.folding import fold as fold_steps
from interlock.policies.prompt import Prompt
from interlock.policies.shortened import short_step
from interlock.policies.steps import StepRecord
from interlock.policies.text import unfenced
from interlock.policies.wording import closing_text, correction_text, goal_text, system_text

__all__ = ["Rendered", "Renderer"]

REMEMBERED = 4096
"""Steps whose messages are kept until they are folded, so that each is rendered once."""
RUNS = 64
"""Runs that are remembered at once; the one used longest ago goes first."""

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A prompt as it is sent."""

    messages: list[BaseMessage]
    report: PromptReport
    start: int
    """Steps that are folded."""

    def context(self) -> dict[str, int]:
        """What the step record keeps: the report, and from where a new process goes on folding."""
        return {**self.report.dump(), **({"start": self.start} if self.start else {})}


@dataclass(frozen=True, slots=True)
class _Step:
    """A record and what it looks like."""

    record: Data
    limit: int
    messages: Sequence[BaseMessage]
    section: Section
    tokens: int


@dataclass(slots=True)
class _Run:
    """Where the last prompt of a run stopped."""

    last: Data
    limit: int = 0
    fold: Fold = field(default_factory=Fold)
    folded: str = ""
    sections: Sequence[Section] | None = None


class Renderer:
    """Renders prompts in one protocol. Remembers the steps that it has rendered, and where runs stand."""

    def __init__(self, protocol: WireProtocol) -> None:
        self._protocol = protocol
        self._steps: dict[int, _Step] = {}
        self._runs: dict[int, _Run] = {}

    def render(self, prompt: Prompt) -> Rendered:
        """The messages of one model call, and what they take."""
        system, goal = system_text(prompt, self._protocol.how(prompt.tools)), goal_text(prompt)
        messages: list[BaseMessage] = [SystemMessage(system), HumanMessage(goal)]
        sections = [Section("head", system), Section("head", goal)]
        run = self._run(prompt)
        if run and run.fold.start:
            messages.append(HumanMessage(run.folded))
            sections.append(Section("folded", run.folded))
        for step in (self._step(one, prompt.context_tokens) for one in prompt.steps[_start(run) :]):
            messages += step.messages
            sections.append(step.section)
        closing = closing_text(prompt)
        sections.append(Section("closing", closing))
        report = prompt_report(sections, run.sections if run else None)
        if run:
            run.sections = sections
        return Rendered([*messages, HumanMessage(closing)], report, _start(run))

    def _run(self, prompt: Prompt) -> _Run | None:
        """Goes on where the last prompt of the same run stopped, in this process or in another one."""
        if not prompt.steps:
            return None
        key, limit, newest = id(prompt.steps[0]), prompt.context_tokens, prompt.steps[-1]
        run = self._runs.pop(key, None)
        if run is None or not _continues(run, prompt):
            run = _Run(newest, limit, self._taken_up(prompt))
        fold = fold_steps(run.fold, prompt.steps, limit, lambda record: self._step(record, limit).tokens)
        if fold.start and (fold.start != run.fold.start or not run.folded):
            run.folded = folded_text(prompt.steps[: fold.start], limit)
            for record in prompt.steps[run.fold.start : fold.start]:
                self._steps.pop(id(record), None)
        run.last, run.fold = newest, fold
        self._runs[key] = run
        while len(self._runs) > RUNS:
            del self._runs[next(iter(self._runs))]
        return run

    def _taken_up(self, prompt: Prompt) -> Fold:
        """Where the prompt of the newest step stood, as its record says; the start where it says nothing."""
        seen = len(prompt.steps) - 1
        context = (prompt.steps[-1].get("model") or {}).get("context") or {}
        start = int(context.get("start", 0))
        if not 0 < start < seen:
            return Fold()
        tokens = sum(self._step(record, prompt.context_tokens).tokens for record in prompt.steps[start:seen])
        return Fold(seen, start, tokens)

    def _step(self, record: Data, limit: int) -> _Step:
        """Records are shared and never changed in place, so identity is enough; the kept one holds its id."""
        known = self._steps.get(id(record))
        if known is not None and known.record is record and known.limit == limit:
            return known
        step = self._rendered(record, limit)
        if len(self._steps) >= REMEMBERED:
            self._steps.clear()
        self._steps[id(record)] = step
        return step

    def _rendered(self, dumped: Data, limit: int) -> _Step:
        record, room = StepRecord.load(dumped), steps_room(limit)
        messages: Sequence[BaseMessage] = self._messages(record)
        if (tokens := _tokens(messages)) > room:
            messages = [HumanMessage(short_step(record, room * CHARACTERS_PER_TOKEN))]
            tokens = _tokens(messages)
        return _Step(dumped, limit, messages, Section("steps", _text(messages)), tokens)

    def _messages(self, record: StepRecord) -> list[BaseMessage]:
        reply, told = (
            self._protocol.exchange(record, record.decision) if record.decision else _refused(record)
        )
        echoed = record.model.get("provider")
        if isinstance(echoed, dict):
            reply.additional_kwargs.update(echoed)
        return [reply, told]


def _start(run: _Run | None) -> int:
    return run.fold.start if run else 0


def _continues(run: _Run, prompt: Prompt) -> bool:
    seen = run.fold.seen
    same = 0 < seen <= len(prompt.steps) and prompt.steps[seen - 1] is run.last
    return same and run.limit == prompt.context_tokens


def _tokens(messages: Sequence[BaseMessage]) -> int:
    """Tokens of a step, with what a provider wants to be sent back."""
    echoed = [message.additional_kwargs for message in messages if message.additional_kwargs]
    return tokens_in(characters(messages) + (len(json.dumps(echoed)) if echoed else 0))


def _text(messages: Sequence[BaseMessage]) -> str:
    """The messages as one text, calls included, for comparing prompts."""
    calls = [str(call) for one in messages if isinstance(one, AIMessage) for call in one.tool_calls]
    return "\n".join([*(str(message.content) for message in messages), *calls])


def _refused(record: StepRecord) -> tuple[AIMessage, BaseMessage]:
    """A reply that was no decision, as text, and what to correct."""
    raw = unfenced(record.invalid.raw) if record.invalid else ""
    return AIMessage(raw or "(an empty reply)"), HumanMessage(correction_text(record))
