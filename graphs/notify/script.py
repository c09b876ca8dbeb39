"""What the scripted model of the example says. Written in advance: no model was asked.

Its arguments and answers are made of the facts in the prompt, where a model would look too.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from interlock.graphs.scripting import ScriptStep, decide, facts, give_up, named, said
from interlock.policies.proposals import Decision, FinalAnswer, ToolCall

__all__ = ["SCRIPTS", "script_for"]


def script_for(goal: str) -> Sequence[ScriptStep]:
    """The script that fits a goal: there is one, and what is overdue decides how far it goes."""
    return SCRIPTS["notify"]


def _check(messages: list[BaseMessage]) -> Decision:
    return decide(
        "Is anything overdue? The tool knows the time.",
        ToolCall(tool="overdue_tickets", arguments={"priority": _priority(messages)}),
        missing=["which tickets are overdue"],
    )


def _who(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if "overdue_count" not in known:
        return give_up("the tickets could not be looked up; nobody was notified")
    if known["overdue_count"] == 0:
        text = f"No {_priority(messages)}-priority ticket is overdue; nobody was notified."
        return decide("There is nothing to tell anybody.", FinalAnswer(answer=text, cites=["overdue_count"]))
    return decide("Who is on call now?", ToolCall(tool="who_is_on_call"), missing=["who is on call"])


def _notify(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if "on_call" not in known:
        return give_up("nobody is on call by the rota; nobody was notified")
    tickets = known["overdue_ids"]
    message = (
        f"{len(tickets)} {_priority(messages)}-priority ticket overdue: {', '.join(tickets)}, "
        f"the longest since {known['overdue_since']}."
    )
    arguments = {"engineer_id": known["on_call"], "ticket_ids": tickets, "message": message}
    return decide("One notification about all of them.", ToolCall(tool="notify", arguments=arguments))


def _look(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if "notification_id" not in known:
        return give_up(f"nobody was notified{said(messages)}")
    return decide(
        "Is it really there? Only the record tells.",
        ToolCall(tool="get_notification", arguments={"notification_id": known["notification_id"]}),
    )


def _report(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if known.get("seen_notification") != known.get("notification_id"):
        return give_up(f"notification {known.get('notification_id')} could not be found")
    text = (
        f"{', '.join(known['overdue_ids'])} is overdue since {known['overdue_since']}. "
        f"{known['on_call']}, who is on call, was notified once: {known['notification_id']}."
    )
    return decide(
        "The notification is on record.",
        FinalAnswer(answer=text, cites=["overdue_ids", "on_call", "seen_notification"]),
    )


def _priority(messages: list[BaseMessage]) -> str:
    """The priority that the goal names."""
    return named(messages, r"\b(high|normal|low)\b", "high").lower()


def _claim(messages: list[BaseMessage]) -> Decision:
    text = "The engineer on call was notified."
    return decide("It is overdue, so somebody will have been told.", FinalAnswer(answer=text))


SCRIPTS: dict[str, Sequence[ScriptStep]] = {
    "notify": (_check, _who, _notify, _look, _report),
    "claims": (_check, _claim, _who, _notify, _look, _report),
}
"""`notify` follows the goal; `claims` says that somebody was notified before anybody was."""
