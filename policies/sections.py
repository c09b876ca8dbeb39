"""The sections of a policy file as records: closed, frozen, and the same for the same meaning.

What has no order in its meaning is sorted here, so that neither layout nor order of a file shows anywhere.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, model_validator

from interlock.policies.canonical import canonical_json
from interlock.policies.contracts import ArgumentRule
from interlock.policies.record import Record

__all__ = ["Conditional", "Default", "PolicyFile", "Section", "ToolSection", "place"]

T = TypeVar("T")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def _by_name(table: dict[str, T]) -> dict[str, T]:
    return dict(sorted(table.items()))


def _in_order(rules: dict[str, ArgumentRule]) -> dict[str, ArgumentRule]:
    ordered: dict[str, ArgumentRule] = {}
    for name, rule in sorted(rules.items()):
        values = None if rule.allowed is None else sorted({canonical_json(one) for one in rule.allowed})
        allowed = None if values is None else [json.loads(one) for one in values]
        ordered[name] = rule.model_copy(update={"allowed": allowed})
    return ordered


def _distinct(names: list[str]) -> list[str]:
    return sorted(set(names))


ArgumentRules = Annotated[dict[str, ArgumentRule], AfterValidator(_in_order)]
Approvers = Annotated[
    list[Annotated[str, Field(min_length=1)]], Field(min_length=1), AfterValidator(_distinct)
]


class Section(Record):
    """A verdict of the file, with what belongs to it."""

    verdict: Literal["allow", "deny", "needs_approval"] | None = None
    reason: str = ""
    """Why, in words for the model, the approver and the trace."""
    approvers: Approvers = []
    """Who may approve, by exact name; left out: anybody."""
    expires_s: Annotated[float, Field(gt=0)] | None = None
    """Seconds after which the question expires; left out: the loop's own."""

    @model_validator(mode="after")
    def _approval_only(self) -> Self:
        if self.verdict in (None, "allow") and (self.approvers or self.expires_s is not None):
            raise ValueError('approvers and expires_s say something only beside verdict = "needs_approval"')
        return self


class Default(Section):
    """The verdict for every tool that has none of its own in the file."""

    @model_validator(mode="after")
    def _given(self) -> Self:
        if self.verdict is None:
            raise ValueError("verdict must be given")
        return self


class Conditional(Section):
    """A stricter verdict for some calls of a tool: when all of `when` holds, unless all of `unless` holds."""

    when: ArgumentRules = {}
    """Conditions by argument. One item of a list is enough; an absent argument meets none."""
    unless: ArgumentRules = {}
    """Argument rules that would all have to hold, for every item; an absent argument breaks its rule."""

    @model_validator(mode="after")
    def _conditional(self) -> Self:
        if self.verdict in (None, "allow"):
            raise ValueError('verdict must be "needs_approval" or "deny": a rule can only be stricter')
        if not (self.when or self.unless):
            raise ValueError("a rule needs `when` or `unless`; without a condition it is the tool's verdict")
        return self


class ToolSection(Section):
    """What the file says of one tool."""

    arguments: ArgumentRules = {}
    """Rules by argument; a call that breaks one is denied. An argument that has a rule must be present."""
    rules: Annotated[dict[str, Conditional], AfterValidator(_by_name)] = {}
    """Conditional rules by name."""


class PolicyFile(Record):
    """A whole policy file."""

    name: Annotated[str, Field(min_length=1)] = "file"
    """Name of the policy."""
    default: Default | None = None
    tools: Annotated[dict[str, ToolSection], AfterValidator(_by_name)] = {}
    """Sections by the exact name of the tool."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.default is None and not self.tools:
            raise ValueError("the file says nothing: it needs [default] or [tools.NAME]")
        return self


def place(*keys: str) -> str:
    """Where something stands in the file, as its header spells it."""
    return ".".join(key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False) for key in keys)
