"""What the billing loop can do: four lookups, and one refund that a person has to approve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from langchain_core.tools import InjectedToolArg

from interlock.graphs.billing.world import World
from interlock.nodes.tools import contract

__all__ = ["MAX_REFUND_CENTS", "billing_tools"]

MAX_REFUND_CENTS = 50_000
"""Largest refund that this loop may propose at all, whoever approves it."""


def billing_tools(path: Path, *, refund_timeout_s: float = 10.0) -> list[Callable[..., Any]]:
    """The tools over the database at `path`, each with its contract.

    Args:
        refund_timeout_s: seconds after which a refund counts as timed out. It may have happened all the same:
            `find_refund` tells.
    """
    world = World(path)

    @contract(effect="read", untrusted=False, provides={"customer_id": "customer_id", "customer": "name"})
    def find_customer(query: str) -> dict[str, Any]:
        """Look a customer up.

        Args:
            query: the customer's id, exact name or e-mail address, for example "C-204".
        """
        row = world.customer(query)
        return {"customer_id": row["id"], "name": row["name"], "email": row["email"]}

    @contract(
        effect="read",
        untrusted=False,
        provides={
            "invoice_id": "invoice_id",
            "invoice_customer": "customer_id",
            "invoice_cents": "amount_cents",
            "currency": "currency",
        },
    )
    def get_invoice(invoice_id: str) -> dict[str, Any]:
        """Look an invoice up: whose it is, over how much, and when it was issued.

        Args:
            invoice_id: number of the invoice, for example "INV-3318".
        """
        row = world.invoice(invoice_id)
        return {"invoice_id": row.pop("id"), "customer_id": row.pop("customer"), **row}

    @contract(
        effect="read",
        untrusted=False,
        provides={
            "payment_status": "status",
            "charged_cents": "charged_cents",
            "refunded_cents": "refunded_cents",
            "refund_id": "refunds[-1]",
        },
    )
    def get_payments(invoice_id: str) -> dict[str, Any]:
        """What was charged and paid back for an invoice, and its status: open, paid, overpaid or refunded.

        Args:
            invoice_id: number of the invoice, for example "INV-3318".
        """
        return _payments(world, invoice_id)

    @contract(
        effect="read",
        untrusted=False,
        provides={"refund_eligible": "eligible", "refundable_cents": "refundable_cents"},
    )
    def refund_eligibility(invoice_id: str) -> dict[str, Any]:
        """Whether money for an invoice may go back, how much, and why: what was paid beyond the invoice.

        Args:
            invoice_id: number of the invoice, for example "INV-3318".
        """
        return _eligibility(world, invoice_id)

    @contract(effect="read", untrusted=False)
    def find_refund(idempotency_key: str) -> dict[str, Any]:
        """Look up the refund that was made under an idempotency key.

        Args:
            idempotency_key: the key of the request, as a run's changes list it.
        """
        return world.find_refund(idempotency_key)

    @contract(
        effect="high_risk",
        idempotent=True,
        untrusted=False,
        timeout_s=refund_timeout_s,
        targets=["invoice_id"],
        scope={
            "invoice_id": {"pattern": r"INV-\d{4}"},
            "amount_cents": {"minimum": 1, "maximum": MAX_REFUND_CENTS},
            "currency": {"allowed": ["EUR", "USD"]},
        },
        dry_run="refund_eligibility",
        reconcile="find_refund",
        provides={"refund_id": "refund_id", "refunded_cents": "amount_cents"},
    )
    def refund(
        invoice_id: str,
        amount_cents: int,
        currency: str,
        idempotency_key: Annotated[str, InjectedToolArg],
    ) -> dict[str, Any]:
        """Pay money for an invoice back to the customer.

        Args:
            invoice_id: number of the invoice, for example "INV-3318".
            amount_cents: how much, in cents.
            currency: the currency that was charged, for example "EUR".
        """
        return world.refund(invoice_id, amount_cents, currency, idempotency_key)

    return [find_customer, get_invoice, get_payments, refund_eligibility, find_refund, refund]


def _payments(world: World, invoice_id: str) -> dict[str, Any]:
    invoice, rows = world.invoice(invoice_id), world.payments(invoice_id)
    refunds = [row for row in rows if row["kind"] == "refund"]
    back = sum(row["amount_cents"] for row in refunds)
    charged = sum(row["amount_cents"] for row in rows) - back
    return {
        "invoice_id": invoice_id,
        "status": _status(invoice["amount_cents"], charged, back),
        "charged_cents": charged,
        "refunded_cents": back,
        "refunds": [f"RF-{row['id']}" for row in refunds],
    }


def _status(due: int, charged: int, back: int) -> str:
    if charged == 0:
        return "open"
    if charged - back > due:
        return "overpaid"
    return "paid" if charged - back == due else "refunded"


def _eligibility(world: World, invoice_id: str) -> dict[str, Any]:
    due, seen = world.invoice(invoice_id)["amount_cents"], _payments(world, invoice_id)
    beyond = max(0, seen["charged_cents"] - seen["refunded_cents"] - due)
    why = f"{beyond} cents were paid beyond the invoice" if beyond else "nothing was paid beyond the invoice"
    return {"invoice_id": invoice_id, "eligible": beyond > 0, "refundable_cents": beyond, "why": why}
