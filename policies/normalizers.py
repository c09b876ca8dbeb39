"""Results as envelopes: bounded, deterministic, never cut mid-structure silently. Pure."""

from __future__ import annotations

import json

from interlock.policies.contracts import Contract
from interlock.policies.facts import Fact
from interlock.policies.identifiers import identifiers_in
from interlock.policies.not_run import observe_answer, observe_denied, observe_invalid
from interlock.policies.observations import Observation, Status, ToolResult
from interlock.policies.progress import result_key
from interlock.policies.queries import Found, pick, pick_all, rendered
from interlock.policies.record import JsonValue
from interlock.policies.shapes import binary_size, compact, cut_text, headline, shown, size_of
from interlock.policies.text import visible

__all__ = ["LIMIT", "facts_from", "observe", "observe_answer", "observe_denied", "observe_invalid"]

LIMIT = 1_000
"""Largest summary of a result, bytes."""
MIN_LIMIT = 200
"""Smallest limit: room for saying what was left out."""

_AFTER: dict[Status, str] = {
    "retryable_error": "the call may be tried again later",
    "invalid_input": "correct the arguments",
    "permission_denied": "do something else; the same call stays denied",
    "not_found": "it does not exist; look it up another way",
    "conflict": "look at the current state before acting again",
    "unknown_outcome": "look at the world before acting again: it may have happened",
    "tool_error": "the tool itself failed; try another way",
}
_IN_PART = "the rest is kept under raw_ref; ask for less, or for one item by its identifier"


def observe(raw: JsonValue, result: ToolResult, contract: Contract, *, limit: int = LIMIT) -> Observation:
    """The envelope of a result: whole as compact JSON where it fits, else its structure first.

    A result that is shown whole lists no entities: they stand in it. What is wrong with the contract's own
    expressions is said at the end of the summary.

    Args:
        raw: the raw value as plain JSON; None when the call failed.
        limit: largest summary, bytes; at least MIN_LIMIT.
    """
    limit = max(limit, MIN_LIMIT)
    if result.status != "ok":
        following = [_AFTER[result.status]] if result.attempts else []
        return _envelope(raw, result, contract, _fitted(result.error or result.status, limit), [], following)
    if contract.normalizer:
        return _by_contract(raw, result, contract, limit)
    notes = _notes([found.note for found in pick_all(contract.provides, raw).values()])
    summary, whole = _summary(raw, result, limit - size_of(notes))
    entities = [] if whole else identifiers_in(raw, limit // 2)
    return _envelope(raw, result, contract, summary + notes, entities, [] if whole else [_IN_PART])


def facts_from(raw: JsonValue, contract: Contract, step: int, at: str, tool: str) -> list[Fact]:
    """Facts by the contract's `provides`: what is null, broken, not finite or too large gives none.

    Args:
        at: time of the observation, UTC, ISO 8601.
    """
    return [
        Fact(
            key=key,
            value=found.value,
            source=f"tool:{tool}",
            trust="observed",
            tainted=contract.untrusted,
            step=step,
            observed_at=at,
        )
        for key, found in pick_all(contract.provides, raw).items()
        if found.value is not None
    ]


def _by_contract(raw: JsonValue, result: ToolResult, contract: Contract, limit: int) -> Observation:
    """The envelope by the contract's own mapping; what it leaves open is as usual."""
    mapping = contract.normalizer or {}
    wanted = rendered(str(mapping["summary"]), raw, limit) if "summary" in mapping else Found()
    chosen = pick(str(mapping["entities"]), raw) if "entities" in mapping else None
    problems = [found.note for found in pick_all(contract.provides, raw).values()]
    problems += [wanted.note, chosen.note if chosen else ""]
    if "summary" in mapping and wanted.value is None and not wanted.note:
        problems.append("the contract's summary found nothing")
    notes = _notes(problems)
    room = limit - size_of(notes)
    summary = _summary(raw, result, room)[0] if wanted.value is None else _fitted(wanted.value, room)
    entities = identifiers_in(raw, limit // 2) if chosen is None else _entities(chosen.value, limit // 2)
    following = [_fitted(str(item), limit // 4) for item in mapping.get("next_actions", [])][:8]
    return _envelope(raw, result, contract, summary + notes, entities, following)


def _summary(raw: JsonValue, result: ToolResult, room: int) -> tuple[str, bool]:
    """The value as text, and whether that is all of it."""
    if (nothing := _nothing(raw)) is not None:
        return nothing, True
    if (size := binary_size(raw)) is not None:
        return f"binary data, {size} bytes; its content is kept under raw_ref at most", False
    text = visible(raw) if isinstance(raw, str) and len(raw) <= room else None
    whole = text if text and size_of(text) <= room else None
    if whole is None and not isinstance(raw, str):
        whole = compact(raw, room)
    if whole is not None:
        return whole, True
    head = headline(raw, result.size) + "\n"
    room -= size_of(head)
    return head + (cut_text(raw, room, quoted=False) if isinstance(raw, str) else shown(raw, room)), False


def _nothing(raw: JsonValue) -> str | None:
    if raw is None:
        return "null (the tool returned no value)"
    if isinstance(raw, str):
        return None if raw.strip() else f"empty text ({len(raw)} characters)"
    if isinstance(raw, list | dict) and not raw:
        return "[] (an empty list)" if isinstance(raw, list) else "{} (an empty object)"
    return None


def _entities(chosen: JsonValue, room: int) -> list[JsonValue]:
    """What the contract chose, as far as it fits; the count of what does not is the last entry."""
    listed = chosen if isinstance(chosen, list) else [] if chosen is None else [chosen]
    kept: list[JsonValue] = []
    for item in listed:
        text = compact(item, room)
        if text is None:
            return [*kept, f"… {len(listed) - len(kept)} more"]
        kept.append(_seen(item))
        room -= size_of(text) + 1
    return kept


def _seen(value: JsonValue) -> JsonValue:
    """The value with its hidden characters written out."""
    if isinstance(value, dict):
        return {visible(key): _seen(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_seen(item) for item in value]
    return visible(value) if isinstance(value, str) else value


def _notes(problems: list[str]) -> str:
    said = "; ".join(dict.fromkeys(problem for problem in problems if problem))
    return f"\n({_fitted(said, MIN_LIMIT // 2)})" if said else ""


def _fitted(text: str, room: int) -> str:
    made = visible(text) if len(text) <= room else ""
    return made if made and size_of(made) <= room else cut_text(text, room, quoted=False)


def _envelope(
    raw: JsonValue,
    result: ToolResult,
    contract: Contract,
    summary: str,
    entities: list[JsonValue],
    following: list[str],
) -> Observation:
    seen = json.dumps([entities, following], ensure_ascii=False) if entities or following else ""
    return Observation(
        status=result.status,
        summary=summary,
        entities=entities,
        next_actions=following,
        raw_ref=result.raw_ref,
        trust="untrusted" if contract.untrusted else "trusted",
        size_before=result.size,
        size_after=size_of(summary) + size_of(seen),
        result_key=result_key(raw, contract.volatile) if result.status == "ok" else None,
    )
