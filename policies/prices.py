"""What model calls cost: exact decimals, US dollars. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated

from pydantic import Field

from interlock.policies.record import Record
from interlock.policies.replies import Tokens

__all__ = ["Price", "cost_of"]

MILLION = Decimal(1_000_000)
PerMillion = Annotated[Decimal, Field(ge=0)]


class Price(Record):
    """The price of one model, US dollars per million tokens."""

    input: PerMillion
    output: PerMillion
    cached: PerMillion | None = None
    """Input tokens that the provider had cached; None: priced like other input."""


def cost_of(tokens: Tokens, price: Price) -> Decimal:
    """US dollars for the tokens of one or more calls, exact."""
    cached = price.input if price.cached is None else price.cached
    fresh = tokens.input - tokens.cached
    return (fresh * price.input + tokens.cached * cached + tokens.output * price.output) / MILLION
