"""Budgets, grants, prices and tokens as arithmetic."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from interlock.nodes.protocols.reading import tokens_of
from interlock.policies.budget import Budget, Grant
from interlock.policies.contracts import Contract
from interlock.policies.control import Control
from interlock.policies.limits import call_bound
from interlock.policies.prices import Price, cost_of
from interlock.policies.replies import Tokens

counts = st.integers(0, 10**9)
money = st.decimals(0, 1000, places=6)
grants = st.builds(
    Grant, steps=counts, tokens=counts, cost=money, calls=st.dictionaries(st.sampled_from("ab"), counts)
)


@given(grants, grants)
def test_grants_add_up_in_any_order_and_survive_being_saved(one: Grant, other: Grant) -> None:
    both = Grant.load(one.plus(other).dump())
    assert both == other.plus(one)
    budget = Budget(max_cost=Decimal(1))
    assert budget.plus(both) == budget.plus(one).plus(other)


@given(grants)
def test_a_grant_never_lowers_a_bound(grant: Grant) -> None:
    before, after = Budget(max_cost=Decimal("0.1")), Budget(max_cost=Decimal("0.1")).plus(grant)
    assert after.max_steps >= before.max_steps
    assert after.max_tokens >= before.max_tokens
    assert after.max_cost is not None
    assert after.max_cost >= Decimal("0.1")


@given(st.integers(0, 10**7), st.integers(0, 10**7), money, money)
def test_money_is_exact(first: int, second: int, price_in: Decimal, price_out: Decimal) -> None:
    price = Price(input=price_in, output=price_out)
    apart = cost_of(Tokens(input=first), price) + cost_of(Tokens(output=second), price)
    assert apart == cost_of(Tokens(input=first, output=second), price)


def test_cached_tokens_have_their_own_price_and_are_not_counted_twice() -> None:
    tokens = Tokens(input=1_000_000, cached=400_000, output=0)
    ten, one, nothing = Decimal(10), Decimal(1), Decimal(0)
    assert cost_of(tokens, Price(input=ten, output=nothing, cached=one)) == Decimal("6.4")
    assert cost_of(tokens, Price(input=ten, output=nothing)) == ten


@pytest.mark.parametrize(
    ("own", "budgeted", "granted", "bound"),
    [
        (None, None, 0, None),
        (3, None, 0, 3),
        (None, 2, 0, 2),
        (3, 2, 0, 2),
        (2, 3, 1, 3),
        (None, None, 4, None),
    ],
)  # fmt: skip
def test_the_smaller_bound_on_calls_holds_and_a_grant_comes_on_top(
    own: int | None, budgeted: int | None, granted: int, bound: int | None
) -> None:
    control = Control(run_id="r", goal="g", fingerprint="f", granted=Grant(calls={"t": granted}))
    budget = Budget(max_calls={} if budgeted is None else {"t": budgeted})
    assert call_bound(control, budget, "t", Contract(max_calls=own)) == bound


@pytest.mark.parametrize(
    ("usage", "expected", "estimated"),
    [
        (None, (25, 0, 1), True),
        ((0, 0, 0), (25, 0, 1), True),
        ((70, 0, 0), (70, 0, 1), True),
        ((0, 9, 0), (25, 0, 9), True),
        ((70, 9, 50), (70, 50, 9), False),
        ((20, 9, 50), (70, 50, 9), True),
        ((-5, 9, 0), (25, 0, 9), True),
    ],
    ids=["missing", "all zero", "no output", "no input", "cached", "cached above input", "negative"],
)
def test_usage_that_is_missing_or_partial_is_estimated_and_never_zero_or_doubled(
    usage: tuple[int, int, int] | None, expected: tuple[int, int, int], estimated: bool
) -> None:
    message = AIMessage("okay")
    if usage is not None:
        told, said, cached = usage
        message.usage_metadata = {
            "input_tokens": told, "output_tokens": said, "total_tokens": told + said,
            "input_token_details": {"cache_read": cached},
        }  # fmt: skip
    tokens = tokens_of(message, lambda: 100)
    assert (tokens.input, tokens.cached, tokens.output) == expected
    assert tokens.estimated is estimated
