"""The commands on open questions: approvals and decide."""

from __future__ import annotations

import json
from typing import Any

from interlock import UnknownApproval, open_store
from interlock.cli.driving import resume_command
from interlock.cli.refusals import COMPLETED
from interlock.cli.reports import report_question
from interlock.cli.terminal import Terminal
from interlock.cli.words import call_text
from interlock.policies.questions import Approval

__all__ = ["approvals_command", "decide_command"]


def approvals_command(approval_id: str | None, *, store: str, as_json: bool) -> int:
    """`interlock approvals`: what people are asked, in all runs of a store."""
    terminal = Terminal(as_json)
    with open_store(store, must_exist=True) as opened:
        found = opened.approvals.get(approval_id) if approval_id else None
        listed = opened.approvals.pending() if approval_id is None else []
    if approval_id is not None:
        return _one(found, approval_id, store, terminal)
    if as_json:
        terminal.document([approval.payload() for approval in listed])
        return COMPLETED
    for approval in listed:
        question = approval.question
        head = f"{question.approval_id}  run {question.run_id}, step {question.step}  {question.kind}"
        terminal.line(f"{head}  {call_text(question.tool, question.arguments)}")
    if not listed:
        terminal.line("nothing is asked")
    return COMPLETED


def decide_command(approval_id: str, *, store: str, as_json: bool, **options: Any) -> int:
    """`interlock decide`: the decision on one question, and the run goes on."""
    with open_store(store, must_exist=True) as opened:
        found = opened.approvals.get(approval_id)
    if found is None:
        raise UnknownApproval(f"there is no question {approval_id}")
    return resume_command(
        found.question.run_id, store=store, as_json=as_json, model=None, approval_id=approval_id, **options
    )


def _one(found: Approval | None, approval_id: str, store: str, terminal: Terminal) -> int:
    if found is None:
        raise UnknownApproval(f"there is no question {approval_id}")
    if terminal.as_json:
        terminal.document({**found.dump(), **found.payload(), "status": found.status})
        return COMPLETED
    report_question(found.question.run_id, found.payload(), store, terminal)
    terminal.line(
        json.dumps(found.question.arguments, ensure_ascii=False, indent=2), label="whole", whole=True
    )
    if found.decision is not None:
        terminal.line(f"{found.decision.type} by {found.decision.by} at {found.decided_at}", label="decided")
    return COMPLETED
