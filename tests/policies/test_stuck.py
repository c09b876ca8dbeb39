"""The rules by which a run counts as stuck: one warning, then the end or a question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.asking import STUCK_CHOICE, settle_stuck
from interlock.policies.budget import Budget
from interlock.policies.control import Control
from interlock.policies.observations import Observation, Polled, Status, ToolResult
from interlock.policies.outcomes import Reason
from interlock.policies.progress import progress_of, window_of
from interlock.policies.proposals import Decision, ToolCall
from interlock.policies.questions import Approval, HumanDecision, Question
from interlock.policies.steps import InvalidDecision, Settled, StepRecord
from interlock.policies.stuck import after_step
from interlock.policies.tickets import Ticket

DEFAULT = Budget()


def did(
    tool: str,
    result: str = "x",
    status: Status = "ok",
    *,
    thought: str = "",
    polled: bool | None = None,
    said: Literal["respond", "reject", "approve"] | None = None,
    **arguments: Any,
) -> StepRecord:
    """A step whose action ran. `polled` says whether the condition of its poll held."""
    answers = []
    if said is not None:
        decision = HumanDecision(type=said)
        answers = [Settled(approval_id="q", kind="approval", outcome="decided", decision=decision)]
    return StepRecord(
        step=1,
        decision=Decision(proposal=ToolCall(tool=tool, arguments=arguments), thought=thought),
        ticket=Ticket(tool=tool, arguments=arguments, digest="d", idempotency_key="k"),
        answers=answers,
        result=ToolResult(
            status=status,
            raw_ref=result if status == "ok" else None,
            polled=None if polled is None else Polled(held=polled, ended_at="2026-01-01T00:00:00+00:00"),
        ),
        observation=Observation(status=status, summary=result),
    )


def nonsense() -> StepRecord:
    return StepRecord(
        step=1,
        invalid=InvalidDecision(problem="not JSON"),
        observation=Observation(status="invalid_input", summary="nothing ran"),
    )


def judged(
    steps: list[StepRecord],
    budget: Budget = DEFAULT,
    *,
    effects: tuple[str, ...] = (),
    on_stuck: Literal["stop", "ask"] = "stop",
) -> Iterator[tuple[Control, list[str]]]:
    """The control and the warnings after each step, until the run stops or asks."""
    control, records = Control(run_id="r", goal="g", fingerprint="f"), list[dict[str, Any]]()
    for number, record in enumerate(steps, 1):
        records.append({**record.dump(), "step": number})
        found = progress_of(records, effects=effects, window=window_of(budget))
        seen = record.observation or Observation(status="ok", summary="")
        control = control.model_copy(update={"step": number})
        changes, told = after_step(control, budget, seen, record.invalid is not None, found, on_stuck)
        control = control.model_copy(update=changes)
        yield control, told
        if control.stop is not None or control.stuck:
            return


def ended(
    steps: list[StepRecord], budget: Budget = DEFAULT, **options: Any
) -> tuple[int, Control, list[int]]:
    """The last step, the control behind it, and the steps with a warning."""
    after = list(judged(steps, budget, **options))
    return len(after), after[-1][0], [number for number, (_, told) in enumerate(after, 1) if told]


def test_the_same_action_with_the_same_result_is_warned_once_and_then_stops() -> None:
    count, control, warned = ended([did("a", id=4471)] * 9)
    assert (count, control.stop, warned) == (3, Reason.REPEATED_ACTION, [2])
    assert control.stop_detail == "the same action gave the same result 3 times: a(id=4471)"
    assert control.limit is not None
    assert (control.limit.name, control.limit.value, control.limit.used) == ("max_repeats", "3", "3")


@pytest.mark.parametrize("bound", [3, 4, 7, 12])
def test_the_warning_comes_once_and_right_before_the_bound(bound: int) -> None:
    count, _, warned = ended([did("a")] * 20, Budget(max_repeats=bound, max_stale=50))
    assert (count, warned) == (bound, [bound - 1])


@pytest.mark.parametrize("bound", [1, 2])
def test_a_first_look_is_never_a_repeat_however_small_the_bound(bound: int) -> None:
    count, control, warned = ended([did("a")] * 5, Budget(max_repeats=bound))
    assert (count, control.stop, warned) == (2, Reason.REPEATED_ACTION, [])


@pytest.mark.parametrize("period", range(2, 7))
def test_an_alternation_is_warned_once_and_then_stops_with_its_circle(period: int) -> None:
    count, control, warned = ended([did(f"tool{n}", f"r{n}") for n in range(period)] * 4)
    assert (count, control.stop) == (2 * period + 1, Reason.REPEATED_ACTION)
    assert warned == [period + 1]
    assert f"in a circle of {period}: tool1" in control.stop_detail


def test_the_same_action_in_other_looks_is_a_repeat() -> None:
    steps = [
        did("search", query="checkout incident", limit=5),
        did("search", limit=5.0, query="Checkout  incident"),
        did("search", query=" checkout incident? ", limit=5, thought="with other words"),
    ]
    assert ended(steps)[:2][0] == 3
    assert ended(steps)[1].stop is Reason.REPEATED_ACTION


def test_ids_that_differ_only_in_case_are_different_actions() -> None:
    steps = [did("get", "r1", id="aB"), did("get", "r2", id="Ab"), did("get", "r3", id="AB")]
    assert ended(steps) == (3, ended(steps)[1], [])
    assert ended(steps)[1].stop is None


def test_failures_with_other_arguments_are_warned_once_and_stop_with_their_own_words() -> None:
    after = list(judged([did("get", f"no {n}", "not_found", id=n) for n in range(9)]))
    assert [number for number, (_, told) in enumerate(after, 1) if told] == [4]
    assert "do not guess" in after[3][1][0]
    control = after[-1][0]
    assert (len(after), control.stop) == (5, Reason.FAILURE_LIMIT)
    assert (
        control.stop_detail == "get failed in the same way 5 times in a row, with other arguments each time"
    )


def test_failures_of_several_kinds_are_not_called_guesses() -> None:
    kinds: list[Status] = ["not_found", "conflict", "not_found", "tool_error", "conflict"]
    count, control, warned = ended([did("get", "", kind, id=n) for n, kind in enumerate(kinds)])
    assert (count, control.stop, warned) == (5, Reason.FAILURE_LIMIT, [4])
    assert control.stop_detail == "5 steps in a row ended in an error"


def test_ever_new_questions_with_the_same_result_are_no_progress() -> None:
    count, control, warned = ended([did("search", "empty", query=n) for n in range(30)])
    assert (count, control.stop, warned) == (9, Reason.NO_PROGRESS, [8])
    assert "8 steps in a row brought no new result" in control.stop_detail
    assert "search(query=8)" in control.stop_detail


def test_a_new_result_an_effect_and_a_persons_word_begin_the_count_anew() -> None:
    old = [did("search", "empty", query=n) for n in range(8)]
    for news in (did("search", "found", query=99), did("send", "ok", to=1), did("pay", "", said="reject")):
        after = list(
            judged([*old, news, *(did("search", "found", query=n) for n in range(50, 56))], effects=("send",))
        )
        assert after[-1][0].stop is None


def test_looking_again_after_an_effect_is_progress() -> None:
    steps = [step for n in range(6) for step in (did("edit", "ok", text=n), did("test", "red"))]
    assert ended(steps, effects=("edit",))[1].stop is None
    assert ended(steps)[1].stop is Reason.REPEATED_ACTION


def test_a_poll_that_waits_is_neither_a_repeat_nor_stale_and_one_that_is_over_is_both() -> None:
    waiting = [did("status", "not yet", polled=False)] * 30
    assert ended(waiting) == (30, ended(waiting)[1], [])
    assert ended(waiting)[1].stop is None
    count, control, _ = ended([*waiting, *[did("status", "live", polled=True)] * 5])
    assert (count, control.stop) == (33, Reason.REPEATED_ACTION)


def test_a_waiting_poll_does_not_hide_what_is_repeated_around_it() -> None:
    steps = [did("status", "not yet", polled=False), did("look")] * 9
    assert ended(steps)[:2][0] == 6


def test_a_waiting_poll_neither_feeds_nor_resets_the_count_of_steps_without_news() -> None:
    poll = did("status", "not yet", polled=False)
    steps = [step for n in range(30) for step in (did("search", "empty", query=n), poll)]
    count, control, warned = ended(steps)
    assert (count, control.stop, warned) == (17, Reason.NO_PROGRESS, [15])


def test_advice_instead_of_an_approval_is_no_failure_and_a_rejection_is_one() -> None:
    advised = [did("pay", f"{n}", "permission_denied", said="respond", to=n) for n in range(12)]
    assert ended(advised)[1].stop is None
    rejected = [did("pay", f"{n}", "permission_denied", said="reject", to=n) for n in range(12)]
    assert ended(rejected)[1].stop is Reason.FAILURE_LIMIT


def test_a_stuck_run_asks_where_that_is_wished_and_a_step_is_left() -> None:
    _, control, warned = ended([did("a")] * 9, on_stuck="ask")
    assert (control.stop, control.stuck, control.stuck_by, warned) == (
        None,
        True,
        Reason.REPEATED_ACTION,
        [2],
    )
    _, control, _ = ended([did("a")] * 9, Budget(max_steps=3), on_stuck="ask")
    assert (control.stop, control.stuck) == (Reason.REPEATED_ACTION, False)


@pytest.mark.parametrize("reason", [Reason.REPEATED_ACTION, Reason.NO_PROGRESS, Reason.FAILURE_LIMIT])
@pytest.mark.parametrize("decision", [None, HumanDecision(type="reject", by="ada", message="enough")])
def test_a_stuck_run_that_nobody_helps_ends_for_the_reason_that_made_it_stuck(
    reason: Reason, decision: HumanDecision | None
) -> None:
    settled = settle_stuck(question_about(reason, decision), [])
    assert settled.changes["stop"] is reason
    told = settled.changes["stop_detail"]
    assert told.startswith("it went round 3 times; ")
    assert ("ada stopped the run: enough" in told) == (decision is not None)


def test_advice_begins_all_counts_anew_behind_its_step() -> None:
    settled = settle_stuck(
        question_about(Reason.NO_PROGRESS, HumanDecision(type="respond", message="go on")), []
    )
    control = Control(run_id="r", goal="g", fingerprint="f", failures=4, stuck_by=Reason.NO_PROGRESS)
    after = control.model_copy(update=settled.changes)
    assert (after.fresh_from, after.failures, after.stuck_by, after.stop) == (8, 0, None, None)


def question_about(reason: Reason, decision: HumanDecision | None) -> Approval:
    question = Question(
        approval_id="q", run_id="r", step=7, kind="stuck", tool="stuck", arguments={}, digest="d",
        risk="stuck", rule=reason.value, text=f"it went round 3 times{STUCK_CHOICE}", created_at="now",
    )  # fmt: skip
    return Approval(question=question, status="decided" if decision else "expired", decision=decision)


WORDS = st.sampled_from(["Find  it", "find it", " FIND IT. ", "find\tit"])
acts = st.tuples(st.just("a"), st.integers(0, 10**6), st.sampled_from("xy"))
"""A tool with two results: few enough that none is forgotten before it comes again."""


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy")), max_size=24), st.data())
def test_wording_never_changes_when_a_run_ends(run: list[tuple[str, str]], data: st.DataObject) -> None:
    plain = [did(tool, result, text="find it") for tool, result in run]
    worded = [
        did(tool, result, thought=data.draw(st.text(max_size=3)), text=data.draw(WORDS))
        for tool, result in run
    ]
    told = [[(after.stop, bool(warned)) for after, warned in judged(steps)] for steps in (plain, worded)]
    assert told[0] == told[1]


@given(st.lists(st.one_of(acts.map(lambda a: did(a[0], a[2], id=a[1])),
                          acts.map(lambda a: did(a[0], "", "not_found", id=a[1])),
                          st.builds(nonsense)), min_size=48, max_size=48))  # fmt: skip
def test_a_run_that_learns_nothing_ends_by_a_rule_whatever_it_tries(steps: list[StepRecord]) -> None:
    count, control, warned = ended(steps)
    assert control.stop in {
        Reason.REPEATED_ACTION, Reason.NO_PROGRESS, Reason.FAILURE_LIMIT, Reason.INVALID_DECISIONS
    }  # fmt: skip
    assert count <= 3 * DEFAULT.max_stale
    if control.stop is not Reason.INVALID_DECISIONS:
        assert warned


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=30))
def test_steps_that_each_bring_something_new_are_never_stopped(tools: list[str]) -> None:
    steps = [did(tool, f"result {n}") for n, tool in enumerate(tools)]
    assert all(control.stop is None and not told for control, told in judged(steps))
