"""The default rules: pure functions, action → verdict. Strictest wins, order never matters."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from interlock.policies.argumentrules import broken
from interlock.policies.contracts import Contract
from interlock.policies.identity import identity, rule_name
from interlock.policies.text import bounded, visible
from interlock.policies.verdicts import Allow, Deny, NeedsApproval, Verdict, strictest

__all__ = ["Action", "Policy", "Rule", "by_effect", "call", "judge", "rule_name"]


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


def by_effect(action: Action) -> Verdict:
    """read → allow; write → allow with an idempotency key; high_risk → a person; anything else → deny."""
    match action.contract.effect:
        case "read":
            return Allow(rule="read", reason="reads change nothing")
        case "write":
            return Allow(rule="write", reason="a limited write inside its scope, under an idempotency key")
        case "high_risk":
            why = (
                "has no contract, so it counts as high-risk"
                if action.contract == Contract()
                else "is high-risk"
            )
            return NeedsApproval(rule="high_risk", reason=f"{action.tool} {why}: a person decides")
        case _:
            return Deny(
                rule="unknown_effect_class", reason=f"{action.tool} has no effect class that is known"
            )


def by_scope(action: Action) -> Verdict | None:
    """Every argument rule of the contract must hold."""
    problems = broken(action.arguments, action.contract.scope)
    return Deny(rule="scope", reason="; ".join(problems.values())) if problems else None


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
        rules = sorted(identity(rule) for rule in self.rules)
        text = json.dumps([self.name, self.words, rules])
        object.__setattr__(self, "version", hashlib.sha256(text.encode()).hexdigest()[:16])


def call(rule: Rule, action: Action) -> Verdict | None:
    """Ask a rule, without a bound on its time."""
    return rule(action)


def judge(action: Action, policy: Policy, ask: Callable[[Rule, Action], Verdict | None] = call) -> Verdict:
    """The strictest verdict of all rules, the same whatever their order.

    A rule that fails or answers something unknown denies with rule `policy_error`.

    Args:
        ask: asks one rule. There is no clock in here: a caller that bounds a rule's time wraps it, and raises
            TimeoutError when the time is over, which denies like any failure.
    """
    given = [_ask(rule, action, ask) for rule in DEFAULT_RULES]
    given += [_ask(rule, _own_copy(action), ask) for rule in policy.rules]
    verdict = strictest(one for one in given if one is not None)
    return verdict or Deny(rule="policy_error", reason="no rule gave a verdict")


def _ask(rule: Rule, action: Action, ask: Callable[[Rule, Action], Verdict | None]) -> Verdict | None:
    try:
        given: Any = ask(rule, action)
    except Exception as error:
        if _is_control_flow(error):
            raise
        return _failed(rule, f"failed: {type(error).__name__}", error)
    if given is None or isinstance(given, Allow | Deny | NeedsApproval):
        return given
    return _failed(rule, f"answered a {type(given).__name__}, which is no verdict", given)


def _failed(rule: Rule, how: str, detail: object) -> Deny:
    try:
        told = bounded(visible(str(detail)), 300)
    except Exception:  # a value that cannot even be shown; pure code, nothing pauses in here
        told = "it cannot be shown"
    return Deny(rule="policy_error", reason=f"the rule {rule_name(rule)} {how}: {told}")


def _is_control_flow(error: Exception) -> bool:
    """LangGraph's pauses and jumps, known by name: rules know nothing of LangGraph."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


def _own_copy(action: Action) -> Action:
    """A rule that changes the arguments changes neither what the others judge nor what runs."""
    return replace(action, arguments=copy.deepcopy(action.arguments))
