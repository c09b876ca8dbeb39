"""The version of a policy: another rule, or the same rule with another setting, is another policy."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from interlock.policies.rules import Policy

TEMPLATES = {
    "a set": "def rule(action): return action.arguments['to'] in {LEFT}",
    "a tuple": "def rule(action): return action.arguments['to'] in ('x', LEFT)",
    "an inner function": "def rule(action): return any(one == LEFT for one in action.arguments['to'])",
    "a named default": "def rule(action, *, only=LEFT): return action.arguments['to'] == only",
    "a method": "def rule(action): return action.arguments['to'].METHOD('x')",
    "a constant of the module": "ALLOWED = [LEFT]\ndef rule(action): return action.tool in ALLOWED",
    "a function of the module": (
        "def inner(name): return name == LEFT\ndef rule(action): return inner(action.tool)"
    ),
}


def written(text: str, left: str, method: str) -> Any:
    module: dict[str, Any] = {"__name__": "rules"}
    exec(text.replace("LEFT", repr(left)).replace("METHOD", method), module)
    return module["rule"]


@dataclasses.dataclass
class Cap:
    limits: dict[str, int]

    def __call__(self, action: Any) -> None:
        return None

    def rule(self, action: Any) -> None:
        return None


def capped(action: Any, limit: Any) -> None:
    return None


def closing_over(allowed: Any) -> Any:
    return lambda action: action.tool in allowed


def version(rule: Any) -> str:
    return Policy(rules=[rule]).version


@pytest.mark.parametrize("text", TEMPLATES.values(), ids=TEMPLATES)
def test_a_rule_whose_text_differs_in_one_place_is_another_policy(text: str) -> None:
    one, other = written(text, "staging", "startswith"), written(text, "prod", "endswith")
    assert version(one) != version(other)
    assert version(one) == version(written(text, "staging", "startswith"))


@pytest.mark.parametrize(
    ("make", "one", "other"),
    [
        (closing_over, {"a"}, {"b"}),
        (closing_over, ["a"], ["b"]),
        (closing_over, re.compile("a+"), re.compile("b+")),
        (closing_over, {"a": [1]}, {"a": [2]}),
        (Cap, {"a": 1}, {"a": 2}),
        (lambda limits: Cap(limits).rule, {"a": 1}, {"a": 2}),
        (lambda limit: functools.partial(capped, limit=limit), 1, 2),
    ],
)
def test_a_rule_with_another_setting_is_another_policy(make: Any, one: Any, other: Any) -> None:
    assert version(make(one)) != version(make(other))
    assert version(make(one)) == version(make(one))


def test_rules_that_call_each_other_have_a_version_as_well() -> None:
    text = "def a(n): return b(n) or c(n)\ndef b(n): return a(n) or c(n)\ndef c(n): return a(n) or b(n)\n"
    rule = written(text + "def rule(action): return a(LEFT)", "x", "")
    assert version(rule) == version(rule)


def test_a_rule_has_the_same_version_in_every_process() -> None:
    code = (
        "from interlock import Policy\n"
        "allowed = {'a', 'b', 'c', 'd'}\n"
        "print(Policy(rules=[(lambda allowed: lambda action: action.tool in allowed)(allowed)]).version)"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
