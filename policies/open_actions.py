"""Actions that should have changed something and did not: an answer cannot stand while one is open."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from interlock.policies.canonical import ArgumentsError, canonical_json

__all__ = ["open_actions"]


def open_actions(steps: Sequence[Mapping[str, Any]], effects: Collection[str]) -> list[str]:
    """Why the answer cannot stand, one reason for each tool with an open action; empty when none is open.

    An action is open when it was denied, rejected, expired or failed. It is settled when a later call of the
    same tool succeeded, when a person answered instead of letting it run, or when exactly the same action had
    succeeded before.

    Args:
        steps: dumped step records, oldest first.
        effects: names of the tools that change something.
    """
    held: dict[str, str] = {}
    done: set[str] = set()
    for step in steps:
        action = _action(step)
        if action is None or action["tool"] not in effects:
            continue
        ended, tool = _ended(step), str(action["tool"])
        if ended == "":
            done.add(_exact(action))
            held.pop(tool, None)
        elif ended == _ANSWERED:
            held.pop(tool, None)
        elif ended is not None and _exact(action) not in done:
            held[tool] = f"{tool} in step {step['step']} {ended}; do it, or use cannot_complete and name it"
    return list(held.values())


_ANSWERED = "was answered by a person"


def _action(step: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What was to run: the ticket, which a person may have edited, or else the proposal."""
    proposal: Mapping[str, Any] = (step.get("decision") or {}).get("proposal") or {}
    if proposal.get("kind") not in ("tool_call", "request_approval"):
        return None
    return step.get("ticket") or proposal


def _ended(step: Mapping[str, Any]) -> str | None:
    """How the action ended: empty for success, words for anything else, None while nobody knows."""
    result, verdict = step.get("result"), step.get("verdict") or {}
    if result is not None:
        return "" if result["status"] == "ok" else f"failed ({result['status']})"
    for answer in reversed(step.get("answers") or []):
        if answer["kind"] == "approval":
            return _answered(answer)
    return f"was denied by rule {verdict['rule']}" if verdict.get("kind") == "deny" else None


def _answered(answer: Mapping[str, Any]) -> str:
    decision = answer.get("decision")
    if decision is None:
        return f"was not run, because its approval was {answer['outcome']}"
    match decision["type"]:
        case "respond":
            return _ANSWERED
        case "reject":
            return f"was rejected by {decision.get('by', 'a person')}"
        case _:
            return "was not run, although it was approved"


def _exact(action: Mapping[str, Any]) -> str:
    arguments = action.get("arguments") or {}
    try:
        return f"{action['tool']} {canonical_json(arguments)}"
    except ArgumentsError:
        return f"{action['tool']} {arguments!r}"
