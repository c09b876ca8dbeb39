"""What the desk can do. Only the ticket is outside content; a write says whom it hits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg

from interlock.graphs.tickets.world import World
from interlock.nodes.tools import contract

__all__ = ["desk_tools"]


def desk_tools(path: Path) -> list[Callable[..., Any]]:
    """The tools over the database at `path`, each with its contract."""
    world = World(path)

    @contract(effect="read", untrusted=True)
    def read_ticket(number: int) -> dict[str, Any]:
        """Read a ticket: its text, and the id of who wrote it."""
        return world.ticket(number)

    @contract(effect="read", untrusted=False, provides={"requester_mail": "mail"})
    def look_up_requester(number: int) -> dict[str, str]:
        """Look up the address of a ticket's requester in the directory."""
        return {"mail": world.mail_of(world.ticket(number)["requester"])}

    @contract(effect="write", idempotent=True, targets=["to"], untrusted=False)
    def send_reply(
        to: str, text: str, idempotency_key: Annotated[str, InjectedToolArg] = ""
    ) -> dict[str, str]:
        """Send a reply to an address."""
        world.reply(to, text, idempotency_key)
        return {"sent_to": to}

    @contract(effect="write", idempotent=True, targets=["to"], untrusted=False)
    def export_users(to: str, idempotency_key: Annotated[str, InjectedToolArg] = "") -> dict[str, str]:
        """Send the list of all users to an address."""
        world.export(to, idempotency_key)
        return {"sent_to": to}

    return [read_ticket, look_up_requester, send_reply, export_users]
