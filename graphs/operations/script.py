"""What the scripted model of the example says. Written in advance: no model was asked.

Its arguments and answers are made of the facts in the prompt, where a model would look too.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from interlock.graphs.scripting import ScriptStep, decide, facts, give_up, said
from interlock.policies.proposals import Decision, FinalAnswer, ToolCall
from interlock.policies.record import JsonValue

__all__ = ["SCRIPTS", "script_for"]

SERVICE: dict[str, JsonValue] = {"service": "payments"}


def script_for(goal: str) -> Sequence[ScriptStep]:
    """The script that fits a goal: there is one, and the health of the service decides how it ends."""
    return SCRIPTS["remedy"]


LOOK = decide("How is it now?", ToolCall(tool="get_health", arguments=SERVICE), missing=["its health"])


def _log(messages: list[BaseMessage]) -> Decision:
    if facts(messages).get("health") == "healthy":
        return _claim(messages)
    return decide("Why?", ToolCall(tool="get_log", arguments=SERVICE), missing=["the cause"])


def _restart(messages: list[BaseMessage]) -> Decision:
    return decide(
        "It has run out of connections. A restart gives leaked ones back.",
        ToolCall(tool="restart_service", arguments=SERVICE),
    )


def _claim(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if known.get("health") == "healthy" and "restarted" not in known:
        text = "payments is healthy; nothing was changed."
    elif "restarted" not in known:
        return give_up(f"payments was not restarted{said(messages)}; it is {known.get('health', 'unknown')}")
    else:
        text = "payments was restarted and is healthy again."
    return decide("That should have done it.", FinalAnswer(answer=text, cites=["health"]))


def _wait(messages: list[BaseMessage]) -> Decision:
    return _claim(messages) if facts(messages).get("health") == "healthy" else LOOK


def _conclude(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if known.get("health") == "healthy":
        return _claim(messages)
    return give_up(
        f"the restart did not help: payments is {known.get('health')}, with {known.get('free_connections')} "
        f"free connections of a pool of {known.get('pool_size')}, and it needs "
        f"{known.get('needed_connections')}; somebody has to change that setting"
    )


SCRIPTS: dict[str, Sequence[ScriptStep]] = {
    "remedy": (LOOK, _log, _restart, _claim, LOOK, _conclude),
    "patient": (LOOK, _log, _restart, *[_wait] * 15),
    "insists": (LOOK, _log, _restart, *[_claim] * 8),
}
"""`remedy` follows the goal; `patient` looks until it is healthy; `insists` claims again and again."""
