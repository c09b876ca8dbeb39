"""What the scripts of the ready-made loops are made of. They look where a model would: at the prompt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from interlock.policies.proposals import CannotComplete, Decision, Proposal

__all__ = ["ScriptStep", "decide", "facts", "give_up", "happened", "named", "said"]

ScriptStep = Decision | Callable[[list[BaseMessage]], Decision]
"""A decision, or a function of the messages shown to the model that gives one."""

_FACT = re.compile(r'^- ("(?:[^"\\]|\\.)*"): (.*) \(observed, .*, step \d+\)$', re.MULTILINE)
_DECIDED = re.compile(r'^person: .*"question":"(\w+)","decision":"(\w+)"', re.MULTILINE)
_WORDS = {"reject": ": a person rejected it", "respond": ": a person answered instead of approving it"}


def decide(thought: str, proposal: Proposal, missing: Sequence[str] = ()) -> Decision:
    """A decision with its thought."""
    return Decision(thought=thought, proposal=proposal, missing_info=list(missing))


def give_up(why: str) -> Decision:
    """The decision that the goal cannot be reached."""
    return decide("Nothing else can be done here.", CannotComplete(reason=why))


def facts(messages: list[BaseMessage]) -> dict[str, Any]:
    """Observed facts, as the last message shows them."""
    return {json.loads(key): json.loads(value) for key, value in _FACT.findall(_text(messages[-1]))}


def named(messages: list[BaseMessage], pattern: str, default: str) -> str:
    """What the goal names: the pattern's first group, or the default."""
    goal = next((text for text in map(_text, messages) if text.startswith("Goal:")), "")
    found = re.search(pattern, goal, re.IGNORECASE)
    return found[1] if found else default


def said(messages: list[BaseMessage]) -> str:
    """What a person decided in the step before instead of approving, as the end of a sentence."""
    return next(
        (_WORDS[word] for kind, word in _decided(messages) if kind == "approval" and word in _WORDS), ""
    )


def happened(messages: list[BaseMessage]) -> bool:
    """True when a person said that the effect of the step before, which was in doubt, had happened."""
    return ("in_doubt", "respond") in _decided(messages)


def _decided(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    """Question and decision of each answer in the step before."""
    return _DECIDED.findall(_text(messages[-2]))


def _text(message: BaseMessage) -> str:
    return message.content if isinstance(message.content, str) else ""
