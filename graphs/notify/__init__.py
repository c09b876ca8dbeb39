"""The support loop: when a ticket is overdue, tell the engineer on call, once, and see that it arrived.

The clock says what is overdue, in the tool; the model is never asked. Nothing overdue ends in one pass with
nothing sent. An answer stands when this run sent one notification about every overdue ticket and the record
of it is there; one that an earlier run sent does not count.

The tests let the clock pass a due time, and count the notifications that the database holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from interlock.graphs.loop import Loop, SystemClock, create_loop
from interlock.graphs.notify.script import SCRIPTS, script_for
from interlock.graphs.notify.tools import notify_tools
from interlock.graphs.notify.verifying import notified_once
from interlock.graphs.notify.world import make_world
from interlock.nodes.model import ChatModel
from interlock.nodes.ports import Clock
from interlock.policies.budget import Budget
from interlock.policies.rules import Policy

__all__ = ["GOAL", "SCRIPTS", "build", "make_world", "script_for"]

GOAL = "Check high-priority tickets; notify the on-call engineer if any are overdue."
"""The task of the example."""

INSTRUCTIONS = """\
You watch support tickets. Look up what is overdue; if nothing is, say so and stop. Otherwise look up who is
on call, send one notification about all overdue tickets, and look at whether it is on record."""


def build(
    model: BaseChatModel | ChatModel,
    store: Any,
    *,
    world: Path,
    budget: Budget | None = None,
    policy: Policy | None = None,
    clock: Clock | None = None,
) -> Loop:
    """The support loop over a world that `make_world` wrote.

    Args:
        store: what `open_store` returns.
        world: the database that the tools read and that holds the notifications.
        clock: what overdue and on call are judged against; the machine's by default.

    Raises:
        BadLoop: model and tools do not fit together.
    """
    clock = clock or SystemClock()
    return create_loop(
        model,
        notify_tools(world, clock),
        store=store,
        budget=budget or Budget(max_steps=12),
        policy=policy,
        instructions=INSTRUCTIONS,
        require=("overdue_count",),
        verifiers=[notified_once(world)],
        clock=clock,
        name="notify",
    )
