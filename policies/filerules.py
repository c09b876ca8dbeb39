"""A policy file as a rule. It is asked beside the default rules, so it can only make them stricter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from interlock.policies.argumentrules import broken, meets
from interlock.policies.canonical import canonical_json
from interlock.policies.rules import Action, Policy
from interlock.policies.sections import Conditional, PolicyFile, Section, place
from interlock.policies.sectionwords import condition_words, file_words
from interlock.policies.verdicts import Allow, Deny, NeedsApproval, Verdict, strictest

__all__ = ["FileRules", "applies", "base_verdict", "files_of", "policy_of", "verdict_of"]


@dataclass(frozen=True, slots=True)
class FileRules:
    """The rule that a policy file stands for."""

    file: PolicyFile

    @property
    def meaning(self) -> str:
        """What the file says, without its layout; part of the policy's version."""
        return canonical_json(self.file.dump())

    def __call__(self, action: Action) -> Verdict | None:
        """The strictest of all that the file says about the action."""
        section = self.file.tools.get(action.tool)
        base = base_verdict(self.file, action.tool)
        given: list[Verdict] = [] if base is None else [base]
        if section is not None:
            where = ("tools", action.tool)
            for name, problem in broken(action.arguments, section.arguments).items():
                given.append(Deny(rule=place(*where, "arguments", name), reason=problem))
            for name, rule in section.rules.items():
                if applies(rule, action.arguments):
                    given.append(verdict_of(rule, place(*where, "rules", name)))
        return strictest(given)


def policy_of(file: PolicyFile) -> Policy:
    """The policy that a file describes."""
    return Policy(rules=(FileRules(file),), words=file_words(file), name=file.name)


def files_of(policy: Policy) -> list[PolicyFile]:
    """The files among the policy's rules."""
    return [rule.file for rule in policy.rules if isinstance(rule, FileRules)]


def base_verdict(file: PolicyFile, tool: str) -> Verdict | None:
    """What the file says of every call of the tool: its own verdict, else the file's default."""
    section = file.tools.get(tool)
    if section is not None and section.verdict is not None:
        return verdict_of(section, place("tools", tool))
    return None if file.default is None else verdict_of(file.default, "default")


def applies(rule: Conditional, arguments: Mapping[str, Any]) -> bool:
    """Whether a conditional rule has something to say about a call with these arguments."""
    if not all(meets(arguments.get(name), condition) for name, condition in rule.when.items()):
        return False
    return not rule.unless or bool(broken(arguments, rule.unless))


def verdict_of(section: Section, rule: str) -> Verdict:
    """The section's verdict under the rule's name. A section without one denies."""
    reason = section.reason or _plain_reason(section, rule)
    match section.verdict:
        case "allow":
            return Allow(rule=rule, reason=reason)
        case "needs_approval":
            return NeedsApproval(
                rule=rule, reason=reason, approvers=section.approvers, expires_s=section.expires_s
            )
        case _:
            return Deny(rule=rule, reason=reason)


def _plain_reason(section: Section, rule: str) -> str:
    when = f" {condition_words(section)}" if isinstance(section, Conditional) else ""
    says = {"allow": "allows it", "needs_approval": "wants a person's approval"}
    return f"the policy file ({rule}) {says.get(section.verdict or '', 'denies it')}{when}"
