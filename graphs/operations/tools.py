"""What the operations loop can do: ask a service how it is, read its log, and restart it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg

from interlock.graphs.operations.world import World
from interlock.nodes.tools import contract
from interlock.policies.contracts import Poll

__all__ = ["operations_tools"]

SERVICES = ["payments", "ledger"]
"""The services that this loop may restart."""


def operations_tools(path: Path, *, poll_every_s: float = 0.5) -> list[Callable[..., Any]]:
    """The tools over the services of the database at `path`, each with its contract.

    Args:
        poll_every_s: seconds between two looks at the same service's health.
    """
    world = World(path)

    @contract(
        effect="read",
        untrusted=False,
        timeout_s=15.0,
        poll=Poll(interval_s=poll_every_s, until="status == 'healthy'", max_calls=20),
        provides={
            "health": "status",
            "free_connections": "connections.free",
            "needed_connections": "connections.needed",
            "pool_size": "connections.size",
        },
    )
    def get_health(service: str) -> dict[str, Any]:
        """What the health endpoint of a service says now: healthy, starting or degraded, and why.

        Args:
            service: name of the service, for example "payments".
        """
        return world.ask(service, "health")

    @contract(effect="read", timeout_s=15.0)
    def get_log(service: str) -> dict[str, Any]:
        """The latest lines of a service's log. They hold what callers sent.

        Args:
            service: name of the service, for example "payments".
        """
        return world.ask(service, "log")

    # A write, not high-risk: a restart of one service that the goal names can be repeated and costs a second.
    # A service that only the log names is a target from outside content, so a person is asked.
    @contract(
        effect="write",
        idempotent=True,
        untrusted=False,
        timeout_s=30.0,
        max_calls=2,
        targets=["service"],
        scope={"service": {"allowed": SERVICES}},
        reconcile="find_restart",
        provides={"restarted": "service"},
    )
    def restart_service(service: str, idempotency_key: Annotated[str, InjectedToolArg]) -> dict[str, Any]:
        """Restart a service. It is not healthy at once, and a restart does not cure everything.

        Args:
            service: name of the service, for example "payments".
        """
        return world.restart(service, idempotency_key)

    @contract(effect="read", untrusted=False)
    def find_restart(idempotency_key: str) -> dict[str, Any]:
        """Look up the restart that was made under an idempotency key.

        Args:
            idempotency_key: the key of the request, as a run's changes list it.
        """
        return world.restarted_under(idempotency_key)

    return [get_health, get_log, restart_service, find_restart]
