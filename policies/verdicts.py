"""The policy's answer to a proposal: a closed union. Every match on it ends in denial."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from interlock.policies.record import Record

__all__ = ["Allow", "Deny", "NeedsApproval", "Verdict"]


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


Verdict = Annotated[Allow | Deny | NeedsApproval, Field(discriminator="kind")]
