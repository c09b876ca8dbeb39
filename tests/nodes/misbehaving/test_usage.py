"""Tokens that a server does not report, or reports wrong: estimated and marked, never taken for nothing."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from interlock import Budget
from interlock.policies.prices import Price
from tests.nodes.misbehaving.bench import Bench
from tests.nodes.misbehaving.replies import called, gives_up, reply
from tests.nodes.misbehaving.server import fails

pytestmark = pytest.mark.parametrize("streaming", [False])
"""In pieces, usage comes in a chunk of its own: see test_streams.py."""

ANA = '{"to": "ana"}'
PRICE = Price(input=Decimal(1), output=Decimal(10), cached=Decimal("0.1"))


def reported(prompt: Any = 50, completion: Any = 9, **details: Any) -> dict[str, Any]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 59, **details}


def used(bench: Bench, usage: Any, **options: Any) -> Any:
    """What one step cost on a server that reports this, as the trace says it."""
    bench.run(reply(called("act", ANA), usage=usage), chat={"price": PRICE}, **options)
    return bench.step()["model"]


@pytest.mark.parametrize(
    "usage",
    [None, {}, [], [1], "59", reported(None, None), reported(0, 0), reported(-50, -9), reported("x", [])],
)
def test_usage_that_is_missing_or_senseless_is_estimated_marked_and_paid(bench: Bench, usage: Any) -> None:
    model = used(bench, usage)
    assert (model["input_tokens"] > 300, model["output_tokens"] > 0, model["estimated"]) == (True, True, True)
    assert Decimal(model["cost"]) > Decimal("0.0003")


@pytest.mark.parametrize("usage", [reported(completion=None), {"prompt_tokens": 50}, reported(completion=0)])
def test_of_usage_that_names_the_input_only_the_output_is_estimated(bench: Bench, usage: Any) -> None:
    model = used(bench, usage)
    assert (model["input_tokens"], model["output_tokens"] > 0, model["estimated"]) == (50, True, True)


@pytest.mark.parametrize("usage", [reported(prompt=None), {"completion_tokens": 9}, reported(prompt=0)])
def test_of_usage_that_names_the_output_only_the_input_is_estimated(bench: Bench, usage: Any) -> None:
    model = used(bench, usage)
    assert (model["input_tokens"] > 300, model["output_tokens"], model["estimated"]) == (True, 9, True)


@pytest.mark.parametrize("usage", [reported(), reported(50.0, 8.5), reported(prompt_tokens_details=None)])
def test_usage_that_is_reported_counts_as_it_is(bench: Bench, usage: Any) -> None:
    model = used(bench, usage)
    assert (model["input_tokens"], model["output_tokens"], "estimated" in model) == (50, 9, False)
    assert Decimal(model["cost"]) == Decimal("0.00014")


def test_cached_tokens_are_a_part_of_the_input_and_cheaper(bench: Bench) -> None:
    model = used(bench, reported(prompt_tokens_details={"cached_tokens": 40}))
    assert (model["input_tokens"], model["cached_tokens"], "estimated" in model) == (50, 40, False)
    assert Decimal(model["cost"]) == Decimal("0.000104")


def test_more_cached_tokens_than_input_are_counted_beside_it_and_marked(bench: Bench) -> None:
    model = used(bench, reported(prompt_tokens_details={"cached_tokens": 80}))
    assert (model["input_tokens"], model["cached_tokens"], model["estimated"]) == (130, 80, True)


@pytest.mark.parametrize(
    "details", [{}, {"cached_tokens": None}, {"cached_tokens": -3}, {"audio_tokens": None}]
)
def test_details_that_say_nothing_change_nothing(bench: Bench, details: dict[str, Any]) -> None:
    model = used(bench, reported(prompt_tokens_details=details))
    assert (model["input_tokens"], "cached_tokens" in model, "estimated" in model) == (50, False, False)


def test_tokens_that_no_server_reported_count_against_the_bound(bench: Bench) -> None:
    bodies = [reply(called("act", f'{{"to": "n{number}"}}'), usage=None) for number in range(2)]
    ended = bench.run(*bodies, ends=False, budget=Budget(max_tokens=2_200))
    assert ended.outcome is not None
    assert (ended.outcome.reason, ended.outcome.usage.estimated) == ("token_limit", True)
    assert ended.outcome.usage.input_tokens + ended.outcome.usage.output_tokens <= 2_200


def test_an_attempt_that_failed_after_the_work_was_done_is_paid_as_an_estimate(bench: Bench) -> None:
    ended = bench.run(fails(500, "broken"), ends=True, chat={"price": PRICE})
    assert ended.outcome is not None
    usage = ended.outcome.usage
    assert (usage.model_calls, usage.estimated) == (2, True)
    assert usage.input_tokens > 350
    assert usage.cost > Decimal("0.0004")


def test_an_attempt_that_was_turned_away_costs_nothing(bench: Bench) -> None:
    ended = bench.run(fails(429, "slow down"), gives_up(), ends=False, chat={"price": PRICE})
    assert ended.outcome is not None
    usage = ended.outcome.usage
    assert (usage.model_calls, usage.input_tokens, usage.estimated) == (2, 50, False)
