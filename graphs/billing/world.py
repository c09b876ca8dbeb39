"""The world of the example: invoices and a payment provider, in a small database of their own."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

from interlock.graphs.worlds import changing, one_row, opened, write_world
from interlock.policies.tool_errors import Conflict

__all__ = ["Slow", "World", "make_world"]

Slow = Literal["commit", "answer"]
"""Where the provider hangs in a refund: before the money moves, or after it has moved."""

REFUND = """\
INSERT INTO payments (idempotency_key, kind, invoice, amount_cents, currency) VALUES (?, 'refund', ?, ?, ?)"""
LONGEST_S = 60.0
"""Seconds after which a slow provider goes on by itself."""
LOOK_S = 0.02
"""Seconds between two looks at whether it still is slow."""


def make_world(path: Path, *, slow: Slow | None = None) -> None:
    """Write the world anew.

    Args:
        slow: let refunds hang at this point until `World.be_slow(None)`.
    """
    write_world(path, Path(__file__).with_name("billing.sql"))
    World(path).be_slow(slow)


class World:
    """The database, one connection for each use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def customer(self, query: str) -> dict[str, Any]:
        """The customer with this id, name or e-mail address. Raises NotFound."""
        sql = "SELECT * FROM customers WHERE ?1 IN (id, name, email)"
        with opened(self._path) as connection:
            return one_row(connection, "customer", sql, query)

    def invoice(self, invoice_id: str) -> dict[str, Any]:
        """One invoice. Raises NotFound."""
        with opened(self._path) as connection:
            return one_row(connection, "invoice", "SELECT * FROM invoices WHERE id = ?", invoice_id)

    def payments(self, invoice_id: str) -> list[dict[str, Any]]:
        """Every movement of money for an invoice, oldest first. Raises NotFound when there is no invoice."""
        self.invoice(invoice_id)
        sql = "SELECT * FROM payments WHERE invoice = ? ORDER BY id"
        with opened(self._path) as connection:
            return [dict(row) for row in connection.execute(sql, (invoice_id,))]

    def find_refund(self, key: str) -> dict[str, Any]:
        """The refund that was made under a key. Raises NotFound."""
        sql = "SELECT * FROM payments WHERE kind = 'refund' AND idempotency_key = ?"
        with opened(self._path) as connection:
            return _refund_of(one_row(connection, "refund with the key", sql, key))

    def refund(self, invoice_id: str, amount_cents: int, currency: str, key: str) -> dict[str, Any]:
        """Pay money back. The same key gives the first refund and moves nothing.

        The provider knows what was charged, and nothing of who may have what back.

        Raises:
            NotFound: there is no such invoice.
            Conflict: more than was charged and not paid back yet, another currency, or another refund's key.
        """
        self._hang_at("commit")
        with changing(self._path) as connection:
            known = connection.execute("SELECT 1 FROM payments WHERE idempotency_key = ?", (key,)).fetchone()
            if known is None:
                self._check(invoice_id, amount_cents, currency)
                connection.execute(REFUND, (key, invoice_id, amount_cents, currency))
        made = self.find_refund(key)
        if (made["invoice_id"], made["amount_cents"], made["currency"]) != (
            invoice_id,
            amount_cents,
            currency,
        ):
            raise Conflict(f"the key {key} belongs to another refund, {made['refund_id']}")
        self._hang_at("answer")
        return made

    def be_slow(self, slow: Slow | None) -> None:
        """Let refunds hang at this point from now on, or no longer."""
        with changing(self._path) as connection:
            connection.execute("UPDATE provider SET slow = ?", (slow,))

    def _check(self, invoice_id: str, amount_cents: int, currency: str) -> None:
        rows = self.payments(invoice_id)
        left = sum(_signed(row) for row in rows)
        if amount_cents > left or currency not in {row["currency"] for row in rows}:
            raise Conflict(f"{invoice_id} has {left} cents that can be paid back, in the currency charged")

    def _hang_at(self, point: Slow) -> None:
        until = time.monotonic() + LONGEST_S
        while self._slow() == point and time.monotonic() < until:
            time.sleep(LOOK_S)

    def _slow(self) -> str | None:
        with opened(self._path) as connection:
            found: str | None = connection.execute("SELECT slow FROM provider").fetchone()["slow"]
            return found


def _signed(row: dict[str, Any]) -> int:
    """What a movement adds to the money that the invoice brought in, in cents."""
    amount: int = row["amount_cents"]
    return amount if row["kind"] == "charge" else -amount


def _refund_of(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "refund_id": f"RF-{row['id']}",
        "invoice_id": row["invoice"],
        "amount_cents": row["amount_cents"],
        "currency": row["currency"],
    }
