"""The operations loop: a remediation is done when the service's health signal says so, and not before.

The services are real processes on loopback. A restart is a write: it may run when the goal names the service,
and waits for a person when only a log line does. An answer is a claim: the health endpoint is asked until it
says `healthy`, for a bounded time. Where a restart does not help, the run does not end as completed.

The tests ask the endpoint themselves and count the restarts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from interlock.graphs.loop import Loop, create_loop
from interlock.graphs.operations.script import SCRIPTS, script_for
from interlock.graphs.operations.tools import operations_tools
from interlock.graphs.operations.world import make_world
from interlock.nodes.model import ChatModel
from interlock.policies.budget import Budget
from interlock.policies.rules import Policy
from interlock.policies.verifiers import ToolCheck

__all__ = ["GOAL", "SCRIPTS", "build", "make_world", "script_for"]

GOAL = "The payments service is degraded. Bring it back to health."
"""The task of the example."""

INSTRUCTIONS = """\
You keep services running. Look at the health and the log of the service before you change anything, restart
it at most once, and look again: it is done when its health says so."""


def build(
    model: BaseChatModel | ChatModel,
    store: Any,
    *,
    world: Path,
    budget: Budget | None = None,
    policy: Policy | None = None,
    healthy_within_s: float = 10.0,
    poll_every_s: float = 0.5,
) -> Loop:
    """The operations loop over a world that `make_world` wrote.

    Args:
        store: what `open_store` returns.
        world: the database of the services that the tools ask and restart.
        healthy_within_s: seconds in which the service has to become healthy for an answer to stand.
        poll_every_s: seconds between two looks at its health.

    Raises:
        BadLoop: model and tools do not fit together.
    """
    healthy = ToolCheck(
        tool="get_health",
        arguments={"service": "payments"},
        expect="status == 'healthy'",
        within_s=healthy_within_s,
        every_s=poll_every_s,
        name="health of payments",
    )
    return create_loop(
        model,
        operations_tools(world, poll_every_s=poll_every_s),
        store=store,
        budget=budget or Budget(max_steps=20),
        policy=policy,
        instructions=INSTRUCTIONS,
        require=("health",),
        verifiers=[healthy],
        name="operations",
    )
