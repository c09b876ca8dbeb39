"""When the support loop's answer may stand: judged by the tickets found and by what this run sent."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from interlock.graphs.notify.world import World
from interlock.policies.verifiers import Claim

__all__ = ["notified_once"]


def notified_once(path: Path) -> Callable[[Claim], str | None]:
    """A verifier: nothing overdue, nothing sent; otherwise one notification of this run about all of it.

    The notification is looked up under the key of the run's own effect, so one that an earlier run left in
    the same database does not count.
    """
    world = World(path)

    def verify(claim: Claim) -> str | None:
        """None, or why the answer does not stand. Raises NotFound when the notification is not on record."""
        known = claim.facts.get("overdue_ids")
        overdue = known.value if known and isinstance(known.value, list) else []
        sent = [change for change in claim.changes if change.tool == "notify" and change.status == "done"]
        if len(sent) != bool(overdue):
            return f"{len(overdue)} tickets are overdue, and this run sent {len(sent)} notifications"
        for change in sent:
            told = world.sent_under(change.idempotency_key)["ticket_ids"]
            if left := [ticket for ticket in overdue if ticket not in told]:
                return f"the notification says nothing of {', '.join(map(str, left))}"
        return None

    return verify
