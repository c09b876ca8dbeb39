"""What a run has read so far, for tracing where the values of an action come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.tools import BoundTool
from interlock.nodes.visit import Visit
from interlock.policies.provenance import (
    Content,
    Origin,
    Sources,
    trace_arguments,
    trusted_facts,
    unknown_values,
)

__all__ = ["origins_of", "outside_was_read"]


async def origins_of(
    tool: BoundTool, arguments: dict[str, Any], visit: Visit, deps: Deps
) -> dict[str, Origin]:
    """The origin of every value of an action's arguments, by path."""
    return trace_arguments(arguments, await _sources(tool, visit, deps))


def outside_was_read(visit: Visit, deps: Deps) -> bool:
    """True once a step of this run has shown the result of an untrusted tool."""
    steps = visit.state.get("scratchpad") or ()
    return any((step.get("observation") or {}).get("trust") == "untrusted" for step in steps)


async def _sources(tool: BoundTool, visit: Visit, deps: Deps) -> Sources:
    known, read = Sources(goal=visit.control.goal), dict[int, Content]()
    for step in visit.state.get("scratchpad") or ():
        known = replace(known, user=(*known.user, *_answers(step)))
        content = await _content(step, partial(_knowing, known, read, visit), visit, deps)
        if content is not None:
            read[int(step["step"])] = content
    properties = tool.schema.get("properties", {})
    defaults = {name: one["default"] for name, one in properties.items() if "default" in one}
    known = replace(known, defaults=defaults, declared=frozenset(_declared(tool.schema)))
    return _knowing(known, read, visit)


def _knowing(known: Sources, read: Mapping[int, Content], visit: Visit) -> Sources:
    """The sources with what was read so far.

    A fact counts only once its step was read: before that nobody knows what its call merely repeated.
    """
    outside = [one for one in read.values() if one.origin.startswith("outside:")]
    trusted = [one for one in read.values() if not one.origin.startswith("outside:")]
    learned = {
        key: fact
        for key, fact in (visit.state.get("facts") or {}).items()
        if fact["trust"] == "user" or fact["step"] in read
    }
    facts = trusted_facts(learned, {step: content.echoes for step, content in read.items()})
    return replace(known, trusted=(*facts, *trusted), outside=tuple(outside))


def _answers(step: Mapping[str, Any]) -> list[str]:
    """What people wrote; an approval is no text of theirs."""
    decisions = [answer.get("decision") or {} for answer in step.get("answers") or ()]
    return [one["message"] for one in decisions if one.get("type") == "respond" and one.get("message")]


async def _content(
    step: Mapping[str, Any], before: Callable[[], Sources], visit: Visit, deps: Deps
) -> Content | None:
    """What a step read, indexed once in a process; what a call only repeats vouches for nothing.

    Args:
        before: gives what was known when the step's call was made.
    """
    read, number = deps.read.of(visit.control.run_id), int(step["step"])
    if number in read:
        return read[number]
    result, ticket = step.get("result") or {}, step.get("ticket") or {}
    if not ticket or not step.get("observation"):
        return None
    raw = (
        await deps.io(deps.store.payloads.get, result["raw_ref"])
        if result.get("raw_ref")
        else result.get("error")
    )
    tool = deps.tools.get(ticket["tool"])
    if tool is None or tool.contract.untrusted:
        content = Content.of(f"outside:{ticket['tool']}#{step['step']}", raw)
    else:
        origins = trace_arguments(ticket["arguments"], before())
        echoes = unknown_values(ticket["arguments"], origins)
        content = Content.of(f"tool:{ticket['tool']}", raw, echoes)
    read[number] = content
    return content


def _declared(schema: Any) -> set[str]:
    """Names of the fields that a schema declares, at any depth."""
    if isinstance(schema, list):
        return {name for item in schema for name in _declared(item)}
    if not isinstance(schema, dict):
        return set()
    own = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
    return own | {name for item in schema.values() for name in _declared(item)}
