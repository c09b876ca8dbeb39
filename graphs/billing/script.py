"""What the scripted model of the example says. Written in advance: no model was asked.

Its arguments and answers are made of the facts in the prompt, where a model would look too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage

from interlock.graphs.scripting import ScriptStep, decide, facts, give_up, happened, named, said
from interlock.policies.proposals import Decision, FinalAnswer, ToolCall

__all__ = ["SCRIPTS", "script_for"]

NEEDED = ["customer_id", "invoice_id", "payment_status", "refund_eligible"]


def script_for(goal: str) -> Sequence[ScriptStep]:
    """The script that fits a goal: a question is answered, anything else is an order to refund."""
    return SCRIPTS["question" if goal.rstrip().endswith("?") else "refund"]


def _find_customer(messages: list[BaseMessage]) -> Decision:
    customer = named(messages, r"\b(C-\d+)", "C-204")
    return decide(
        "Who is asking? Nothing is paid back to somebody who was not looked up.",
        ToolCall(tool="find_customer", arguments={"query": customer}),
        missing=["the invoice", "whether it was paid", "whether a refund is due"],
    )


def _get_invoice(messages: list[BaseMessage]) -> Decision:
    return _look_at("get_invoice", "Is the invoice this customer's, and over how much?", messages)


def _get_payments(messages: list[BaseMessage]) -> Decision:
    return _look_at("get_payments", "What was charged for it?", messages)


def _eligibility(messages: list[BaseMessage]) -> Decision:
    return _look_at("refund_eligibility", "May money go back, and how much?", messages)


def _refund(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if problem := _problem(known, _invoice_of(messages)):
        return give_up(problem)
    arguments = {
        "invoice_id": known["invoice_id"],
        "amount_cents": known["refundable_cents"],
        "currency": known["currency"],
    }
    return decide(
        "The overpaid part is due. A refund is high-risk: a person decides.",
        ToolCall(tool="refund", arguments=arguments),
    )


def _report(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if happened(messages) and not known.get("refund_id"):
        return _look_at("get_payments", "A person says that it happened. What do the payments say?", messages)
    if not known.get("refund_id"):
        return give_up(f"{_invoice_of(messages)} was not refunded{said(messages)}")
    text = (
        f"{known['invoice_id']} of {known['customer']} ({known['customer_id']}) was charged "
        f"{_money(known, 'charged_cents')}, and {_money(known, 'refunded_cents')} went back "
        f"as {known['refund_id']}."
    )
    return decide("The refund is recorded.", FinalAnswer(answer=text, cites=[*NEEDED, "refund_id"]))


def _answer(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    if any(key not in known for key in NEEDED):
        return give_up(f"{_invoice_of(messages)} could not be looked up")
    due = (
        f"{_money(known, 'refundable_cents')} may go back" if known["refund_eligible"] else "no refund is due"
    )
    text = f"{known['invoice_id']} of {known['customer']} is {known['payment_status']}: {due}."
    return decide("Everything that matters was looked up.", FinalAnswer(answer=text, cites=NEEDED))


def _problem(known: dict[str, Any], invoice: str) -> str:
    """Why nothing is refunded; empty when a refund is due."""
    if any(key not in known for key in NEEDED):
        return f"{invoice} or its customer could not be looked up; nothing was refunded"
    if known["invoice_customer"] != known["customer_id"]:
        return f"{invoice} is not an invoice of {known['customer_id']}; nothing was refunded"
    if not known["refund_eligible"]:
        return f"{invoice} is {known['payment_status']} and not eligible for a refund; nothing was refunded"
    return ""


def _look_at(tool: str, thought: str, messages: list[BaseMessage]) -> Decision:
    return decide(thought, ToolCall(tool=tool, arguments={"invoice_id": _invoice_of(messages)}))


def _invoice_of(messages: list[BaseMessage]) -> str:
    """The invoice that the goal names."""
    return named(messages, r"\b(INV-\d+)", "INV-3318")


def _money(known: dict[str, Any], key: str) -> str:
    return f"{known[key] / 100:.2f} {known['currency']}"


LOOKUPS = (_find_customer, _get_invoice, _get_payments, _eligibility)
SCRIPTS: dict[str, Sequence[ScriptStep]] = {
    "refund": (*LOOKUPS, _refund, _report, _report),
    "question": (*LOOKUPS, _answer),
    "insists": (*LOOKUPS, _refund, _refund, _report),
}
"""`refund` and `question` follow the goal; `insists` proposes the same refund again after a rejection."""
