"""A table of expected verdicts, beside the policy that it keeps honest.

>>> cases = parse_cases('''
... [[case]]
... name = "a large refund"
... tool = "refund"
... arguments = { amount = 200, currency = "EUR" }
... expect = "needs_approval"
... rule = "high_risk"
... ''')
>>> from interlock.policies.contracts import Contract
>>> [result.passed for result in run_cases(Policy(), {"refund": Contract()}, cases)]
[True]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from interlock.policies.canonical import ArgumentsError, canonical_json
from interlock.policies.contracts import Contract
from interlock.policies.policyfile import read_record, read_toml
from interlock.policies.record import JsonValue, Record
from interlock.policies.rules import Action, Policy, judge
from interlock.policies.verdicts import Deny, Verdict

__all__ = ["Case", "CaseResult", "parse_cases", "run_cases"]

_MISHAPS = frozenset({"arguments", "unknown_tool", "policy_error"})
"""Rules that deny because the call or the policy is broken, not because of what the policy says."""

Validate = Callable[[str, dict[str, Any]], dict[str, Any]]
"""The canonical arguments of a call, by tool. Raises ArgumentsError."""


class Case(Record):
    """A call and the verdict that it has to get."""

    tool: str
    arguments: dict[str, JsonValue] = {}
    expect: Literal["allow", "deny", "needs_approval"]
    rule: str | None = None
    """Name of the rule that has to give the verdict; None: any but `arguments`, `unknown_tool` and
    `policy_error`, so that a case with a slip does not pass for the wrong reason."""
    requested: bool = False
    """True when the model itself asks for approval."""
    name: str = ""
    """What the case shows."""


class _Cases(Record):
    case: Annotated[list[Case], Field(min_length=1)]


class CaseResult(Record):
    """How one case came out."""

    number: int
    """Place in the file, from 1."""
    case: Case
    passed: bool
    verdict: Verdict


def parse_cases(text: str, source: str = "cases.toml") -> list[Case]:
    """The cases of a TOML file, `[[case]]` for each. A file without any is refused: it would always pass.

    Raises:
        BadPolicy: not TOML, no case, an unknown key, a value that does not fit; one line for each.
    """
    return read_record(_Cases, read_toml(text, source), source, lambda at: Case if at else _Cases).case


def run_cases(
    policy: Policy,
    contracts: Mapping[str, Contract],
    cases: Sequence[Case],
    validate: Validate | None = None,
) -> list[CaseResult]:
    """The verdict of every case beside the expected one. No tool is called.

    Args:
        validate: makes the arguments what the tool would get, defaults included; what it refuses is denied by
            the rule `arguments`, as in a run. None takes them as they stand.
    """
    results: list[CaseResult] = []
    for number, case in enumerate(cases, start=1):
        verdict = _verdict(policy, contracts, case, validate or _as_they_stand)
        results.append(CaseResult(number=number, case=case, passed=_passes(case, verdict), verdict=verdict))
    return results


def _passes(case: Case, verdict: Verdict) -> bool:
    expected = verdict.rule not in _MISHAPS if case.rule is None else verdict.rule == case.rule
    return verdict.kind == case.expect and expected


def _verdict(policy: Policy, contracts: Mapping[str, Contract], case: Case, validate: Validate) -> Verdict:
    contract = contracts.get(case.tool)
    if contract is None:
        return Deny(rule="unknown_tool", reason=f"there is no tool {case.tool!r}")
    try:
        arguments = validate(case.tool, dict(case.arguments))
    except ArgumentsError as error:
        return Deny(rule="arguments", reason=str(error))
    return judge(Action(case.tool, arguments, contract, requested=case.requested), policy)


def _as_they_stand(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return dict(json.loads(canonical_json(arguments)))
