"""What the scripted model of the example says. Written in advance: no model was asked."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from interlock.graphs.scripting import ScriptStep, decide, facts, give_up, named
from interlock.policies.proposals import Decision, FinalAnswer, ToolCall

__all__ = ["script_for"]


def script_for(goal: str) -> Sequence[ScriptStep]:
    """The script: find the account, read it, answer."""
    return [_find, _read, _answer]


def _find(messages: list[BaseMessage]) -> Decision:
    words = named(messages, r"contract of ([\w ]+?)(?:,|\?| renew|$)", "Harbour Freight")
    call = ToolCall(tool="find_account", arguments={"words": words})
    return decide("Which account is it?", call, missing=["the account", "its contract"])


def _read(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if not known.get("account"):
        return give_up("there is no such account")
    call = ToolCall(tool="read_account", arguments={"account_id": known["account"]})
    return decide("The contract stands in the account's document.", call, missing=["its contract"])


def _answer(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if not known.get("renewal_date"):
        return give_up("the account has no active contract")
    text = (
        f"Contract {known['contract']} renews on {known['renewal_date']}; the {known['owner']} team owns it."
    )
    return decide("Both are known.", FinalAnswer(answer=text, cites=["contract", "owner", "renewal_date"]))
