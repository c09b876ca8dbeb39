"""What is wrong with a policy that can be read: names that do not exist, rules that can never decide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from interlock.policies.argumentsets import contradiction, excludes, narrower
from interlock.policies.contracts import ArgumentRule, Contract
from interlock.policies.filerules import base_verdict, files_of, verdict_of
from interlock.policies.rules import Action, Policy, by_effect
from interlock.policies.sections import Conditional, PolicyFile, Section, ToolSection, place
from interlock.policies.verdicts import Deny, NeedsApproval, Verdict, strictest

__all__ = ["problems"]


def problems(
    policy: Policy, contracts: Mapping[str, Contract], schemas: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """One line for each thing in the policy's files that cannot mean what its author wanted.

    Unknown tools and arguments, rules that can never decide, rules that nothing can pass, approvers of
    something that is denied. What is reported holds for every call; not everything is found.

    Args:
        contracts: the contract of every tool there is.
        schemas: JSON schema of the arguments, by tool.
    """
    found: list[str] = []
    for file in files_of(policy):
        if file.default is not None:
            found += _useless_approvers("default", file.default)
        for tool, section in file.tools.items():
            if tool in contracts:
                checked = _Checked(tool, section, contracts[tool], base_verdict(file, tool))
                found += [*_of_section(checked), *_unknown_arguments(checked, schemas.get(tool, {}))]
            else:
                found.append(_unknown_tool(file, tool, contracts))
    return found


@dataclass(frozen=True, slots=True)
class _Checked:
    """One section of a file with what it stands beside."""

    tool: str
    section: ToolSection
    contract: Contract
    base: Verdict | None

    def at(self, *keys: str) -> str:
        return place("tools", self.tool, *keys)

    def rules(self) -> Iterator[tuple[str, Conditional]]:
        for name, rule in self.section.rules.items():
            yield self.at("rules", name), rule

    def argument_rules(self, name: str) -> Iterator[tuple[str, ArgumentRule]]:
        """The rules of contract and file that deny a call for this argument."""
        for where, rules in (
            ("the contract's scope", self.contract.scope),
            (self.at("arguments", name), self.section.arguments),
        ):
            if name in rules:
                yield where, rules[name]


def _unknown_tool(file: PolicyFile, tool: str, contracts: Mapping[str, Contract]) -> str:
    known = ", ".join(sorted(contracts)) or "none"
    return f"{place('tools', tool)}: there is no tool {tool!r}; tools: {known}"


def _unknown_arguments(checked: _Checked, schema: Mapping[str, Any]) -> Iterator[str]:
    known = schema.get("properties", {})
    for where, name, _ in _argument_rules(checked):
        if name not in known:
            yield f"{where}: {checked.tool} has no argument {name!r}; arguments: {', '.join(known) or 'none'}"


def _argument_rules(checked: _Checked) -> Iterator[tuple[str, str, ArgumentRule]]:
    """Place, argument and rule of everything in the section that speaks of an argument."""
    for name, rule in checked.section.arguments.items():
        yield checked.at("arguments", name), name, rule
    for key, conditional in checked.section.rules.items():
        for how, conditions in (("when", conditional.when), ("unless", conditional.unless)):
            for name, rule in conditions.items():
                yield checked.at("rules", key, how, name), name, rule


def _of_section(checked: _Checked) -> Iterator[str]:
    yield from _useless_approvers(checked.at(), checked.section)
    for where, _, rule in _argument_rules(checked):
        if why := contradiction(rule):
            yield f"{where}: {why}"
    for name, rule in checked.section.arguments.items():
        scope = checked.contract.scope.get(name)
        if scope is not None and not contradiction(rule) and excludes(scope, rule):
            yield f"{checked.at('arguments', name)}: whatever passes breaks the contract's scope"
    for where, conditional in checked.rules():
        yield from _useless_approvers(where, conditional)
        if why := _never_decides(where, conditional, checked):
            yield f"{where}: can never decide: {why}"
        elif _leaves_nobody(where, conditional, checked):
            yield f"{where}: nobody is an approver of both this rule and {checked.at()}"


def _useless_approvers(where: str, section: Section) -> Iterator[str]:
    if section.verdict == "deny" and (section.approvers or section.expires_s is not None):
        yield f"{where}: what is denied has no approvers and no expiry"


def _leaves_nobody(where: str, rule: Conditional, checked: _Checked) -> bool:
    mine = verdict_of(rule, where)
    if not isinstance(mine, NeedsApproval) or not isinstance(checked.base, NeedsApproval):
        return False
    return isinstance(strictest([mine, checked.base]), Deny)


def _never_decides(where: str, rule: Conditional, checked: _Checked) -> str | None:
    """Which other part always decides at least as strictly, in words; None when none was found."""
    mine = verdict_of(rule, where)
    effect = by_effect(Action(checked.tool, {}, checked.contract))
    for other in (effect, checked.base):
        if other is not None and _as_strict(other, mine):
            return f"{other.rule} always gives a verdict that is at least as strict"
    if denial := _denied_anyway(rule, checked):
        return f"{denial} denies every call that it is about"
    for there, other_rule in checked.rules():
        other = verdict_of(other_rule, there)
        covered = there != where and _covers(other_rule, rule) and _as_strict(other, mine)
        if covered and not (there > where and _covers(rule, other_rule) and _as_strict(mine, other)):
            return f"{there} covers it and is at least as strict"
    return None


def _denied_anyway(rule: Conditional, checked: _Checked) -> str | None:
    """The argument rule that denies whenever the conditional rule holds."""
    for name, condition in rule.when.items():
        for where, denying in checked.argument_rules(name):
            if excludes(denying, condition):
                return where
    demands = [_demanded(name, condition, checked) for name, condition in rule.unless.items()]
    return " with ".join(sorted(set(filter(None, demands)))) if demands and all(demands) else None


def _demanded(name: str, condition: ArgumentRule, checked: _Checked) -> str | None:
    """The argument rule that lets nothing pass but what the condition in `unless` lets pass."""
    return next((where for where, rule in checked.argument_rules(name) if narrower(rule, condition)), None)


def _covers(other: Conditional, rule: Conditional) -> bool:
    """True when `other` holds for every call for which `rule` holds."""
    weaker_when = _all_narrower(rule.when, other.when)
    return weaker_when and (
        not other.unless or (bool(rule.unless) and _all_narrower(other.unless, rule.unless))
    )


def _all_narrower(inner: Mapping[str, ArgumentRule], outer: Mapping[str, ArgumentRule]) -> bool:
    """True when all of `inner` together say at least as much as all of `outer`."""
    return all(name in inner and narrower(inner[name], rule) for name, rule in outer.items())


def _as_strict(other: Verdict, mine: Verdict) -> bool:
    """True when `mine` adds nothing to `other`."""
    return _weight([other, mine]) == _weight([other])


def _weight(verdicts: Iterable[Verdict]) -> object:
    joined = strictest(verdicts)
    return joined and joined.model_dump(exclude={"rule", "reason"})
