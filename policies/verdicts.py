"""The policy's answer to a proposal: a closed union. Every match on it ends in denial."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from interlock.policies.record import Record

__all__ = ["Allow", "Deny", "NeedsApproval", "Verdict", "strictest"]


class Allow(Record):
    """The action may run as it stands."""

    kind: Literal["allow"] = "allow"
    rule: str
    """Name of the rule that gave this verdict."""
    reason: str


class Deny(Record):
    """The action does not run."""

    kind: Literal["deny"] = "deny"
    rule: str
    """Name of the rule that gave this verdict; `policy_error` when the policy itself failed."""
    reason: str


class NeedsApproval(Record):
    """The action runs only after a person's decision on exactly this action."""

    kind: Literal["needs_approval"] = "needs_approval"
    rule: str
    """Name of the rule that gave this verdict."""
    reason: str
    approvers: list[str] = []
    """Who may approve, by exact name; empty: anybody."""
    expires_s: Annotated[float, Field(gt=0)] | None = None
    """Seconds after which the question expires; None leaves it to the loop."""


Verdict = Annotated[Allow | Deny | NeedsApproval, Field(discriminator="kind")]

_GENERAL = frozenset({"read", "write", "high_risk", "requested"})
"""Rules that only restate the effect or the request: any other rule says more about why."""


def strictest(verdicts: Iterable[Verdict]) -> Verdict | None:
    """All verdicts as one: the strictest kind, with every reason for it. None when there is none.

    The same whatever the order. Of equal verdicts a failure of the policy gives its name first, then a rule
    about the case before one about the effect, then the name with more dots, then the alphabet. Several
    demands for approval become one that meets them all: the approvers that each accepts and the shortest
    expiry. When that leaves nobody, the action is denied by the rule `approvers`.
    """
    given = sorted(verdicts, key=_precedence)
    if denials := [verdict for verdict in given if isinstance(verdict, Deny)]:
        return Deny(rule=denials[0].rule, reason=_reasons(denials))
    if approvals := [verdict for verdict in given if isinstance(verdict, NeedsApproval)]:
        return _one_approval(approvals)
    return Allow(rule=given[0].rule, reason=_reasons(given)) if given else None


def _one_approval(approvals: Sequence[NeedsApproval]) -> NeedsApproval | Deny:
    named = [one for one in approvals if one.approvers]
    common = (
        set[str]().union(*(one.approvers for one in named)).intersection(*(one.approvers for one in named))
    )
    if named and not common:
        demands = "; ".join(dict.fromkeys(f"{one.rule} wants {_names(one.approvers)}" for one in named))
        return Deny(rule="approvers", reason=f"nobody may approve this: {demands}")
    return NeedsApproval(
        rule=approvals[0].rule,
        reason=_reasons(approvals),
        approvers=sorted(common),
        expires_s=min((one.expires_s for one in approvals if one.expires_s is not None), default=None),
    )


def _precedence(verdict: Verdict) -> tuple[bool, bool, int, str, str, list[str]]:
    rule, reason = verdict.rule, verdict.reason
    approvers = sorted(verdict.approvers) if isinstance(verdict, NeedsApproval) else []
    return rule != "policy_error", rule in _GENERAL, -rule.count("."), rule, reason, approvers


def _reasons(verdicts: Sequence[Verdict]) -> str:
    return "; ".join(dict.fromkeys(verdict.reason for verdict in verdicts))


def _names(approvers: Iterable[str]) -> str:
    return " or ".join(sorted(set(approvers)))
