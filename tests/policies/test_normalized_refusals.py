"""What the model is told about what never ran, and about what a person said instead."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.normalizers import observe_answer, observe_denied, observe_invalid
from interlock.policies.not_run import LIMIT
from interlock.policies.questions import DecisionType, HumanDecision, QuestionKind
from interlock.policies.shapes import size_of
from interlock.policies.steps import InvalidDecision
from interlock.policies.verdicts import Deny


def test_a_denial_names_its_rule_and_its_reason() -> None:
    seen = observe_denied(Deny(rule="scope", reason="sum is above 100"))
    assert (seen.status, seen.summary) == ("permission_denied", "not run; rule scope: sum is above 100")


def test_an_invalid_decision_says_what_to_correct() -> None:
    seen = observe_invalid(InvalidDecision(problem="arguments are not valid JSON"))
    assert (seen.status, seen.summary) == ("invalid_input", "nothing ran: arguments are not valid JSON")


@pytest.mark.parametrize("kind", ["approval", "ask"])
def test_a_rejection_is_final_and_says_why(kind: QuestionKind) -> None:
    seen = observe_answer(kind, "decided", HumanDecision(type="reject", message="peak hours"))
    assert seen.status == "permission_denied"
    assert "final" in seen.summary
    assert "peak hours" in seen.summary


def test_a_rejection_without_a_message_gives_its_recorded_reason_or_says_that_there_is_none() -> None:
    assert (
        "why not"
        in observe_answer("approval", "decided", HumanDecision(type="reject", reason="why not")).summary
    )
    assert "no reason" in observe_answer("approval", "decided", HumanDecision(type="reject")).summary


@pytest.mark.parametrize("outcome", ["expired", "abandoned"])
@pytest.mark.parametrize("kind", ["approval", "ask", "in_doubt", "stuck"])
def test_a_question_that_nobody_answered_is_no_denial(kind: QuestionKind, outcome: str) -> None:
    seen = observe_answer(kind, outcome, None)
    assert seen.status == "retryable_error"
    assert seen.summary.startswith("not executed: ")
    assert ("expired" in seen.summary) == (outcome == "expired")


def test_an_answer_to_a_question_is_an_observation_like_any_other() -> None:
    seen = observe_answer("ask", "decided", HumanDecision(type="respond", message="use eu-west"))
    assert (seen.status, seen.summary) == ("ok", "a person answered: use eu-west")


def test_words_in_place_of_an_approval_say_that_the_action_did_not_run() -> None:
    seen = observe_answer("approval", "decided", HumanDecision(type="respond", message="wait for Ada"))
    assert seen.status == "permission_denied"
    assert "not executed" in seen.summary
    assert "wait for Ada" in seen.summary


@pytest.mark.parametrize("decision", ["approve", "edit"])
def test_an_approval_of_something_else_ran_nothing(decision: DecisionType) -> None:
    seen = observe_answer("approval", "decided", HumanDecision(type=decision))
    assert (seen.status, "not executed" in seen.summary) == ("permission_denied", True)


@given(st.text(st.characters(), min_size=1) | st.text("é\u202e", min_size=3_000, max_size=5_000))
def test_no_answer_is_too_long_and_nothing_in_it_is_hidden(message: str) -> None:
    seen = observe_answer("ask", "decided", HumanDecision(type="respond", message=message))
    assert seen.size_after == size_of(seen.summary) <= LIMIT
    assert "\u202e" not in seen.summary
    if size_of(message) > LIMIT:
        assert "characters)…" in seen.summary
