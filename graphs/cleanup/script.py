"""What the scripted model of the example says. Written in advance: no model was asked.

Its arguments and answers are made of the facts in the prompt, where a model would look too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from interlock.graphs.cleanup.tools import MAX_BATCH, STALE_DAYS
from interlock.graphs.scripting import ScriptStep, decide, facts, give_up, happened, named, said
from interlock.policies.proposals import Decision, FinalAnswer, ToolCall
from interlock.policies.record import JsonValue

__all__ = ["SCRIPTS", "script_for"]


def script_for(goal: str) -> Sequence[ScriptStep]:
    """The script that fits a goal: it goes for everything at once where the goal says so."""
    return SCRIPTS["everything" if re.search(r"\b(all|every|everything)\b", goal, re.IGNORECASE) else "batch"]


def _find(messages: list[BaseMessage]) -> Decision:
    return decide(
        "What is stale? Look before anything is deleted.",
        ToolCall(tool="find_stale", arguments={"older_than_days": _days(messages)}),
        missing=["which records are stale"],
    )


def _delete_all(messages: list[BaseMessage]) -> Decision:
    ids = facts(messages).get("stale_ids") or []
    return _delete(ids, "All of them are stale: delete them.")


def _delete_batch(messages: list[BaseMessage]) -> Decision:
    ids = facts(messages).get("stale_ids") or []
    return _delete(ids[:MAX_BATCH], "Begin with the longest unused. Deleting is high-risk: a person decides.")


def _delete(ids: list[JsonValue], thought: str) -> Decision:
    if not ids:
        return give_up("no stale record was found; nothing was deleted")
    return decide(thought, ToolCall(tool="delete_records", arguments={"ids": ids}))


def _recount(messages: list[BaseMessage]) -> Decision:
    if not facts(messages).get("deleted_count") and not happened(messages):
        return give_up(f"no record was deleted{said(messages)}")
    return decide(
        "What is left? Only a new look tells.",
        ToolCall(tool="find_stale", arguments={"older_than_days": _days(messages)}),
    )


def _report(messages: list[BaseMessage]) -> Decision:
    known = facts(messages)
    gone, left = known.get("deleted_count"), known["stale_count"]
    if gone is None:
        return give_up(f"no deletion was observed; {left} stale records are left")
    text = (
        f"{gone} stale records were deleted: {', '.join(known['deleted_ids'])}. "
        f"{left} stale records are left; each further batch needs a decision of its own."
    )
    return decide(
        "The batch is gone, the rest is not.", FinalAnswer(answer=text, cites=["deleted_ids", "stale_count"])
    )


def _days(messages: list[BaseMessage]) -> int:
    """The age that the goal names, in days."""
    return int(named(messages, r"\b(\d{1,5}) days", str(STALE_DAYS)))


SCRIPTS: dict[str, Sequence[ScriptStep]] = {
    "batch": (_find, _delete_batch, _recount, _report),
    "everything": (_find, _delete_all, _delete_batch, _recount, _report),
    "batches": (_find, *[_delete_batch, _find] * 5),
}
"""`batch` and `everything` follow the goal; `batches` goes on with one batch after the other."""
