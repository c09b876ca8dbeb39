"""What a policy means for each tool, for whoever reviews it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from interlock.policies.argumentrules import rule_words
from interlock.policies.contracts import Contract, Effect
from interlock.policies.filerules import FileRules, base_verdict, files_of
from interlock.policies.record import Record
from interlock.policies.rules import Action, Policy, by_effect, rule_name
from interlock.policies.sections import PolicyFile, place
from interlock.policies.sectionwords import condition_words, verdict_words
from interlock.policies.verdicts import Verdict, strictest

__all__ = ["Explained", "explain"]


class Explained(Record):
    """What one tool would get."""

    tool: str
    effect: Effect
    verdict: Verdict
    """The mildest verdict that a call can get: that of a call that breaks no rule and meets no condition."""
    stricter: dict[str, str] = {}
    """What makes the verdict of a call stricter: name of the rule → when, and what it gives."""
    notes: list[str] = []
    """What a reviewer may not expect: an `allow` without effect, rules in code that are not shown here."""


def explain(policy: Policy, contracts: Mapping[str, Contract]) -> list[Explained]:
    """What each tool would get and why, by name of the tool. Pure: no tool is called."""
    return [_explained(policy, tool, contract) for tool, contract in sorted(contracts.items())]


def _explained(policy: Policy, tool: str, contract: Contract) -> Explained:
    effect = by_effect(Action(tool, {}, contract))
    given = [effect, *(verdict for file in files_of(policy) if (verdict := base_verdict(file, tool)))]
    verdict = strictest(given) or effect
    stricter = {f"scope.{place(name)}": f"denied unless {name} {rule_words(rule)}"
                for name, rule in contract.scope.items()}  # fmt: skip
    for file in files_of(policy):
        stricter.update(_of_file(file, tool))
    notes = [note for one in given for note in _no_effect(one, verdict, contract)]
    notes += [f"the rule {rule_name(rule)} in code is asked too"
              for rule in policy.rules if not isinstance(rule, FileRules)]  # fmt: skip
    return Explained(tool=tool, effect=contract.effect, verdict=verdict, stricter=stricter, notes=notes)


def _of_file(file: PolicyFile, tool: str) -> Iterator[tuple[str, str]]:
    section = file.tools.get(tool)
    if section is None:
        return
    for name, rule in section.arguments.items():
        yield place("tools", tool, "arguments", name), f"denied unless {name} {rule_words(rule)}"
    for name, conditional in section.rules.items():
        words = f"{verdict_words(conditional)} {condition_words(conditional)}"
        yield place("tools", tool, "rules", name), words


def _no_effect(one: Verdict, verdict: Verdict, contract: Contract) -> Iterator[str]:
    if one.kind == "allow" and one.rule not in ("read", "write") and verdict.kind != "allow":
        stricter = f"the contract says {contract.effect}" if verdict.rule == contract.effect else verdict.rule
        yield f"allow in {one.rule} has no effect: {stricter}, which is stricter"
