"""Reviewing a policy file: what cannot be meant, what each tool would get, a table of expected verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.policies.canonical import ArgumentsError
from interlock.policies.contracts import ArgumentRule, Contract
from interlock.policies.errors import BadPolicy
from interlock.policies.explaining import explain
from interlock.policies.policycases import parse_cases, run_cases
from interlock.policies.policychecks import problems
from interlock.policies.policyfile import parse_policy
from interlock.policies.rules import Action, Policy
from interlock.policies.verdicts import NeedsApproval, Verdict

READ, WRITE, RISKY = (Contract(effect=effect) for effect in ("read", "write", "high_risk"))
SCOPED = Contract(effect="write", scope={"x": ArgumentRule(maximum=10)})
SCHEMAS = {"t": {"properties": {"x": {"type": "number"}, "to": {"type": "string"}}}}
DENY = 'verdict = "deny"\n'
ASK = 'verdict = "needs_approval"\n'


def two(first: str, second: str) -> str:
    return f"[tools.t.rules.a]\n{first}\n[tools.t.rules.b]\n{second}"


def found(text: str, contract: Contract = WRITE) -> list[str]:
    return problems(parse_policy(text), {"t": contract}, SCHEMAS)


@pytest.mark.parametrize(
    ("text", "contract", "parts"),
    [
        (f"[tools.T]\n{DENY}", WRITE, ["tools.T", "no tool 'T'", "tools: t"]),
        ("[tools.t.arguments.y]\nmaximum = 1", WRITE, ["tools.t.arguments.y", "no argument 'y'", "x, to"]),
        (f"[tools.t.rules.r]\n{DENY}when.y = {{}}", WRITE, ["tools.t.rules.r.when.y", "no argument 'y'"]),
        (f"[tools.t.rules.r]\n{DENY}unless.y = {{}}", WRITE, ["tools.t.rules.r.unless.y", "no argument"]),
        ("[tools.t.arguments.x]\nminimum = 5\nmaximum = 3", WRITE, ["tools.t.arguments.x", "minimum 5"]),
        ('[tools.t.arguments.to]\nallowed = ["a"]\npattern = "b"', WRITE, ["no value of allowed passes"]),
        ("[tools.t.arguments.to]\nallowed = []", WRITE, ["tools.t.arguments.to", "allowed is empty"]),
        ("[tools.t.arguments.x]\nminimum = 11", SCOPED, ["tools.t.arguments.x", "contract's scope"]),
        (f"[tools.t.rules.r]\n{ASK}when.x = {{}}", RISKY, ["tools.t.rules.r", "never decide", "high_risk"]),
        (
            f"[tools.t]\n{DENY}[tools.t.rules.r]\n{ASK}when.x = {{}}",
            WRITE,
            ["never decide", "tools.t always"],
        ),
        (
            f"[default]\n{DENY}[tools.t.rules.r]\n{ASK}when.x = {{}}",
            WRITE,
            ["never decide", "default always"],
        ),
        (f"[tools.t.rules.r]\n{ASK}when.x = {{minimum = 11}}", SCOPED, ["never decide", "scope denies"]),
        (f"[tools.t.rules.r]\n{ASK}unless.x = {{maximum = 10}}", SCOPED, ["never decide", "scope denies"]),
        (
            f"[tools.t.rules.a]\n{DENY}when.x = {{minimum = 1}}\n"
            f"[tools.t.rules.b]\n{ASK}when.x = {{minimum = 2}}\nwhen.to = {{}}",
            WRITE,
            ["tools.t.rules.b", "never decide", "tools.t.rules.a covers it"],
        ),
        (
            f'[tools.t]\n{ASK}approvers = ["a"]\n[tools.t.rules.r]\n{ASK}approvers = ["b"]\nwhen.x = {{}}',
            WRITE,
            ["tools.t.rules.r", "nobody", "tools.t"],
        ),
        (f'[tools.t]\n{DENY}approvers = ["a"]', WRITE, ["tools.t", "denied has no approvers"]),
        (f"[default]\n{DENY}expires_s = 5", WRITE, ["default", "denied has no approvers"]),
    ],
)
def test_what_cannot_be_meant_is_told_in_one_line_with_the_place(
    text: str, contract: Contract, parts: list[str]
) -> None:
    lines = found(text, contract)
    assert len(lines) == 1, lines
    assert [part for part in parts if part not in lines[0]] == []


@pytest.mark.parametrize(
    ("text", "contract"),
    [
        (f'[tools.t.rules.r]\n{ASK}approvers = ["a"]\nwhen.x = {{}}', RISKY),
        (f"[tools.t.rules.r]\n{ASK}expires_s = 5\nwhen.x = {{}}", RISKY),
        (f"[tools.t.rules.r]\n{ASK}when.x = {{minimum = 10}}", SCOPED),
        (f"[tools.t.rules.r]\n{ASK}unless.x = {{maximum = 9}}", SCOPED),
        (two(f"{DENY}when.x = {{minimum = 2}}", f"{ASK}when.x = {{minimum = 1}}"), WRITE),
        (two(f"{DENY}when.x = {{}}", f"{ASK}unless.x = {{maximum = 1}}"), WRITE),
        (two(f"{DENY}unless.x = {{maximum = 5}}", f"{ASK}unless.x = {{maximum = 3}}"), WRITE),
        ('[tools.t]\nverdict = "allow"', RISKY),
        ('[tools.t.arguments.to]\nallowed = ["a", "b"]\npattern = "b"', WRITE),
    ],
)
def test_what_can_decide_something_is_no_problem(text: str, contract: Contract) -> None:
    assert found(text, contract) == []


def test_of_two_rules_that_say_the_same_one_is_reported() -> None:
    text = f"[tools.t.rules.a]\n{DENY}when.x = {{}}\n[tools.t.rules.b]\n{DENY}when.x = {{}}"
    lines = found(text)
    assert len(lines) == 1
    assert lines[0].startswith("tools.t.rules.b: can never decide: tools.t.rules.a")


def test_a_policy_without_a_file_has_no_problems() -> None:
    assert problems(Policy(), {"t": WRITE}, SCHEMAS) == []


def test_every_tool_is_explained_also_those_that_the_file_does_not_name() -> None:
    policy = parse_policy(
        f'[tools.t]\n{ASK}approvers = ["a"]\nreason = "because"\n[tools.t.arguments.x]\nmaximum = 1'
    )
    first, second = explain(policy, {"t": SCOPED, "a": READ})
    assert (first.tool, first.verdict.kind, first.verdict.rule, first.stricter) == ("a", "allow", "read", {})
    assert isinstance(second.verdict, NeedsApproval)
    assert (second.verdict.rule, second.verdict.approvers) == ("tools.t", ["a"])
    assert second.stricter == {
        "scope.x": "denied unless x is at most 10",
        "tools.t.arguments.x": "denied unless x is at most 1",
    }


def test_an_allow_without_effect_is_noted() -> None:
    policy = parse_policy('[tools.t]\nverdict = "allow"')
    assert explain(policy, {"t": WRITE})[0].notes == []
    (note,) = explain(policy, {"t": RISKY})[0].notes
    assert "allow in tools.t has no effect" in note
    assert "high_risk" in note


def test_rules_in_code_beside_a_file_are_noted() -> None:
    def no_weekends(_: Action) -> Verdict | None:
        return None

    file = parse_policy('[tools.t]\nverdict = "allow"')
    (explained,) = explain(Policy(rules=[*file.rules, no_weekends]), {"t": WRITE})
    assert any("no_weekends" in note for note in explained.notes)


def results(cases: str, validate: Any = None) -> list[tuple[bool, str]]:
    policy = parse_policy(
        f"[tools.t.rules.large]\n{ASK}when.x = {{minimum = 5}}\n[tools.t.arguments.x]\nmaximum = 9"
    )
    done = run_cases(policy, {"t": WRITE}, parse_cases(cases), validate)
    return [(one.passed, one.verdict.rule) for one in done]


@pytest.mark.parametrize(
    ("case", "passed"),
    [
        ('tool = "t"\narguments.x = 1\nexpect = "allow"', True),
        ('tool = "t"\narguments.x = 5\nexpect = "allow"', False),
        ('tool = "t"\narguments.x = 5\nexpect = "needs_approval"', True),
        ('tool = "t"\narguments.x = 5\nexpect = "needs_approval"\nrule = "tools.t.rules.large"', True),
        ('tool = "t"\narguments.x = 5\nexpect = "needs_approval"\nrule = "other"', False),
        ('tool = "t"\narguments.x = 10\nexpect = "deny"\nrule = "tools.t.arguments.x"', True),
        ('tool = "t"\narguments.x = 1\nexpect = "needs_approval"\nrequested = true', True),
        ('tool = "tt"\nexpect = "deny"', False),
        ('tool = "tt"\nexpect = "deny"\nrule = "unknown_tool"', True),
    ],
)
def test_a_case_passes_when_verdict_and_rule_are_the_expected_ones(case: str, passed: bool) -> None:
    assert [one for one, _ in results(f"[[case]]\n{case}")] == [passed]


def test_cases_are_judged_on_the_arguments_that_the_tool_would_get() -> None:
    def with_default(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"x": 1} | arguments

    assert results('[[case]]\ntool = "t"\nexpect = "allow"', with_default) == [(True, "write")]


def test_arguments_that_no_tool_may_see_do_not_pass_as_a_denial() -> None:
    def refuse(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        raise ArgumentsError("x is missing")

    assert results('[[case]]\ntool = "t"\nexpect = "deny"', refuse) == [(False, "arguments")]
    assert results('[[case]]\ntool = "t"\nexpect = "deny"\nrule = "arguments"', refuse) == [
        (True, "arguments")
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "case: must be given"),
        ("case = []", "at least 1"),
        ('[[case]]\ntool = "t"\nexpects = "deny"\nexpect = "deny"', "accepted here: tool, arguments, expect"),
        ('[[cases]]\ntool = "t"', "accepted here: case"),
        ('[[case]]\ntool = "t"\nexpect = "maybe"', "case.0.expect"),
    ],
)
def test_a_file_of_cases_that_tests_nothing_or_something_else_is_refused(text: str, part: str) -> None:
    with pytest.raises(BadPolicy) as refused:
        parse_cases(text, "cases.toml")
    assert any(part in line for line in refused.value.problems), refused.value.problems
