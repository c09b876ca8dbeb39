"""The price of a model: its user's own, or the table of genai-prices."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

from interlock.policies.prices import Price, cost_of
from interlock.policies.replies import Tokens

__all__ = ["cost_from"]


def cost_from(own: Price | None, names: tuple[str, ...], tokens: Tokens) -> Decimal | None:
    """US dollars for these tokens; None when no price is known.

    Args:
        own: the price that the user named; it takes the place of the table's.
        names: how the model may be called, the most exact name first.
    """
    if own is not None:
        return cost_of(tokens, own)
    found = (_in_table(name, tokens) for name in dict.fromkeys(names) if name and _known(name))
    return next(found, None)


@cache
def _known(name: str) -> bool:
    """Whether the table has the model. It takes a moment to load, which a priced model need not pay."""
    try:
        _in_table(name, Tokens(input=1, output=1))
    except (LookupError, ValueError):
        return False
    return True


def _in_table(name: str, tokens: Tokens) -> Decimal:
    from genai_prices import Usage, calc_price

    usage = Usage(
        input_tokens=tokens.input, output_tokens=tokens.output, cache_read_tokens=tokens.cached or None
    )
    return calc_price(usage, model_ref=name).total_price
