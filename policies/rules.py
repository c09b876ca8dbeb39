"""The default rules: pure functions, action → verdict. Strictest wins, order never matters."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from interlock.policies.contracts import ArgumentRule, Contract
from interlock.policies.verdicts import Allow, Deny, NeedsApproval, Verdict

__all__ = ["Action", "Policy", "Rule", "judge"]


@dataclass(frozen=True, slots=True)
class Action:
    """One proposed tool call, as the rules see it."""

    tool: str
    arguments: dict[str, Any]
    """Validated, canonical arguments."""
    contract: Contract
    requested: bool = False
    """True when the model itself asked for approval."""


Rule = Callable[[Action], Verdict | None]
"""A rule's verdict on an action, or None when it has nothing to say."""

_STRICTNESS = {"allow": 0, "needs_approval": 1, "deny": 2}


def by_effect(action: Action) -> Verdict:
    """read → allow; write → allow with an idempotency key; high_risk → a person; anything else → deny."""
    match action.contract.effect:
        case "read":
            return Allow(rule="read", reason="reads change nothing")
        case "write":
            return Allow(rule="write", reason="a limited write inside its scope, under an idempotency key")
        case "high_risk":
            return NeedsApproval(rule="high_risk", reason=f"{action.tool} is high-risk: a person decides")
        case _:
            return Deny(
                rule="unknown_effect_class", reason=f"{action.tool} has no effect class that is known"
            )


def by_scope(action: Action) -> Verdict | None:
    """Every argument rule of the contract must hold."""
    for name, rule in action.contract.scope.items():
        if name not in action.arguments or action.arguments[name] is None:
            return Deny(rule="scope", reason=f"{name} must be given for {action.tool}")
        if problem := _breaks(action.arguments[name], rule):
            return Deny(rule="scope", reason=f"{name} {problem}")
    return None


def by_request(action: Action) -> Verdict | None:
    """The model may ask for a person where the policy would not."""
    if action.requested:
        return NeedsApproval(rule="requested", reason="the model asked for a person's approval")
    return None


DEFAULT_RULES: tuple[Rule, ...] = (by_effect, by_scope, by_request)


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a loop. Own rules can only make the verdict stricter."""

    rules: Sequence[Rule] = ()
    """Rules on top of the default ones."""
    words: str = ""
    """The policy in words, for the model."""
    name: str = "default"
    version: str = field(init=False, default="")
    """Part of every digest: an approval given under another policy is void."""

    def __post_init__(self) -> None:
        text = json.dumps([self.name, self.words, [_rule_name(rule) for rule in self.rules]])
        object.__setattr__(self, "version", hashlib.sha256(text.encode()).hexdigest()[:16])


def judge(action: Action, policy: Policy) -> Verdict:
    """The strictest verdict of all rules. A rule that fails or answers something unknown denies."""
    verdict: Verdict = Deny(rule="policy_error", reason="no rule gave a verdict")
    strictest = -1
    for rule in (*DEFAULT_RULES, *policy.rules):
        given = _ask(rule, action)
        if given is not None and _STRICTNESS[given.kind] > strictest:
            verdict, strictest = given, _STRICTNESS[given.kind]
    return verdict


def _ask(rule: Rule, action: Action) -> Verdict | None:
    try:
        given: Any = rule(action)
    except Exception as error:  # a policy that fails denies; rules are pure, so no pause can be in here
        return Deny(
            rule="policy_error", reason=f"the rule {_rule_name(rule)} failed: {type(error).__name__}: {error}"
        )
    if given is None or isinstance(given, Allow | Deny | NeedsApproval):
        return given
    return Deny(
        rule="policy_error", reason=f"the rule {_rule_name(rule)} answered {given!r}, which is no verdict"
    )


def _rule_name(rule: Rule) -> str:
    return getattr(rule, "__qualname__", type(rule).__qualname__)


def _breaks(value: Any, rule: ArgumentRule) -> str | None:
    values = value if isinstance(value, list) else [value]
    if rule.max_items is not None and len(values) > rule.max_items:
        return f"has {len(values)} items; at most {rule.max_items} are allowed"
    return next((problem for item in values if (problem := _breaks_one(item, rule))), None)


def _breaks_one(item: Any, rule: ArgumentRule) -> str | None:
    if rule.allowed is not None and not any(type(item) is type(a) and item == a for a in rule.allowed):
        return f"is {item!r}; allowed: {', '.join(repr(a) for a in rule.allowed)}"
    if rule.pattern is not None and not (isinstance(item, str) and re.fullmatch(rule.pattern, item)):
        return f"is {item!r}, which does not match {rule.pattern!r} as a whole"
    if rule.minimum is not None or rule.maximum is not None:
        if isinstance(item, bool) or not isinstance(item, int | float):
            return f"is {item!r}, which is not a number"
        if rule.minimum is not None and item < rule.minimum:
            return f"is {item}; at least {rule.minimum} is required"
        if rule.maximum is not None and item > rule.maximum:
            return f"is {item}; at most {rule.maximum} is allowed"
    return None
