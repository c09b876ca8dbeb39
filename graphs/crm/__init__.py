"""The CRM loop: one field out of a lookup that returns 120 KB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from interlock.graphs.crm.script import script_for
from interlock.graphs.crm.tools import crm_tools
from interlock.graphs.crm.world import make_world
from interlock.graphs.loop import Loop, create_loop
from interlock.nodes.model import ChatModel
from interlock.policies.budget import Budget
from interlock.policies.rules import Policy

__all__ = ["GOAL", "build", "make_world", "script_for"]

GOAL = "When does the contract of Harbour Freight renew, and who owns it?"
"""The question of the example."""

INSTRUCTIONS = (
    "You answer questions about customers from the CRM. Give the contract's id, its date and its owner."
)


def build(
    model: BaseChatModel | ChatModel,
    store: Any,
    *,
    world: Path,
    budget: Budget | None = None,
    policy: Policy | None = None,
) -> Loop:
    """The CRM loop over a world that `make_world` wrote.

    Args:
        store: what `open_store` returns.
        world: the database that the tools read.

    Raises:
        BadLoop: model and tools do not fit together.
    """
    return create_loop(
        model,
        crm_tools(world),
        store=store,
        budget=budget or Budget(max_steps=8),
        policy=policy,
        instructions=INSTRUCTIONS,
        require=("renewal_date", "owner"),
        name="crm",
    )
