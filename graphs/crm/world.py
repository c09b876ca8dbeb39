"""The world of the example: accounts as a CRM keeps them, each one large nested document."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from interlock.graphs.worlds import changing, one_row, opened, write_world

__all__ = ["World", "document_of", "make_world"]

HERE = Path(__file__).parent
ACCOUNTS = {"C-2040": "Northern Ferries", "C-2041": "Harbour Freight", "C-2042": "Inland Barges"}
ACTIVITIES = 490
"""So many that a document has about 120 KB, as the lookups of real CRMs do."""


def make_world(path: Path) -> None:
    """Write the world anew: the same documents every time."""
    write_world(path, HERE / "crm.sql")
    with changing(path) as connection:
        for number, (account, name) in enumerate(ACCOUNTS.items()):
            document = json.dumps(document_of(account, name, number))
            connection.execute("INSERT INTO accounts VALUES (?, ?, ?)", (account, name, document))


def document_of(account: str, name: str, number: int) -> dict[str, Any]:
    """One account with everything that was ever noted about it; the contract is somewhere inside."""
    return {
        "id": account,
        "name": name,
        "activities": [_activity(account, index) for index in range(ACTIVITIES)],
        "relations": {
            "contracts": [
                {
                    "id": f"K-{account[2:]}-{year}",
                    "state": "active" if year == 2025 else "ended",
                    "terms": {"renewal": {"date": f"{year + 1}-0{number + 4}-30", "notice_days": 90}},
                    "owner": {"team": "key accounts" if number else "field sales"},
                }
                for year in (2023, 2024, 2025)
            ]
        },
    }


class World:
    """The database, one connection for each use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def found(self, words: str) -> list[dict[str, Any]]:
        """Accounts whose name holds the words, by name."""
        sql = "SELECT id, name FROM accounts WHERE instr(lower(name), lower(?)) ORDER BY name"
        with opened(self._path) as connection:
            return [dict(row) for row in connection.execute(sql, (words.strip(),))]

    def document(self, account: str) -> dict[str, Any]:
        """The whole document of an account. Raises NotFound."""
        with opened(self._path) as connection:
            row = one_row(connection, "account", "SELECT document FROM accounts WHERE id = ?", account)
        document: dict[str, Any] = json.loads(row["document"])
        return document


def _activity(account: str, index: int) -> dict[str, Any]:
    mark = hashlib.sha256(f"{account}/{index}".encode()).hexdigest()
    return {
        "id": f"A-{index:05d}",
        "kind": ("call", "mail", "visit", "invoice")[index % 4],
        "at": f"20{16 + index % 10}-{1 + index % 12:02d}-{1 + index % 28:02d}T09:00:00Z",
        "custom": {"source": {"system": "import", "batch": mark[:16]}, "tags": [mark[16:24], mark[24:32]]},
        "note": f"Entry {index} of the account's history; checksum {mark[32:]}.",
    }
