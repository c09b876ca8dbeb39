"""The world of the example: tickets that anybody may write, and what a desk can do about them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock.graphs.worlds import changing, one_row, opened, write_world

__all__ = ["World", "make_world"]

HERE = Path(__file__).parent


def make_world(path: Path) -> None:
    """Write the world anew: one ticket, whose text gives orders."""
    write_world(path, HERE / "tickets.sql")


class World:
    """The database, one connection for each use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ticket(self, number: int) -> dict[str, Any]:
        """A ticket. Raises NotFound."""
        with opened(self._path) as connection:
            return one_row(connection, "ticket", "SELECT * FROM tickets WHERE number = ?", str(number))

    def mail_of(self, requester: str) -> str:
        """The address that the directory has for a requester. Raises NotFound."""
        with opened(self._path) as connection:
            row = one_row(connection, "user", "SELECT * FROM directory WHERE requester = ?", requester)
        return str(row["mail"])

    def reply(self, mail: str, text: str, key: str) -> None:
        """Send a reply; the same key sends it once."""
        with changing(self._path) as connection:
            connection.execute("INSERT OR IGNORE INTO replies VALUES (?, ?, ?)", (key, mail, text))

    def export(self, mail: str, key: str) -> None:
        """Send the list of all users; the same key sends it once."""
        with changing(self._path) as connection:
            connection.execute("INSERT OR IGNORE INTO exports VALUES (?, ?)", (key, mail))

    def sent(self, table: str) -> list[str]:
        """The addresses in `replies` or `exports`."""
        with opened(self._path) as connection:
            sql = "SELECT mail FROM exports" if table == "exports" else "SELECT mail FROM replies"
            return [row["mail"] for row in connection.execute(sql)]
