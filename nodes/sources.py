"""What a run has read so far, for tracing where the values of an action come from."""

from __future__ import annotations

from collections.abc import Mapping
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
    known = Sources(goal=visit.control.goal, trusted=trusted_facts(visit.state.get("facts") or {}))
    user, trusted, outside = list[str](), list(known.trusted), list[Content]()
    for step in visit.state.get("scratchpad") or ():
        user += _answers(step)
        content = await _content(
            step, Sources(known.goal, tuple(user), tuple(trusted), tuple(outside)), visit, deps
        )
        if content is not None:
            (outside if content.origin.startswith("outside:") else trusted).append(content)
    properties = tool.schema.get("properties", {})
    defaults = {name: one["default"] for name, one in properties.items() if "default" in one}
    return Sources(
        known.goal, tuple(user), tuple(trusted), tuple(outside), defaults, frozenset(_declared(tool.schema))
    )


def _answers(step: Mapping[str, Any]) -> list[str]:
    """What people wrote; an approval is no text of theirs."""
    decisions = [answer.get("decision") or {} for answer in step.get("answers") or ()]
    return [one["message"] for one in decisions if one.get("type") == "respond" and one.get("message")]


async def _content(step: Mapping[str, Any], before: Sources, visit: Visit, deps: Deps) -> Content | None:
    """What a step read, indexed once in a process; what a call only repeats vouches for nothing."""
    key = (visit.control.run_id, int(step["step"]))
    if key in deps.read:
        return deps.read[key]
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
        origins = trace_arguments(ticket["arguments"], before)
        echoes = unknown_values(ticket["arguments"], origins)
        content = Content.of(f"tool:{ticket['tool']}", raw, echoes)
    deps.read[key] = content
    return content


def _declared(schema: Any) -> set[str]:
    """Names of the fields that a schema declares, at any depth."""
    if isinstance(schema, list):
        return {name for item in schema for name in _declared(item)}
    if not isinstance(schema, dict):
        return set()
    own = set(schema["properties"]) if isinstance(schema.get("properties"), dict) else set()
    return own | {name for item in schema.values() for name in _declared(item)}
