"""Progress: what counts as a repeat, and what does not."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.observations import Observation, Status, ToolResult
from interlock.policies.progress import WINDOW, repeats, result_key
from interlock.policies.proposals import Ask, Decision, Delegate, RequestApproval, ToolCall
from interlock.policies.steps import InvalidDecision, StepRecord
from interlock.policies.tickets import Ticket
from interlock.policies.verdicts import Deny

Step = dict[str, Any]

names = st.sampled_from("abc")
results = st.sampled_from("xyz")
runs = st.lists(st.tuples(names, results), min_size=1, max_size=3 * WINDOW)


def ran(
    tool: str, ref: str, *, status: Status = "ok", thought: str = "", error: str = "", key: str = ""
) -> Step:
    """A step whose action ran. Tools of one letter, with a digest that is theirs."""
    ticket = Ticket(tool=tool, arguments={}, digest=f"digest of {tool}", idempotency_key="k")
    return StepRecord(
        step=1,
        decision=Decision(proposal=ToolCall(tool=tool), thought=thought),
        ticket=ticket,
        result=ToolResult(status=status, raw_ref=ref if status == "ok" else None, error=error or None),
        observation=Observation(status=status, summary=error or ref, result_key=key or None),
    ).dump()


def denied(proposal: ToolCall | RequestApproval | Ask | Delegate, summary: str = "not run") -> Step:
    return StepRecord(
        step=1,
        decision=Decision(proposal=proposal),
        verdict=Deny(rule="scope", reason="no"),
        observation=Observation(status="permission_denied", summary=summary),
    ).dump()


def answered(question: str, answer: str) -> Step:
    return StepRecord(
        step=1,
        decision=Decision(proposal=Ask(question=question)),
        observation=Observation(status="ok", summary=f"a person answered: {answer}"),
    ).dump()


def counts(steps: list[Step], effects: tuple[str, ...] = ()) -> list[int]:
    """The count after each of the steps, as a run would see it."""
    return [repeats(steps[: end + 1], effects=effects) for end in range(len(steps))]


def test_nothing_and_a_first_step_are_no_repeat() -> None:
    assert repeats([]) == 0
    assert repeats([ran("a", "x")]) == 0


def test_the_same_action_with_the_same_result_is_a_repeat() -> None:
    assert counts([ran("a", "x"), ran("a", "x"), ran("a", "x")]) == [0, 1, 2]


def test_an_alternation_is_a_repeat_of_each_of_its_actions() -> None:
    assert counts([ran("a", "x"), ran("b", "y")] * 3) == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("period", range(1, 7))
def test_a_cycle_of_up_to_six_actions_is_seen_three_times(period: int) -> None:
    cycle = [ran(f"tool{n}", "x") for n in range(period)]
    assert counts(cycle * 3)[-1] == 2


def test_a_new_result_of_the_same_action_is_progress() -> None:
    assert counts([ran("a", "x"), ran("a", "y"), ran("a", "z")]) == [0, 0, 0]


def test_new_wording_is_no_progress() -> None:
    assert counts([ran("a", "x", thought="try"), ran("a", "x", thought="try once more, differently")]) == [
        0,
        1,
    ]


def test_an_error_in_other_words_is_the_same_error() -> None:
    steps = [ran("a", "", status="conflict", error=f"request {n}") for n in range(3)]
    assert counts(steps) == [0, 1, 2]
    assert counts([*steps, ran("a", "", status="not_found")])[-1] == 0


def test_fields_that_mean_nothing_do_not_make_a_result_new() -> None:
    keys = [result_key({"state": "live", "at": n}, ["at"]) or "" for n in range(3)]
    assert counts([ran("a", f"ref{n}", key=key) for n, key in enumerate(keys)]) == [0, 1, 2]


def test_a_denied_call_is_the_same_whatever_reason_is_given_for_it() -> None:
    steps = [
        denied(RequestApproval(tool="pay", arguments={"sum": 1, "to": "x"}, reason="please")),
        denied(RequestApproval(tool="pay", arguments={"to": "x", "sum": 1.0}, reason="it is urgent")),
        denied(ToolCall(tool="pay", arguments={"to": "x", "sum": 1})),
        denied(ToolCall(tool="pay", arguments={"to": "x", "sum": 2})),
    ]
    assert counts(steps) == [0, 1, 2, 0]


def test_a_question_with_other_punctuation_is_the_same_question_and_another_one_is_not() -> None:
    steps = [answered("Which zone?", "eu"), answered("which zone", "eu"), answered("Which account?", "eu")]
    assert counts(steps) == [0, 1, 0]
    assert counts([answered("Which zone?", "eu"), answered("Which zone?", "us")]) == [0, 0]


def test_goals_for_the_same_delegate_are_told_apart() -> None:
    assert counts([denied(Delegate(delegate="d", goal="a")), denied(Delegate(delegate="d", goal="b"))]) == [
        0,
        0,
    ]


def test_a_reply_that_was_no_decision_is_never_a_repeat() -> None:
    invalid = StepRecord(
        step=1,
        invalid=InvalidDecision(problem="not JSON"),
        observation=Observation(status="invalid_input", summary="nothing ran"),
    ).dump()
    assert counts([invalid, invalid, ran("a", "x"), invalid, ran("a", "x")]) == [0, 0, 0, 0, 1]


def test_looking_again_after_a_new_effect_is_progress() -> None:
    steps = [
        ran("test", "red"),
        ran("edit1", "ok"),
        ran("test", "red"),
        ran("edit2", "ok"),
        ran("test", "red"),
    ]
    assert counts(steps, effects=("edit1", "edit2")) == [0, 0, 0, 0, 0]
    assert counts(steps)[-1] == 2


def test_the_same_effect_again_is_no_progress_and_hides_no_alternation() -> None:
    assert counts([ran("look", "x"), ran("send", "ok")] * 3, effects=("send",)) == [0, 0, 0, 1, 1, 2]


def test_an_effect_that_failed_changed_nothing() -> None:
    failed = ran("send", "", status="conflict", error="moved")
    assert counts([ran("look", "x"), failed, ran("look", "x")], effects=("send",)) == [0, 0, 1]


@given(runs)
def test_the_count_is_how_often_the_pair_stands_in_the_window(run: list[tuple[str, str]]) -> None:
    assert repeats([ran(*pair) for pair in run]) == run[-WINDOW:-1].count(run[-1])


@given(st.lists(st.tuples(names, results), min_size=1, max_size=5), st.tuples(names, results))
def test_the_order_of_earlier_reads_does_not_matter(
    earlier: list[tuple[str, str]], newest: tuple[str, str]
) -> None:
    found = {
        repeats([*map(lambda pair: ran(*pair), order), ran(*newest)])
        for order in itertools.islice(itertools.permutations(earlier), 24)
    }
    assert len(found) == 1


@given(runs)
def test_effects_can_only_make_fewer_repeats(run: list[tuple[str, str]]) -> None:
    steps = [ran(*pair) for pair in run]
    assert repeats(steps, effects=("a", "b")) <= repeats(steps)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.just("x")), min_size=3 * WINDOW, max_size=3 * WINDOW))
def test_a_run_that_only_goes_round_is_noticed_whatever_its_effects(run: list[tuple[str, str]]) -> None:
    found = counts([ran(*pair) for pair in run], effects=("b",))
    assert max(found) >= 2


@given(runs)
def test_the_records_are_only_read(run: list[tuple[str, str]]) -> None:
    steps = [ran(*pair) for pair in run]
    repeats(steps)
    assert steps == [ran(*pair) for pair in run]


def test_a_late_step_costs_no_more_than_an_early_one() -> None:
    early = [ran("a", str(n)) for n in range(WINDOW)]
    late = [ran("a", str(n)) for n in range(20_000)]

    def seconds(steps: list[Step]) -> float:
        began = time.perf_counter()
        for _ in range(200):
            repeats(steps)
        return time.perf_counter() - began

    fast, slow = (min(seconds(steps) for _ in range(5)) for steps in (early, late))
    print(f"{fast * 5:.3f} ms a step early, {slow * 5:.3f} ms late")
    assert slow < 3 * fast
