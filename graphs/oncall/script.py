"""What the scripted model of the example says. Written in advance: no model was asked.

It looks at what was observed where a model would: the answers are made of the facts in the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from interlock.graphs.scripting import ScriptStep, decide, facts, give_up, named, said
from interlock.policies.proposals import Decision, FinalAnswer, ToolCall

__all__ = ["SCRIPTS", "script_for"]


def script_for(goal: str) -> Sequence[ScriptStep]:
    """The script that fits a goal: it ends with the answer unless a rollback is asked for."""
    return SCRIPTS["rollback" if re.search(r"\broll(ed)?[ -]?(it[ -])?back\b", goal, re.I) else "question"]


def _find_incident(messages: list[BaseMessage]) -> Decision:
    return decide(
        "Which incident is this? Search for it before looking at any deploy.",
        ToolCall(tool="search_incidents", arguments={"query": "checkout"}),
        missing=["the service that caused it", "what the deploy changed"],
    )


def _find_deploy(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    return decide(
        f"{known.get('incident', 'The incident')} was traced to {known.get('cause', 'a service')}. "
        "What did the deploy change?",
        ToolCall(tool="search_deploy", arguments={"deploy_id": _deploy_of(messages)}),
        missing=["what the deploy changed"],
    )


def _answer(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if not known.get("deploy"):
        return give_up(f"deploy {_deploy_of(messages)} could not be looked up")
    text = f"{known.get('cause')} caused {known.get('incident')}. {_change(known)}"
    cites = sorted({"incident", "cause", "deploy"} & known.keys())
    return decide("Both lookups agree.", FinalAnswer(answer=text, cites=cites))


def _roll_back(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if not known.get("deploy"):
        return give_up(f"deploy {_deploy_of(messages)} could not be looked up")
    arguments = {
        "deploy_id": known["deploy"],
        "reason": f"{_change(known)} {known.get('incident')} followed.",
    }
    return decide(
        "The change explains the timeouts. Rolling back is high-risk: a person decides.",
        ToolCall(tool="rollback", arguments=arguments),
    )


def _report(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if not known.get("rolled_back"):
        return give_up(f"deploy {_deploy_of(messages)} was not rolled back{said(messages)}. {_change(known)}")
    text = (
        f"{known.get('cause')} caused {known.get('incident')}. {_change(known)} "
        f"Deploy {known['rolled_back']} is rolled back; version {known.get('live_version')} is live again."
    )
    return decide(
        "The rollback is recorded.", FinalAnswer(answer=text, cites=["rolled_back", "live_version"])
    )


def _change(known: dict[str, Any]) -> str:
    """What the deploy changed, in one sentence, from the facts."""
    if "retry_budget_old_s" not in known:
        return f"Deploy {known.get('deploy')} of {known.get('service')} changed no retry budget."
    old, new = (f"{known[f'retry_budget_{side}_s']:g} s" for side in ("old", "new"))
    where = f"{known.get('files_changed')} files of {known.get('service')}"
    return f"Deploy {known.get('deploy')} cut the retry budget from {old} to {new} in {where}."


def _deploy_of(messages: list[BaseMessage]) -> str:
    """The deploy that the goal names."""
    return named(messages, r"deploy\s+#?(\d+)", "4471")


SCRIPTS: dict[str, Sequence[ScriptStep]] = {
    "question": (_find_incident, _find_deploy, _answer),
    "rollback": (_find_incident, _find_deploy, _roll_back, _report),
    "repeats": (_find_incident, *[_find_deploy] * 10),
}
"""`question` and `rollback` follow the goal; `repeats` looks the same deploy up again and again."""
