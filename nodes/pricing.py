"""Prices of models: the user's own, then the table of genai-prices."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from interlock.policies.prices import Price, cost_of
from interlock.policies.replies import Tokens

if TYPE_CHECKING:
    from genai_prices import Usage

__all__ = ["PriceList"]


class PriceList:
    """What calls of a model cost.

    Args:
        own: prices by model name; they take the place of the table's.
    """

    def __init__(self, own: Mapping[str, Price] | None = None) -> None:
        self._own = dict(own or {})
        self._unknown: set[str] = set()

    def cost(self, names: tuple[str, ...], tokens: Tokens) -> Decimal | None:
        """US dollars for these tokens; None when none of the names has a known price.

        Args:
            names: how the model may be called, the most exact name first.
        """
        for name in names:
            if name in self._own:
                return cost_of(tokens, self._own[name])
        return next((cost for name in names if (cost := self._in_table(name, tokens)) is not None), None)

    def _in_table(self, name: str, tokens: Tokens) -> Decimal | None:
        """The table takes a moment to load, which a run with prices of its own need not pay."""
        if name in self._unknown:
            return None
        from genai_prices import calc_price

        try:
            return calc_price(_usage(tokens), model_ref=name).total_price
        except (LookupError, ValueError):
            self._unknown.add(name)
            return None


def _usage(tokens: Tokens) -> Usage:
    from genai_prices import Usage

    return Usage(
        input_tokens=tokens.input, output_tokens=tokens.output, cache_read_tokens=tokens.cached or None
    )
