"""What the cleanup loop can do: find, preview, and delete a few records at a time when a person approves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg

from interlock.graphs.cleanup.world import World
from interlock.nodes.tools import contract
from interlock.policies.tool_errors import InvalidInput

__all__ = ["MAX_BATCH", "STALE_DAYS", "cleanup_tools"]

MAX_BATCH = 20
"""Most records that one deletion may touch, whoever approves it: the blast radius."""
STALE_DAYS = 365
"""Days without use after which a record counts as stale in a preview."""


def cleanup_tools(path: Path) -> list[Callable[..., Any]]:
    """The tools over the database at `path`, each with its contract."""
    world = World(path)

    @contract(
        effect="read",
        untrusted=False,
        provides={"stale_count": "count", "stale_ids": "ids"},
        normalizer={
            "summary": "{count} of {records} records were not used for more than {older_than_days} days. "
            "The longest unused: {oldest}",
            "entities": "ids[:20]",
        },
    )
    def find_stale(older_than_days: int) -> dict[str, Any]:
        """Find records that were not used for a while, the longest unused first. Changes nothing.

        Args:
            older_than_days: days without use, at least 1, for example 365.
        """
        return _stale(world, older_than_days)

    @contract(effect="read", untrusted=False)
    def preview_delete(ids: list[str]) -> dict[str, Any]:
        """What a deletion of these records would do. Changes nothing.

        Args:
            ids: ids of the records, for example ["R0002"].
        """
        return _preview(world, ids)

    @contract(
        effect="high_risk",
        idempotent=True,
        untrusted=False,
        timeout_s=30.0,
        targets=["ids"],
        scope={"ids": {"max_items": MAX_BATCH, "pattern": r"R\d{4}"}},
        dry_run="preview_delete",
        provides={"deleted_ids": "deleted", "deleted_count": "count", "records_left": "records_left"},
    )
    def delete_records(ids: list[str], idempotency_key: Annotated[str, InjectedToolArg]) -> dict[str, Any]:
        """Delete records for good, all of these or none.

        Args:
            ids: ids of the records, for example ["R0002"].
        """
        return world.delete(_some(ids), idempotency_key)

    return [find_stale, preview_delete, delete_records]


def _stale(world: World, days: int) -> dict[str, Any]:
    if days < 1:
        raise InvalidInput("older_than_days has to be at least 1")
    rows = world.older_than(days)
    return {
        "older_than_days": days,
        "records": world.count(),
        "count": len(rows),
        "oldest": rows[0] if rows else None,
        "ids": [row["id"] for row in rows],
    }


def _preview(world: World, ids: list[str]) -> dict[str, Any]:
    rows, all_of_them = world.records(_some(ids)), world.count()
    return {
        "would_delete": len(rows),
        "records_left": all_of_them - len(rows),
        "last_used_on": {"first": rows[0]["last_used_on"], "last": rows[-1]["last_used_on"]},
        "not_stale": [row["id"] for row in rows if row["age_days"] <= STALE_DAYS],
    }


def _some(ids: list[str]) -> list[str]:
    if not ids:
        raise InvalidInput("ids is empty: name the records")
    return ids
