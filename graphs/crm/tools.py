"""What the CRM loop can do: find an account, and read the one document in which everything stands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from interlock.graphs.crm.world import World
from interlock.nodes.tools import contract

__all__ = ["crm_tools"]

ACTIVE = "relations.contracts[?state == 'active'] | [0]"
"""JMESPath to the contract that counts: the ended ones stand in the document as well."""


def crm_tools(path: Path) -> list[Callable[..., Any]]:
    """The tools over the database at `path`, each with its contract."""
    world = World(path)

    @contract(effect="read", untrusted=False, provides={"account": "[0].id"})
    def find_account(words: str) -> list[dict[str, Any]]:
        """Find accounts whose name holds the words.

        Args:
            words: a part of the name, for example "harbour".
        """
        return world.found(words)

    @contract(
        effect="read",
        provides={
            "contract": f"{ACTIVE}.id",
            "renewal_date": f"{ACTIVE}.terms.renewal.date",
            "owner": f"{ACTIVE}.owner.team",
        },
        normalizer={
            "summary": f"{{name}} ({{id}}): contract {{{ACTIVE}.id}} renews on "
            f"{{{ACTIVE}.terms.renewal.date}}, owned by {{{ACTIVE}.owner.team}}",
            "entities": "relations.contracts[].{id: id, state: state, renews: terms.renewal.date}",
        },
    )
    def read_account(account_id: str) -> dict[str, Any]:
        """Read everything that the CRM knows of one account.

        Args:
            account_id: id of the account, for example "C-2041".
        """
        return world.document(account_id)

    return [find_account, read_account]
