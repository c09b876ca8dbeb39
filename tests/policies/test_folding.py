"""Folding: under the budget, in blocks, independent of where it stops, and never over a pair."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.folding import Fold, fold, folded_text

sizes = st.lists(st.integers(0, 4_000), max_size=80)


def steps_of(sizes: list[int]) -> list[dict[str, Any]]:
    return [
        {
            "step": number,
            "decision": {"proposal": {"kind": "tool_call", "tool": "look", "arguments": {"n": number}}},
            "observation": {"status": "ok", "size_after": size, "summary": "outside words"},
        }
        for number, size in enumerate(sizes, 1)
    ]


@given(sizes=sizes, limit=st.integers(500, 5_000))
def test_open_steps_stay_under_the_budget(sizes: list[int], limit: int) -> None:
    done = fold(Fold(), steps_of(sizes), limit)
    assert done.start <= len(sizes)
    assert done.tokens <= limit or len(sizes) - done.start == 1


@given(sizes=sizes, limit=st.integers(500, 5_000), cut=st.integers(0, 80))
def test_folding_does_not_depend_on_where_it_stops_in_between(sizes: list[int], limit: int, cut: int) -> None:
    steps = steps_of(sizes)
    assert fold(fold(Fold(), steps[:cut], limit), steps, limit) == fold(Fold(), steps, limit)


@given(sizes=sizes, limit=st.integers(500, 5_000))
def test_what_is_folded_stays_folded(sizes: list[int], limit: int) -> None:
    steps = steps_of(sizes)
    starts = [fold(Fold(), steps[:count], limit).start for count in range(len(steps) + 1)]
    assert starts == sorted(starts)


def test_a_folded_step_keeps_its_action_and_end_but_no_outside_words() -> None:
    text = folded_text(steps_of([100, 200]), 1_000)
    assert 'step 1: look{"n": 1} → ok' in text
    assert "outside words" not in text


def test_lines_beyond_their_budget_are_counted() -> None:
    text = folded_text(steps_of([1] * 100), 100)
    assert "98 steps before these are not listed" in text
    assert "step 100: look" in text
