"""What holds for every policy file: no order, never laxer, and findings that are true of every call."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from interlock.policies.argumentrules import broken, meets
from interlock.policies.argumentsets import contradiction, excludes, narrower
from interlock.policies.contracts import ArgumentRule, Contract
from interlock.policies.policychecks import problems
from interlock.policies.policyfile import parse_policy
from interlock.policies.rules import Action, Policy, judge
from tests.policies.policyfiles import anything, argument_rules, as_toml, calls, contracts, files

STRICTNESS = {"allow": 0, "needs_approval": 1, "deny": 2}
SCHEMAS: dict[str, dict[str, Any]] = {name: {"properties": {"x": {}, "y": {}}} for name in ("tool", "other")}

rules = argument_rules.map(lambda one: ArgumentRule(**one))


def judged(policy: Policy, contract: Contract, arguments: dict[str, Any]) -> Any:
    return judge(Action("tool", arguments, contract), policy)


def passes(value: Any, rule: ArgumentRule) -> bool:
    return not broken({"x": value}, {"x": rule})


@given(files, calls, contracts, st.randoms(use_true_random=False))
def test_the_order_of_a_file_changes_nothing(
    data: dict[str, Any], arguments: dict[str, Any], contract: Contract, chance: random.Random
) -> None:
    def shuffle(items: list[Any]) -> list[Any]:
        return chance.sample(items, len(items))

    first, second = parse_policy(as_toml(data)), parse_policy(as_toml(data, shuffle), "elsewhere.toml")
    assert (first.version, first.words) == (second.version, second.words)
    assert judged(first, contract, arguments) == judged(second, contract, arguments)
    given_problems = [problems(one, {"tool": contract}, SCHEMAS) for one in (first, second)]
    assert given_problems[0] == given_problems[1]


@given(files, calls, contracts)
def test_a_file_never_makes_a_verdict_laxer(
    data: dict[str, Any], arguments: dict[str, Any], contract: Contract
) -> None:
    with_file = judged(parse_policy(as_toml(data)), contract, arguments)
    without = judged(Policy(), contract, arguments)
    assert with_file.rule != "policy_error"
    assert STRICTNESS[with_file.kind] >= STRICTNESS[without.kind]
    event(with_file.kind)


@given(files, files)
def test_two_files_share_a_version_only_when_they_mean_the_same(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    first, second = parse_policy(as_toml(one)), parse_policy(as_toml(other))
    same = repr(first.rules) == repr(second.rules)  # to Python 1 and true are equal, to a tool they are not
    assert (first.version == second.version) is same


def without(data: dict[str, Any], useless: list[str]) -> dict[str, Any]:
    """The file without the rules `tools.tool.rules.NAME`."""
    kept = copy.deepcopy(data)
    for name in useless:
        del kept["tools"]["tool"]["rules"][name]
    return kept


@settings(max_examples=250)
@given(files, contracts, st.lists(calls, min_size=1, max_size=8))
def test_rules_that_are_reported_to_never_decide_can_all_go(
    data: dict[str, Any], contract: Contract, several: list[dict[str, Any]]
) -> None:
    policy = parse_policy(as_toml(data))
    found = problems(policy, {"tool": contract, "other": contract}, SCHEMAS)
    useless = [line.split(":")[0].removeprefix("tools.tool.rules.") for line in found
               if line.startswith("tools.tool.rules.") and "can never decide" in line]  # fmt: skip
    event("some" if useless else "none")
    slim = parse_policy(as_toml(without(data, useless)))
    for arguments in several:
        before, after = (judged(one, contract, arguments) for one in (policy, slim))
        drop = {"rule", "reason"}
        assert before.model_dump(exclude=drop) == after.model_dump(exclude=drop)


@settings(max_examples=200)
@given(rules, rules, anything)
def test_a_narrower_rule_passes_and_meets_less(inner: ArgumentRule, outer: ArgumentRule, value: Any) -> None:
    if narrower(inner, outer):
        assert not meets(value, inner) or meets(value, outer)
        assert not passes(value, inner) or passes(value, outer)


@settings(max_examples=200)
@given(rules, rules, anything)
def test_what_a_rule_excludes_never_passes_it(
    rule: ArgumentRule, condition: ArgumentRule, value: Any
) -> None:
    if excludes(rule, condition) and meets(value, condition):
        assert not passes(value, rule)


@settings(max_examples=200)
@given(rules, anything)
def test_nothing_passes_a_contradiction(rule: ArgumentRule, value: Any) -> None:
    if value != [] and contradiction(rule):
        assert not passes(value, rule)


@settings(max_examples=200)
@given(rules, anything)
def test_what_passes_a_rule_meets_it_as_a_condition(rule: ArgumentRule, value: Any) -> None:
    if value != [] and passes(value, rule):
        assert meets(value, rule)


@given(files)
def test_the_meaning_of_a_file_is_plain_json(data: dict[str, Any]) -> None:
    rule: Any = parse_policy(as_toml(data)).rules[0]
    assert json.loads(rule.meaning)["tools"].keys() == data["tools"].keys()
