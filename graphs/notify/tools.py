"""What the support loop can do: two lookups, one notification, and a look at whether it is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from langchain_core.tools import InjectedToolArg

from interlock.graphs.notify.world import World, utc
from interlock.nodes.ports import Clock
from interlock.nodes.tools import contract
from interlock.policies.tool_errors import InvalidInput

__all__ = ["notify_tools"]

MAX_TICKETS = 10
"""Most tickets that one notification may be about."""
MAX_MESSAGE = 500
"""Longest message, in characters."""


def notify_tools(path: Path, clock: Clock) -> list[Callable[..., Any]]:
    """The tools over the database at `path`, each with its contract.

    Args:
        clock: says what is overdue and who is on call; the model is not asked what time it is.
    """
    world = World(path)

    @contract(
        effect="read",
        provides={
            "overdue_count": "count",
            "overdue_ids": "tickets[].id",
            "overdue_since": "tickets[0].due_at",
        },
        volatile=["checked_at", "minutes_overdue"],
    )
    def overdue_tickets(priority: Literal["high", "normal", "low"]) -> dict[str, Any]:
        """Open tickets of one priority that are overdue now. Their subjects were written by customers.

        Args:
            priority: high, normal or low.
        """
        now = clock.now()
        found = world.overdue(priority, now)
        return {"checked_at": utc(now), "priority": priority, "count": len(found), "tickets": found}

    @contract(effect="read", untrusted=False, provides={"on_call": "engineer_id"})
    def who_is_on_call() -> dict[str, Any]:
        """The engineer whose shift it is now, by the rota."""
        return world.on_call(clock.now())

    @contract(
        effect="write",
        idempotent=True,
        max_calls=1,
        timeout_s=10.0,
        targets=["engineer_id"],
        scope={
            "engineer_id": {"pattern": r"E-\d{2}"},
            "ticket_ids": {"pattern": r"T-\d{4}", "max_items": MAX_TICKETS},
        },
        reconcile="find_notification",
        provides={"notification_id": "notification_id"},
    )
    def notify(
        engineer_id: str,
        ticket_ids: list[str],
        message: str,
        idempotency_key: Annotated[str, InjectedToolArg],
    ) -> dict[str, Any]:
        """Send one notification about all overdue tickets to the engineer on call.

        Args:
            engineer_id: the engineer on call, for example "E-07".
            ticket_ids: every overdue ticket, for example ["T-1042"].
            message: what is wrong, in one or two sentences.
        """
        if not ticket_ids or not message.strip() or len(message) > MAX_MESSAGE:
            raise InvalidInput(f"a notification names a ticket and has 1 to {MAX_MESSAGE} characters")
        return world.notify(engineer_id, ticket_ids, message, clock.now(), idempotency_key)

    @contract(effect="read", provides={"seen_notification": "notification_id"})
    def get_notification(notification_id: str) -> dict[str, Any]:
        """Look up a notification: to whom, about which tickets, and when it was sent.

        Args:
            notification_id: number of the notification, for example "N-1".
        """
        return world.notification(notification_id)

    @contract(effect="read")
    def find_notification(idempotency_key: str) -> dict[str, Any]:
        """Look up the notification that was sent under an idempotency key.

        Args:
            idempotency_key: the key of the request, as a run's changes list it.
        """
        return world.sent_under(idempotency_key)

    return [overdue_tickets, who_is_on_call, notify, get_notification, find_notification]
