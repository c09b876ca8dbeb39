"""The billing loop: look up who paid what, and pay back what was charged too much, once.

Customer, invoice, payment status and eligibility have to be observed before an answer stands. The refund
waits for a person, who sees the eligibility beside it. When its call times out, the loop asks the payment
provider by the idempotency key; where that gives no proof, a person decides. It never refunds blindly twice.

The tests make the provider slow (`make_world(path, slow=...)`) and count the refunds that its database holds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from interlock.graphs.billing.script import SCRIPTS, script_for
from interlock.graphs.billing.tools import billing_tools
from interlock.graphs.billing.world import make_world
from interlock.graphs.loop import Loop, create_loop
from interlock.nodes.model import ChatModel
from interlock.policies.budget import Budget
from interlock.policies.rules import Policy

__all__ = ["GOAL", "SCRIPTS", "build", "make_world", "script_for"]

GOAL = "Customer C-204 was charged twice for invoice INV-3318. Refund the second charge."
"""The task of the example."""

INSTRUCTIONS = """\
You work in billing. Look up the customer, the invoice, its payments and whether a refund is due, one by one.
Refund exactly what is due, for the invoice that the goal names, and only when the goal asks for it."""


def build(
    model: BaseChatModel | ChatModel,
    store: Any,
    *,
    world: Path,
    budget: Budget | None = None,
    policy: Policy | None = None,
    refund_timeout_s: float = 10.0,
) -> Loop:
    """The billing loop over a world that `make_world` wrote.

    Args:
        store: what `open_store` returns.
        world: the database that the tools read and that a refund changes.
        refund_timeout_s: seconds after which a refund counts as timed out.

    Raises:
        BadLoop: model and tools do not fit together.
    """
    return create_loop(
        model,
        billing_tools(world, refund_timeout_s=refund_timeout_s),
        store=store,
        budget=budget or Budget(max_steps=12),
        policy=policy,
        instructions=INSTRUCTIONS,
        require=("customer_id", "invoice_id", "payment_status", "refund_eligible"),
        name="billing",
    )
