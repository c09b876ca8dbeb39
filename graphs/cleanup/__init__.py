"""The cleanup loop: "clean up stale records", without becoming the deletion of 300 of them.

One deletion touches at most 20 records, by a rule that no approval lifts. A person sees the exact ids and
what a dry run says about them, and may edit the list. A deletion that is proposed on the last step does not
run, because no step is left to look at what it did.

The tests count the records that are left, and compare their ids with those that a person saw.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from interlock.graphs.cleanup.script import SCRIPTS, script_for
from interlock.graphs.cleanup.tools import cleanup_tools
from interlock.graphs.cleanup.world import make_world
from interlock.graphs.loop import Loop, create_loop
from interlock.nodes.model import ChatModel
from interlock.policies.budget import Budget
from interlock.policies.rules import Policy

__all__ = ["GOAL", "SCRIPTS", "build", "make_world", "script_for"]

GOAL = "Clean up stale records: those that were not used for 365 days."
"""The task of the example."""

INSTRUCTIONS = """\
You keep a database tidy. Find what is stale, delete the longest unused in one small batch, then look again
at what is left. Say how many were deleted and how many are left; a person decides about every batch."""


def build(
    model: BaseChatModel | ChatModel,
    store: Any,
    *,
    world: Path,
    budget: Budget | None = None,
    policy: Policy | None = None,
) -> Loop:
    """The cleanup loop over a world that `make_world` wrote.

    Args:
        store: what `open_store` returns.
        world: the database that the tools read and delete from.

    Raises:
        BadLoop: model and tools do not fit together.
    """
    return create_loop(
        model,
        cleanup_tools(world),
        store=store,
        budget=budget or Budget(max_steps=12),
        policy=policy,
        instructions=INSTRUCTIONS,
        require=("stale_count",),
        name="cleanup",
    )
