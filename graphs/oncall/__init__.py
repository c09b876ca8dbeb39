"""The on-call loop: which service caused the incident, what did the deploy change, and roll it back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from interlock.graphs.loop import Loop, create_loop
from interlock.graphs.oncall.script import SCRIPTS, script_for
from interlock.graphs.oncall.tools import oncall_tools
from interlock.graphs.oncall.world import make_world
from interlock.nodes.model import ChatModel
from interlock.policies.budget import Budget
from interlock.policies.rules import Policy

__all__ = ["GOAL", "SCRIPTS", "build", "make_world", "script_for"]

GOAL = "Which service caused the checkout incident, and what changed in deploy 4471?"
"""The question of the example."""

INSTRUCTIONS = """\
You are on call. Find out what happened from the incidents and the deploys, with as few lookups as it takes.
Name the service, the deploy and the exact change. Change something only when the goal asks for it."""


def build(
    model: BaseChatModel | ChatModel,
    store: Any,
    *,
    world: Path,
    budget: Budget | None = None,
    policy: Policy | None = None,
) -> Loop:
    """The on-call loop over a world that `make_world` wrote.

    Args:
        store: what `open_store` returns.
        world: the database that the tools read and that a rollback changes.

    Raises:
        BadLoop: model and tools do not fit together.
    """
    return create_loop(
        model,
        oncall_tools(world),
        store=store,
        budget=budget or Budget(max_steps=12),
        policy=policy,
        instructions=INSTRUCTIONS,
        require=("deploy",),
        name="oncall",
    )
