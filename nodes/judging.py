"""From a proposed tool call to a verdict: validated, canonical, judged by every rule in bounded time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

from interlock.nodes.deps import Deps
from interlock.nodes.polling import poll_verdicts
from interlock.nodes.sources import origins_of, outside_was_read
from interlock.nodes.visit import Visit
from interlock.nodes.workers import in_thread
from interlock.policies.asking import idempotency_key
from interlock.policies.canonical import ArgumentsError, action_digest
from interlock.policies.effects import repeated_effect
from interlock.policies.hiding import without
from interlock.policies.outside import by_provenance
from interlock.policies.provenance import Origin
from interlock.policies.questions import Approval
from interlock.policies.rules import Action, Rule, call, judge
from interlock.policies.tickets import Ticket
from interlock.policies.verdicts import Allow, Deny, Verdict, strictest

__all__ = ["Judged", "clear_arguments", "judged", "ticket_for"]

RULE_SECONDS = 1.0
"""Seconds that one rule may take; rules are pure and need microseconds."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A proposed tool call with its verdict."""

    verdict: Verdict
    action: Action | None = None
    """The canonical action; None when there is none to run."""
    digest: str = ""
    origins: dict[str, Origin] = field(default_factory=dict)
    """Where each value of the arguments came from, by path."""


async def judged(
    tool: str, arguments: dict[str, Any], visit: Visit, deps: Deps, *, requested: bool = False
) -> Judged:
    """The verdict on one tool call.

    Args:
        requested: the model itself asked for a person's approval.
    """
    bound = deps.tools.get(tool)
    if bound is None:
        return Judged(Deny(rule="unknown_tool", reason=f"there is no tool {tool!r}"))
    try:
        canonical = bound.validate(arguments)
    except ArgumentsError as error:
        told = without(str(error), bound.secrets_in(arguments))
        return Judged(Deny(rule="arguments", reason=told))
    action = Action(tool, canonical, bound.contract, requested=requested)
    digest = action_digest(tool, canonical, bound.schema_hash, deps.policy.version)
    verdicts = [judge(action, deps.policy, _in_time), *poll_verdicts(bound, digest, visit)]
    origins: dict[str, Origin] = {}
    if bound.mutates:
        outside = outside_was_read(visit, deps)
        if outside or not isinstance(verdicts[0], Allow):
            origins = await origins_of(bound, canonical, visit, deps)
        if suspect := by_provenance(bound.contract, canonical, origins, outside):
            verdicts.append(suspect)
        done = await deps.io(deps.store.ledger.of_action, visit.control.run_id, digest)
        if again := repeated_effect(done, digest, visit.control.step):
            verdicts.append(again)
    verdict = strictest(verdicts) or _nothing()
    told = without(verdict.reason, bound.secrets_in(canonical))
    return Judged(verdict.model_copy(update={"reason": told}), action, digest, origins)


def clear_arguments(saved: dict[str, Any], visit: Visit, deps: Deps) -> dict[str, Any]:
    """The step's arguments with their secrets, where this process knows them; else as they were saved."""
    return deps.vault.of(visit.control.run_id).get(visit.control.step, saved)


def ticket_for(
    action: Action, digest: str, visit: Visit, deps: Deps, approval: Approval | None = None
) -> Ticket:
    """Permission for exactly this action, given by the policy or by a person."""
    decision = approval.decision if approval else None
    return Ticket(
        tool=action.tool,
        arguments=deps.tools[action.tool].redacted(action.arguments),
        digest=digest,
        idempotency_key=idempotency_key(visit.control, digest),
        approver=decision.by if decision else None,
        approval_id=approval.question.approval_id if approval else None,
        expires_at=approval.question.expires_at if approval else None,
    )


def _in_time(rule: Rule, action: Action) -> Verdict | None:
    """Ask one rule, for at most RULE_SECONDS. Raises TimeoutError, which denies."""
    if rule.__module__.startswith("interlock.policies."):
        return call(rule, action)
    given: Verdict | None = in_thread(lambda: _kept_in(rule, action)).result(timeout=RULE_SECONDS)
    return given


def _kept_in(rule: Rule, action: Action) -> Verdict | None:
    """A rule may not end the process, nor cancel what waits for it: an attempt is a failure of the rule."""
    try:
        return call(rule, action)
    except (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError) as error:
        raise RuntimeError(f"it raised {type(error).__name__}: {error}") from error


def _nothing() -> Verdict:
    return Deny(rule="policy_error", reason="no rule gave a verdict")
