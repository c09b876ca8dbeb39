"""Read tools that the application itself calls: the dry run before a question, and what really happened."""

from __future__ import annotations

from typing import Any, Literal

from interlock.nodes.calling import Call, Called, call_tool
from interlock.nodes.deps import Deps
from interlock.nodes.tools import BoundTool
from interlock.policies.canonical import ArgumentsError
from interlock.policies.normalizers import observe
from interlock.policies.observations import ToolResult
from interlock.policies.record import JsonValue
from interlock.policies.tickets import Ticket

__all__ = ["preview_of", "reconciled"]


async def preview_of(tool: BoundTool, arguments: dict[str, Any], deps: Deps) -> JsonValue:
    """What the contract's dry run says about an action, bounded; None when the contract names none."""
    if tool.contract.dry_run is None:
        return None
    reader = deps.tools[tool.contract.dry_run]
    called = await _read(reader, arguments, deps)
    result = ToolResult(status=called.status, error=called.error)
    return observe(called.value, result, reader.contract).summary


async def reconciled(
    tool: BoundTool, ticket: Ticket, arguments: dict[str, Any], deps: Deps
) -> tuple[Literal["happened", "absent", "unknown"], Called]:
    """Ask the world whether an action happened, by the contract's `reconcile`.

    The tool is called with the idempotency key and those of the action's arguments that it takes.
    `not_found`, null, false and empty results say that it did not happen; any other value is what came of it.

    Args:
        arguments: the action's arguments with their secrets.
    """
    if tool.contract.reconcile is None:
        return "unknown", Called("unknown_outcome")
    known = {**arguments, "idempotency_key": ticket.idempotency_key}
    called = await _read(deps.tools[tool.contract.reconcile], known, deps)
    if called.status == "not_found" or (called.status == "ok" and called.value in (None, False, "", [], {})):
        return "absent", called
    return ("happened" if called.status == "ok" else "unknown"), called


async def _read(reader: BoundTool, known: dict[str, Any], deps: Deps) -> Called:
    taken = {key: value for key, value in known.items() if key in reader.schema.get("properties", {})}
    try:
        return await call_tool(Call(reader, reader.validate(taken)), deps)
    except ArgumentsError as error:
        return Called("invalid_input", error=str(error))
