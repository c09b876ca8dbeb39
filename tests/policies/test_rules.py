"""Verdicts: the strictest wins whatever the order, and a policy that fails denies."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.errors import GraphInterrupt

from interlock.policies.contracts import ArgumentRule, Contract
from interlock.policies.rules import Action, Policy, Rule, call, judge
from interlock.policies.verdicts import Allow, Deny, NeedsApproval, Verdict, strictest

STRICTNESS = {"allow": 0, "needs_approval": 1, "deny": 2}
READ = Contract(effect="read")
WRITE = Contract(effect="write")

names = st.sampled_from(["a", "b", "a.b", "high_risk", "policy_error"])
reasons = st.sampled_from(["one", "two"])
approvals = st.builds(
    NeedsApproval,
    rule=names,
    reason=reasons,
    approvers=st.lists(st.sampled_from(["ann", "bo", "cy"]), max_size=3),
    expires_s=st.none() | st.sampled_from([1.0, 60.0]),
)
verdicts: st.SearchStrategy[Verdict] = (
    st.builds(Allow, rule=names, reason=reasons) | st.builds(Deny, rule=names, reason=reasons) | approvals
)


def action(contract: Contract = WRITE, **arguments: Any) -> Action:
    return Action("tool", arguments, contract)


def says(verdict: Any) -> Rule:
    return lambda _: verdict


@given(
    st.lists(verdicts, min_size=1, max_size=6).flatmap(lambda v: st.tuples(st.just(v), st.permutations(v)))
)
def test_order_never_matters_for_the_whole_verdict(both: tuple[list[Verdict], list[Verdict]]) -> None:
    first, second = both
    assert strictest(first) == strictest(second)
    judged = [judge(action(), Policy(rules=[says(one) for one in rules])) for rules in both]
    assert judged[0] == judged[1]


@given(st.lists(verdicts, max_size=5))
def test_no_rule_makes_the_verdict_laxer(given_verdicts: list[Verdict]) -> None:
    judged = judge(action(), Policy(rules=[says(one) for one in given_verdicts]))
    assert STRICTNESS[judged.kind] >= max([0, *(STRICTNESS[one.kind] for one in given_verdicts)])


@given(st.lists(approvals, min_size=1, max_size=5))
def test_an_approval_meets_every_demand_or_nobody_can_give_it(demands: list[NeedsApproval]) -> None:
    joined = strictest(demands)
    named = [set(one.approvers) for one in demands if one.approvers]
    common = set.intersection(*named) if named else set()
    if named and not common:
        assert isinstance(joined, Deny)
        assert joined.rule == "approvers"
        assert all(one.rule in joined.reason for one in demands if one.approvers)
    else:
        assert isinstance(joined, NeedsApproval)
        assert set(joined.approvers) == common
        expiries = [one.expires_s for one in demands if one.expires_s is not None]
        assert joined.expires_s == (min(expiries) if expiries else None)


@given(st.lists(verdicts, min_size=1, max_size=6), st.integers(0, 6))
def test_grouping_the_rules_never_changes_what_happens(given_verdicts: list[Verdict], cut: int) -> None:
    parts = [strictest(given_verdicts[:cut]), strictest(given_verdicts[cut:])]
    grouped, flat = strictest(one for one in parts if one is not None), strictest(given_verdicts)
    assert grouped is not None
    assert flat is not None
    drop = {"reason", "rule"}
    assert grouped.model_dump(exclude=drop) == flat.model_dump(exclude=drop)


def test_a_rule_about_the_case_gives_its_name_before_one_about_the_effect() -> None:
    mine = NeedsApproval(rule="too_large", reason="it is large")
    judged = judge(action(Contract(effect="high_risk")), Policy(rules=[says(mine)]))
    assert judged.rule == "too_large"
    assert "it is large" in judged.reason
    assert "high-risk" in judged.reason


def test_no_verdict_at_all_is_none() -> None:
    assert strictest([]) is None


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Wordless:
    def __repr__(self) -> str:
        raise RuntimeError("no text")


def raises(error: Exception) -> Rule:
    def rule(_: Action) -> Verdict | None:
        raise error

    return rule


@pytest.mark.parametrize(
    "rule",
    [raises(ValueError("x")), raises(Unshowable()), says("allow"), says(True), says({}), says(Wordless()),
     says(Allow)],
)  # fmt: skip
def test_a_rule_that_fails_or_answers_something_unknown_denies(rule: Rule) -> None:
    judged = judge(action(READ), Policy(rules=[says(Deny(rule="aaa", reason="no")), rule]))
    assert (judged.kind, judged.rule) == ("deny", "policy_error")


def test_a_rule_with_nothing_to_say_changes_nothing() -> None:
    assert judge(action(READ), Policy(rules=[says(None)])) == judge(action(READ), Policy())


def test_a_rule_that_takes_too_long_denies_when_the_caller_bounds_its_time() -> None:
    def slow(_: Action) -> None:
        time.sleep(0.05)

    def bounded(rule: Rule, asked: Action) -> Verdict | None:
        began = time.monotonic()
        given_verdict = call(rule, asked)
        if time.monotonic() - began > 0.02:
            raise TimeoutError("longer than 0.02 s")
        return given_verdict

    judged = judge(action(READ), Policy(rules=[slow]), ask=bounded)
    assert (judged.kind, judged.rule) == ("deny", "policy_error")
    assert "slow" in judged.reason
    assert judge(action(READ), Policy(), ask=bounded).kind == "allow"


def test_the_wrapper_that_asks_cannot_turn_a_rule_into_something_unknown() -> None:
    def broken_wrapper(rule: Rule, asked: Action) -> Any:
        return "allow"

    assert judge(action(READ), Policy(), ask=broken_wrapper).rule == "policy_error"


def test_a_pause_inside_a_rule_is_not_swallowed() -> None:
    with pytest.raises(GraphInterrupt):
        judge(action(READ), Policy(rules=[raises(GraphInterrupt(()))]))


def test_a_rule_that_changes_the_arguments_changes_neither_the_others_nor_the_action() -> None:
    def meddling(asked: Action) -> None:
        asked.arguments["ids"].clear()
        asked.arguments["extra"] = 1

    def watching(asked: Action) -> Verdict | None:
        return None if asked.arguments == {"ids": [1]} else Deny(rule="changed", reason="changed")

    asked = action(READ, ids=[1])
    assert judge(asked, Policy(rules=[meddling, watching])).kind == "allow"
    assert asked.arguments == {"ids": [1]}


def test_the_version_ignores_the_order_of_rules_and_sees_another_rule() -> None:
    def one(_: Action) -> None: ...
    def two(_: Action) -> None: ...

    assert Policy(rules=[one, two]).version == Policy(rules=[two, one]).version
    assert Policy(rules=[one]).version != Policy(rules=[one, two]).version


@pytest.mark.parametrize(
    ("rule", "value", "passes"),
    [
        (ArgumentRule(allowed=["a"]), "a", True),
        (ArgumentRule(allowed=["a"]), "ab", False),
        (ArgumentRule(allowed=["a"]), ["a", "b"], False),
        (ArgumentRule(allowed=[1]), True, False),
        (ArgumentRule(allowed=[{"x": 1}]), {"x": True}, False),
        (ArgumentRule(allowed=[1.0]), 1, True),
        (ArgumentRule(pattern="a|b"), "ab", False),
        (ArgumentRule(pattern="[a-z]+"), "abc\n", False),
        (ArgumentRule(pattern="[0-9]+"), 5, False),
        (ArgumentRule(minimum=1, maximum=5), 5, True),
        (ArgumentRule(minimum=1, maximum=5), 5.01, False),
        (ArgumentRule(maximum=5), "3", False),
        (ArgumentRule(maximum=5), [[1]], False),
        (ArgumentRule(maximum=5), True, False),
        (ArgumentRule(max_items=2), [1, 2, 3], False),
        (ArgumentRule(max_items=2), {"a": 1, "b": 2}, True),
        (ArgumentRule(max_items=2), {"a": 1, "b": 2, "c": 3}, False),
        (ArgumentRule(), None, False),
    ],
)
def test_an_argument_outside_its_scope_is_denied(rule: ArgumentRule, value: Any, passes: bool) -> None:
    judged = judge(action(Contract(effect="write", scope={"x": rule}), x=value), Policy())
    assert (judged.kind == "allow") is passes
    assert passes or judged.rule == "scope"


def test_every_broken_argument_is_named_whatever_their_order() -> None:
    rules = {"b": ArgumentRule(maximum=1), "a": ArgumentRule(allowed=["x"])}
    forward, backward = (Contract(effect="write", scope=dict(items)) for items in
                         (rules.items(), reversed(rules.items())))  # fmt: skip
    judged = judge(action(forward, b=2), Policy())
    assert judged == judge(action(backward, b=2), Policy())
    assert "a must be given" in judged.reason
    assert "b is 2" in judged.reason


def test_a_pattern_that_is_none_is_refused_when_the_rule_is_written() -> None:
    with pytest.raises(ValueError, match="not a regular expression"):
        ArgumentRule(pattern="[")
