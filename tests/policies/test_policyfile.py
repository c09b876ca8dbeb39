"""Reading a policy file: what is refused and how it is said, what it means, what its version sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlock.policies.contracts import Contract
from interlock.policies.errors import BadPolicy, InterlockError
from interlock.policies.policyfile import parse_policy
from interlock.policies.rules import Action, judge
from interlock.policies.verdicts import NeedsApproval, Verdict

DATA = Path(__file__).parent.parent / "data"
WRITE = Contract(effect="write")


def verdict(text: str, contract: Contract = WRITE, tool: str = "t", **arguments: Any) -> Verdict:
    return judge(Action(tool, arguments, contract), parse_policy(text))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ('[tools.t]\nverdict = "deny"\nverdict = "allow"', ["line 3", "twice", 'verdict = "allow"']),
        ('[default]\nverdict = "deny"\n\n[default]\n', ["line 4", "twice", "[default]"]),
        ('tools.t = {verdict = "deny", verdict = "allow"}\n', ["line 1", "twice"]),
        ("[tools.t]\nverdict = deny\n", ["not TOML", "line 2"]),
        ("x = " + "[" * 5000, ["nested too deep"]),
        ('[tools.t]\nverdikt = "deny"', ["tools.t.verdikt", "unknown key", "verdict, reason, approvers"]),
        ('[tool.t]\nverdict = "deny"', ["tool: unknown key", "accepted here: name, default, tools"]),
        ("[tools.t.arguments.a]\nmax = 1", ["tools.t.arguments.a.max", "minimum, maximum, max_items"]),
        (
            '[default]\nverdict = "deny"\nrules = {}',
            ["default.rules", "verdict, reason, approvers, expires_s"],
        ),
        ('[tools.t.rules.r]\nverdict = "deny"\nif.a = {}', ["tools.t.rules.r.if", "when, unless"]),
        (
            '[tools.t.rules.r]\nverdict = "deny"\nwhen.a = {min = 1}',
            ["tools.t.rules.r.when.a.min", "minimum"],
        ),
        ('[tools."a b"]\nx = 1', ['tools."a b".x: unknown key']),
        ('[tools.t]\nverdict = "maybe"', ["tools.t.verdict", "'allow', 'deny' or 'needs_approval'"]),
        ('[default]\nreason = "x"', ["default: verdict must be given"]),
        ('[tools.t.arguments.a]\npattern = "["', ["tools.t.arguments.a.pattern", "not a regular expression"]),
        ('[tools.t.arguments.a]\nminimum = "5"', ["tools.t.arguments.a.minimum", "number"]),
        ("[tools.t.arguments.a]\nmaximum = true", ["tools.t.arguments.a.maximum", "number"]),
        ("[tools.t.arguments.a]\nmaximum = nan", ["tools.t.arguments.a.maximum", "finite"]),
        ("[tools.t.arguments.a]\nmax_items = 0", ["tools.t.arguments.a.max_items", "1"]),
        ("[tools.t.arguments.a]\nallowed = [1979-05-27]", ["tools.t.arguments.a.allowed", "JSON"]),
        ('[tools.t.rules.r]\nverdict = "deny"', ["tools.t.rules.r", "`when` or `unless`"]),
        ('[tools.t.rules.r]\nverdict = "allow"\nwhen.a = {}', ["tools.t.rules.r", "only be stricter"]),
        ('[tools.t]\nverdict = "allow"\napprovers = ["a"]', ["tools.t", "needs_approval"]),
        ("[tools.t]\nexpires_s = 60", ["tools.t", "needs_approval"]),
        ('[tools.t]\nverdict = "needs_approval"\napprovers = []', ["tools.t.approvers", "at least 1"]),
        ('[tools.t]\nverdict = "needs_approval"\nexpires_s = 0', ["tools.t.expires_s", "greater than 0"]),
        ("", ["says nothing"]),
        ('name = "x"', ["says nothing"]),
    ],
)
def test_a_file_that_is_not_right_is_refused_in_one_line_with_the_place(text: str, parts: list[str]) -> None:
    with pytest.raises(BadPolicy) as refused:
        parse_policy(text, "desk.toml")
    first = refused.value.problems[0]
    assert first.startswith("desk.toml: ")
    assert "\n" not in first
    assert [part for part in parts if part not in first] == []
    assert isinstance(refused.value, InterlockError)


def test_every_problem_of_a_file_is_told_at_once() -> None:
    with pytest.raises(BadPolicy) as refused:
        parse_policy('[tools.a]\nverdict = "no"\n[tools.b]\nreasons = "x"')
    assert len(refused.value.problems) == 2
    assert str(refused.value) == "; ".join(refused.value.problems)


def test_a_refusal_shows_hidden_characters() -> None:
    with pytest.raises(BadPolicy) as refused:
        parse_policy('[tools.t]\n"ver\u202edict" = "deny"')
    assert "\u202e" not in str(refused.value)
    assert "\\u202e" in str(refused.value)


def test_the_default_is_for_tools_without_a_verdict_of_their_own() -> None:
    text = '[default]\nverdict = "deny"\n[tools.a]\nverdict = "allow"\n[tools.b.arguments.x]\nmaximum = 5'
    assert verdict(text, tool="a").kind == "allow"
    assert verdict(text, tool="b", x=1).rule == "default"
    assert verdict(text, tool="c").rule == "default"


def test_tools_are_matched_by_their_whole_name() -> None:
    text = '[tools.delete]\nverdict = "deny"'
    assert verdict(text, tool="delete").kind == "deny"
    assert [verdict(text, tool=one).kind for one in ("Delete", "delete ", "delete_all", "dele")] == [
        "allow"
    ] * 4


def test_an_argument_rule_denies_under_the_name_of_its_header() -> None:
    text = '[tools.t.arguments.amount]\nmaximum = 5\n[tools.t.arguments."to whom"]\nallowed = ["a"]'
    policy = parse_policy(text)

    def judged(**arguments: Any) -> Verdict:
        named = {"to whom" if name == "to" else name: value for name, value in arguments.items()}
        return judge(Action("t", named, WRITE), policy)

    assert judged(amount=5, to="a").kind == "allow"
    assert judged(amount=6, to="a").rule == "tools.t.arguments.amount"
    assert judged(amount=5, to="b").rule == 'tools.t.arguments."to whom"'
    assert judged(to="a").reason == "amount must be given"


WHEN = '[tools.t.rules.r]\nverdict = "deny"\nwhen.amount = { minimum = 100 }\nwhen.to = { pattern = "x.*" }'


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"amount": 100, "to": "xa"}, "deny"),
        ({"amount": 99, "to": "xa"}, "allow"),
        ({"amount": 100, "to": "ax"}, "allow"),
        ({"amount": "100", "to": "xa"}, "deny"),
        ({"amount": 100, "to": ["a", "xb"]}, "deny"),
        ({"amount": 100, "to": []}, "allow"),
        ({"amount": 100, "to": None}, "allow"),
        ({"amount": 100}, "allow"),
    ],
)
def test_a_rule_holds_when_all_of_its_conditions_may_hold(arguments: dict[str, Any], kind: str) -> None:
    assert verdict(WHEN, **arguments).kind == kind


@pytest.mark.parametrize("value", ["prod", ["dev", "prod"], [["prod"]], {"name": "prod"}])
def test_a_listed_value_does_not_hide_inside_a_list_or_an_object(value: Any) -> None:
    rule = '[tools.t.rules.r]\nverdict = "deny"\nwhen.env = { allowed = ["prod"] }'
    assert verdict(rule, env=value).kind == "deny"
    assert verdict(rule, env="dev").kind == "allow"


UNLESS = '[tools.t.rules.r]\nverdict = "deny"\nunless.to = { pattern = ".*@a", max_items = 2 }\nunless.n = {}'


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"to": "x@a", "n": 1}, "allow"),
        ({"to": ["x@a", "y@a"], "n": 1}, "allow"),
        ({"to": ["x@a", "y@b"], "n": 1}, "deny"),
        ({"to": ["x@a", "y@a", "z@a"], "n": 1}, "deny"),
        ({"to": "x@a"}, "deny"),
        ({"n": 1}, "deny"),
        ({}, "deny"),
    ],
)
def test_a_rule_with_unless_spares_only_what_passes_all_of_it(arguments: dict[str, Any], kind: str) -> None:
    assert verdict(UNLESS, **arguments).kind == kind


def test_an_allow_cannot_lift_what_the_contract_demands() -> None:
    judged = verdict('[tools.t]\nverdict = "allow"', Contract(effect="high_risk"))
    assert (judged.kind, judged.rule) == ("needs_approval", "high_risk")


def test_approvers_and_expiry_reach_the_verdict() -> None:
    text = '[tools.t]\nverdict = "needs_approval"\napprovers = ["bo", "ann", "bo"]\nexpires_s = 60'
    judged = verdict(text, Contract(effect="high_risk"))
    assert isinstance(judged, NeedsApproval)
    assert (judged.approvers, judged.expires_s) == (["ann", "bo"], 60.0)


BASE = """
name = "desk"
[tools.t]
verdict = "needs_approval"
approvers = ["ann", "bo"]
[tools.t.arguments.x]
allowed = [1, 2]
[tools.t.rules.r]
verdict = "deny"
when.x = { minimum = 2 }
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["ann", "bo"]', '[ "bo","ann", # who\n "ann"]'),
        ("[1, 2]", "[2, 1.0]"),
        ("minimum = 2", "minimum = 2.0"),
        ("[tools.t.rules.r]", "# a comment\n\n[tools.t.rules.r]"),
    ],
)
def test_the_version_ignores_how_a_file_is_written(old: str, new: str) -> None:
    assert old in BASE
    assert parse_policy(BASE.replace(old, new), "other.toml").version == parse_policy(BASE).version


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('["ann", "bo"]', '["ann"]'),
        ("[1, 2]", "[1, true]"),
        ("minimum = 2", "minimum = 1"),
        ("when.x", "unless.x"),
        ('verdict = "deny"', 'verdict = "needs_approval"'),
        ("[tools.t]", "[tools.t]\nexpires_s = 60"),
        ("[tools.t.rules.r]", "[tools.t.rules.s]"),
        ("tools.t", "tools.u"),
        ('"desk"', '"office"'),
    ],
)
def test_another_meaning_is_another_version(old: str, new: str) -> None:
    assert old in BASE
    assert parse_policy(BASE.replace(old, new)).version != parse_policy(BASE).version


def test_the_words_for_the_model_say_everything_the_file_says() -> None:
    words = parse_policy((DATA / "support_desk.toml").read_text(encoding="utf-8")).words
    assert words.splitlines() == [
        "- find_order: allowed",
        "- refund: needs a person's approval by finance or shift lead within 3600 s "
        "(money leaves the account); "
        "denied unless amount is at least 0.01 and is at most 500; "
        'denied unless currency is one of ["EUR"]; '
        "denied unless order_id matches o-[0-9]{4,10} as a whole; "
        "needs a person's approval by finance (large refunds are finance's) when amount is at least 100",
        "- send_mail: allowed; needs a person's approval (the address is not one of ours) "
        r"unless to matches [a-z.]+@example\.org as a whole and has at most 5 items",
        "- a tool without a verdict above: denied (not reviewed yet)",
    ]
