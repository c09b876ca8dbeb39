"""A script: what a model says, step by step."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from interlock.policies.proposals import (
    Ask,
    CannotComplete,
    Decision,
    Delegate,
    FinalAnswer,
    RequestApproval,
    ToolCall,
)

__all__ = [
    "Script",
    "ScriptError",
    "ScriptItem",
    "answer",
    "ask",
    "by_step",
    "call",
    "cannot_complete",
    "delegate",
    "request_approval",
]

ScriptItem = (
    Decision
    | AIMessage
    | BaseException
    | Callable[[list[BaseMessage]], "Decision | AIMessage | BaseException"]
)
"""One item of a script.

A decision; a raw message, for nonsense on purpose; an exception, raised on the step of the item after it, so
that a retry can be scripted; or a function of the messages shown that gives one of these.
"""


def call(tool: str, /, thought: str = "", **arguments: Any) -> Decision:
    """Run a tool. For an argument named `thought` build the Decision yourself."""
    return Decision(proposal=ToolCall(tool=tool, arguments=arguments), thought=thought)


def request_approval(tool: str, reason: str = "", /, **arguments: Any) -> Decision:
    """Ask a person to approve one tool call."""
    return Decision(proposal=RequestApproval(tool=tool, arguments=arguments, reason=reason))


def ask(question: str, thought: str = "") -> Decision:
    """Ask a person for information."""
    return Decision(proposal=Ask(question=question), thought=thought)


def delegate(name: str, goal: str, share: float = 0.5, thought: str = "") -> Decision:
    """Hand a part of the goal to a delegate."""
    return Decision(proposal=Delegate(delegate=name, goal=goal, share=share), thought=thought)


def answer(answer: Any, cites: Sequence[str] = (), thought: str = "") -> Decision:
    """Claim that the goal is reached."""
    return Decision(proposal=FinalAnswer(answer=answer, cites=list(cites)), thought=thought)


def cannot_complete(reason: str, missing: Sequence[str] = (), thought: str = "") -> Decision:
    """Say that the goal cannot be reached."""
    return Decision(proposal=CannotComplete(reason=reason, missing=list(missing)), thought=thought)


class ScriptError(Exception):
    """The loop and the script do not fit: a call too many, or steps that were never asked for."""


@dataclass(slots=True)
class Script:
    """The script by step, and how far it got. Shared by the copies that LangChain makes of a model."""

    steps: list[list[Any]]
    """For each step the exceptions that it raises first, then what it says."""
    prompts: list[list[BaseMessage]] = field(default_factory=list[list[BaseMessage]])
    said: dict[int, int] = field(default_factory=dict[int, int])
    """Items used, by step."""
    problem: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next(self, step: int) -> Any:
        with self.lock:
            items = self.steps[step - 1] if step <= len(self.steps) else []
            used = self.said.get(step, 0)
            if used < len(items):
                self.said[step] = used + 1
                return items[used]
            again = "was asked for once more" if items else "was asked for"
            self.problem = (
                f"step {step} {again}, but the script has {len(self.steps)} steps, each to be used once"
            )
            raise ScriptError(self.problem)

    def unused(self) -> list[int]:
        """Steps not used up. Those before the first one used were another process's."""
        first = min(self.said, default=1)
        return [n for n in range(first, len(self.steps) + 1) if self.said.get(n, 0) < len(self.steps[n - 1])]


def by_step(items: Sequence[ScriptItem]) -> list[list[Any]]:
    steps: list[list[Any]] = []
    raising = False
    for item in items:
        if raising:
            steps[-1].append(item)
        else:
            steps.append([item])
        raising = isinstance(item, BaseException)
    return steps
