"""Results as envelopes: bounded, deterministic, never cut mid-structure silently. Pure."""

from __future__ import annotations

from typing import Any

import jmespath
from jmespath.exceptions import JMESPathError

from interlock.policies.contracts import Contract
from interlock.policies.facts import Fact
from interlock.policies.observations import Observation, Status, ToolResult
from interlock.policies.questions import HumanDecision, QuestionKind
from interlock.policies.record import JsonValue
from interlock.policies.shapes import entities_of, shortened
from interlock.policies.steps import InvalidDecision
from interlock.policies.text import bounded
from interlock.policies.verdicts import Verdict

__all__ = ["facts_from", "observe", "observe_answer", "observe_denied", "observe_invalid"]

LIMIT = 1_000
"""Longest summary of a result, characters."""

_AFTER: dict[Status, str] = {
    "retryable_error": "the call may be tried again later",
    "invalid_input": "correct the arguments",
    "permission_denied": "do something else; the same call stays denied",
    "not_found": "it does not exist; look it up another way",
    "conflict": "look at the current state before acting again",
    "unknown_outcome": "look at the world before acting again: it may have happened",
    "tool_error": "the tool itself failed; try another way",
}


def observe(raw: JsonValue, result: ToolResult, contract: Contract, *, limit: int = LIMIT) -> Observation:
    """The envelope of a result.

    Args:
        raw: the raw value as plain JSON; None when the call failed.
        limit: longest summary, characters.
    """
    if result.status != "ok":
        return _failed(result, contract)
    if contract.normalizer:
        return _mapped(raw, result, contract, limit)
    summary, whole = shortened(raw, limit)
    return _envelope(result, contract, summary, [] if whole else entities_of(raw), _paging(result, whole))


def facts_from(raw: JsonValue, contract: Contract, step: int, at: str, tool: str) -> list[Fact]:
    """Facts by the contract's `provides`. An expression that finds nothing, or is broken, gives no fact."""
    found = []
    for key, expression in contract.provides.items():
        value = _search(expression, raw)
        if value is None:
            continue
        found.append(
            Fact(
                key=key,
                value=value,
                source=f"tool:{tool}",
                trust="observed",
                tainted=contract.untrusted,
                step=step,
                observed_at=at,
            )
        )
    return found


def observe_denied(verdict: Verdict) -> Observation:
    """What the model sees of an action that the policy did not let run."""
    summary = f"not run; rule {verdict.rule}: {verdict.reason}"
    return _told("permission_denied", summary)


def observe_invalid(invalid: InvalidDecision) -> Observation:
    """What the model sees of a reply that was no decision."""
    return _told("invalid_input", f"nothing ran: {invalid.problem}")


def observe_answer(kind: QuestionKind, outcome: str, decision: HumanDecision | None) -> Observation:
    """What the model sees of a person's answer that stands for the result."""
    if decision is None:
        return _told("permission_denied", f"not executed: the question {outcome} without an answer")
    said = decision.message or decision.reason or ""
    if decision.type == "respond":
        return _told("ok", f"a person answered: {said}")
    if decision.type == "reject" and kind == "ask":
        return _told("permission_denied", f"nobody will answer this{': ' + said if said else ''}")
    if decision.type == "reject":
        return _told("permission_denied", f"rejected by a person; this is final{': ' + said if said else ''}")
    return _told("permission_denied", "not executed: what was approved is not what would run")


def _mapped(raw: JsonValue, result: ToolResult, contract: Contract, limit: int) -> Observation:
    """The envelope by the contract's own JMESPath mapping: `summary`, `entities`, `next_actions`."""
    mapping = contract.normalizer or {}
    picked = _search(str(mapping["summary"]), raw) if "summary" in mapping else raw
    summary, _ = shortened(picked, limit)
    entities = _search(str(mapping["entities"]), raw) if "entities" in mapping else None
    listed = entities if isinstance(entities, list) else [] if entities is None else [entities]
    following = [str(item) for item in mapping.get("next_actions", [])]
    return _envelope(result, contract, summary, listed[:20], following)


def _failed(result: ToolResult, contract: Contract) -> Observation:
    following = [_AFTER[result.status]] if result.status in _AFTER and result.attempts else []
    summary = bounded(result.error or result.status, LIMIT)
    return _envelope(result, contract, summary, [], following)


def _envelope(
    result: ToolResult, contract: Contract, summary: str, entities: list[JsonValue], following: list[str]
) -> Observation:
    return Observation(
        status=result.status,
        summary=summary,
        entities=entities,
        next_actions=following,
        raw_ref=result.raw_ref,
        trust="untrusted" if contract.untrusted else "trusted",
        size_before=result.size,
        size_after=len(summary.encode()) + sum(len(str(entity)) for entity in entities),
    )


def _told(status: Status, summary: str) -> Observation:
    short = bounded(summary, 4 * LIMIT)
    return Observation(status=status, summary=short, size_after=len(short.encode()))


def _paging(result: ToolResult, whole: bool) -> list[str]:
    return [] if whole else ["this is a part of the result; ask for less, or for one item by its identifier"]


def _search(expression: str, raw: Any) -> Any:
    try:
        return jmespath.search(expression, raw)
    except JMESPathError:
        return None
