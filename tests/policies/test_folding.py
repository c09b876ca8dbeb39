"""Folding: under the budget, in blocks, independent of where it stops, and never over a pair."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.counting import tokens_in
from interlock.policies.folding import Fold, fold, folded_text, lines_room, step_line_of, steps_room

limits = st.integers(500, 5_000)
sizes = st.lists(st.integers(0, 400), max_size=80)
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def steps_of(sizes: list[int]) -> list[dict[str, Any]]:
    return [
        {
            "step": number,
            "decision": {"proposal": {"kind": "tool_call", "tool": "look", "arguments": {"n": number}}},
            "observation": {"status": "ok", "size_after": size, "summary": "outside words"},
        }
        for number, size in enumerate(sizes, 1)
    ]


def size_of(step: Any) -> int:
    return int(step["observation"]["size_after"])


def folded(known: Fold, steps: list[dict[str, Any]], limit: int) -> Fold:
    return fold(known, steps, limit, size_of)


@given(sizes=sizes, limit=limits)
def test_open_steps_stay_within_their_part_of_the_budget(sizes: list[int], limit: int) -> None:
    done = folded(Fold(), steps_of(sizes), limit)
    assert done.start < max(1, len(sizes))
    assert done.tokens == sum(sizes[done.start :]) <= steps_room(limit)


@given(sizes=sizes, limit=limits, cut=st.integers(0, 80))
def test_folding_does_not_depend_on_where_it_stops_in_between(sizes: list[int], limit: int, cut: int) -> None:
    steps = steps_of(sizes)
    assert folded(folded(Fold(), steps[:cut], limit), steps, limit) == folded(Fold(), steps, limit)


@given(sizes=sizes, limit=limits)
def test_what_is_folded_stays_folded(sizes: list[int], limit: int) -> None:
    steps = steps_of(sizes)
    starts = [folded(Fold(), steps[:count], limit).start for count in range(len(steps) + 1)]
    assert starts == sorted(starts)


@given(sizes=sizes, limit=limits)
def test_a_folding_leaves_half_of_the_room_free_unless_the_newest_step_needs_it(
    sizes: list[int], limit: int
) -> None:
    steps, before = steps_of(sizes), 0
    for count in range(1, len(steps) + 1):
        done = folded(Fold(), steps[:count], limit)
        if done.start > before:
            assert done.tokens <= steps_room(limit) // 2 or done.start == count - 1
        before = done.start


@given(count=st.integers(1, 300), limit=limits, tool=ANY_TEXT, argument=ANY_TEXT)
def test_folded_lines_stay_within_their_part_of_the_budget_whatever_stands_in_them(
    count: int, limit: int, tool: str, argument: str
) -> None:
    steps = steps_of([1] * count)
    steps[-1]["decision"]["proposal"] |= {"tool": tool, "arguments": {"n": argument * 50}}
    text = folded_text(steps, limit)
    assert tokens_in(len(text)) <= lines_room(limit)
    assert len(text.splitlines()) <= count + 1
    assert f"step {count}: " in text


def test_a_folded_step_keeps_its_action_and_end_but_no_outside_words() -> None:
    text = folded_text(steps_of([100, 200]), 1_000)
    assert 'step 1: look{"n": 1} → ok' in text
    assert "outside words" not in text


def test_a_folded_step_names_where_its_result_is_kept() -> None:
    (step,) = steps_of([100])
    step["observation"]["raw_ref"] = "ab" * 32
    step["decision"]["proposal"]["arguments"] = {"text": "x" * 500}
    line = step_line_of(step)
    assert line.endswith(f"→ ok, raw_ref {'ab' * 32}")
    assert len(line) == 160


def test_lines_beyond_their_part_are_counted() -> None:
    text = folded_text(steps_of([1] * 100), 1_000)
    room = (lines_room(1_000) * 4 - 100) // 161
    assert f"{100 - room} steps before these are not listed" in text
    assert "step 100: look" in text
