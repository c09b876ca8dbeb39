"""Pure parts of a claim: freshness, places in arguments, expressions, identifiers, the answer's schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, field_validator

from interlock.policies.answers import fitted
from interlock.policies.budget import Budget
from interlock.policies.claims import last_effect, problems_of, rejected
from interlock.policies.control import Control
from interlock.policies.effects import EffectRow
from interlock.policies.expressions import expression_problem
from interlock.policies.facts import Fact
from interlock.policies.filling import NothingThere, filled, places
from interlock.policies.identities import identifiers, same
from interlock.policies.observations import Status, ToolResult
from interlock.policies.proposals import FinalAnswer
from interlock.policies.verifiers import Claim

ANSWER = FinalAnswer(answer="healthy")


def fact(step: int, value: Any = "up") -> Fact:
    return Fact(key="health", value=value, source="tool:get", trust="observed", step=step, observed_at="t")


def effect(step: int, status: Status = "ok", **changes: Any) -> EffectRow:
    fields: dict[str, Any] = {"state": "done", "result": ToolResult(status=status), **changes}
    place: dict[str, Any] = {
        "key": f"k{step}",
        "run_id": "r",
        "step": step,
        "tool": "restart",
        "digest": f"d{step}",
    }
    return EffectRow(**place, arguments={}, started_at="t", **fields)


def stale(
    observed: int, effects: list[EffectRow], fresh: frozenset[str] = frozenset({"health"})
) -> list[str]:
    facts = {"health": fact(observed).dump()}
    return problems_of(ANSWER, frozenset({"health"}), facts, effects, fresh)


def test_a_fresh_fact_has_to_be_observed_in_a_later_step_than_the_last_effect() -> None:
    assert stale(3, [effect(1), effect(2)]) == []
    (problem,) = stale(2, [effect(1), effect(3)])
    assert "restart in step 3" in problem
    assert "health" in problem
    assert len(stale(3, [effect(3)])) == 1


def test_a_plain_required_fact_stays_true_across_effects() -> None:
    assert stale(1, [effect(2)], fresh=frozenset()) == []


def test_a_call_that_says_that_it_changed_nothing_makes_no_fact_stale() -> None:
    assert stale(1, [effect(2, "conflict"), effect(3, state="cleared", result=None)]) == []
    assert len(stale(1, [effect(2, "tool_error")])) == 1


@given(st.integers(1, 20), st.lists(st.tuples(st.integers(1, 20), st.sampled_from(["ok", "conflict"]))))
def test_a_fact_is_fresh_exactly_when_no_effect_came_with_it_or_after_it(
    observed: int, rows: list[tuple[int, Any]]
) -> None:
    effects = [effect(step, status) for step, status in sorted(rows)]
    changed = [row.step for row in effects if row.result and row.result.status == "ok"]
    assert bool(stale(observed, effects)) == any(step >= observed for step in changed)
    last = last_effect(effects)
    assert (last.step if last else None) == (max(changed) if changed else None)


def test_what_the_model_is_told_is_bounded_and_hides_nothing() -> None:
    changes, told = rejected(Control(run_id="r", goal="g", fingerprint="f"), Budget(), ["x\u202e" * 9000])
    assert changes == {"rejected": 1}
    assert told.size_after <= 8_200
    assert "\u202e" not in told.summary


CLAIM = Claim(answer={"ticket": {"id": "T-1"}}, facts={"health": fact(1)}, run_id="r", goal="g", steps=2)


def test_places_in_arguments_are_filled_from_facts_and_from_the_answer_at_any_depth() -> None:
    template: Any = {"id": {"$answer": "ticket.id"}, "of": [{"x": {"$fact": "health"}}], "n": 1}
    assert list(places(template)) == [("$answer", "ticket.id"), ("$fact", "health")]
    assert filled(template, CLAIM) == {"id": "T-1", "of": [{"x": "up"}], "n": 1}


@pytest.mark.parametrize(
    ("template", "told"),
    [({"$fact": "owner"}, "the fact owner is not observed"), ({"$answer": "url"}, "the answer has no url")],
)
def test_a_place_that_nothing_fills_is_named(template: Any, told: str) -> None:
    with pytest.raises(NothingThere, match=told):
        filled({"a": template}, CLAIM)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(JSON)
def test_a_value_without_places_stays_as_it_is(value: Any) -> None:
    if not list(places(value)):
        assert filled(value, CLAIM) == value


@pytest.mark.parametrize("expression", ["status ==", "", "foo(@)", "length()", "a[", "'unclosed"])
def test_an_expression_that_cannot_work_is_found_when_the_loop_is_built(expression: str) -> None:
    assert expression_problem(expression)


@pytest.mark.parametrize("expression", ["status == 'healthy'", "length(items) > `0`", "@", "a[0].b"])
def test_an_expression_that_needs_data_is_no_problem(expression: str) -> None:
    assert expression_problem(expression) is None


def test_identifiers_are_texts_and_numbers_and_nothing_that_is_hidden_or_empty() -> None:
    assert identifiers(["T-1", 7, True, "", "  ", None, {}, "[redacted]"]) == ["T-1", 7]
    assert same("7", [7])
    assert not same("77", [7])


class Report(BaseModel):
    service: str
    retries: int = 3


def test_an_answer_is_dumped_as_its_schema_says_with_defaults() -> None:
    assert fitted({"service": "a"}, Report).answer == {"service": "a", "retries": 3}
    assert fitted("anything", None).answer == "anything"


@pytest.mark.parametrize(
    "answer", ["text", '{"service": "a"}', {"service": 1}, {"service": "a", "retries": "3"}, {}, [], None]
)
def test_an_answer_that_does_not_fit_is_refused_without_repair(answer: Any) -> None:
    found = fitted(answer, Report)
    assert found.answer is None
    assert "does not fit" in found.problem


class Broken(BaseModel):
    service: str

    @field_validator("service")
    @classmethod
    def _fails(cls, value: str) -> str:
        raise KeyError("password=hunter2hunter2")


def test_a_validator_that_fails_is_no_pass_and_leaks_nothing() -> None:
    found = fitted({"service": "a"}, Broken)
    assert "KeyError" in found.problem
    assert "hunter2" not in found.problem
