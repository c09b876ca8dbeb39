"""All verifiers of a loop, one after the other, within one bound of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from interlock.nodes.commands import commanded
from interlock.nodes.deps import Deps
from interlock.nodes.looking import Finding, Look
from interlock.nodes.ownchecks import asked
from interlock.nodes.readback import effect_done, read_back
from interlock.nodes.visit import Visit, iso
from interlock.policies.budget import Usage
from interlock.policies.checks import Check
from interlock.policies.claims import changes_of, last_effect
from interlock.policies.effects import EffectRow
from interlock.policies.facts import Fact
from interlock.policies.record import JsonValue
from interlock.policies.verifiers import Claim, CommandCheck, EffectDone, ToolCheck, Verifier

__all__ = ["Looked", "verified"]


@dataclass(frozen=True, slots=True)
class Looked:
    """What the verifiers found, and how many calls of tools that took."""

    checks: list[Check] = field(default_factory=list[Check])
    calls: int = 0

    def failed(self) -> list[Check]:
        """The checks that did not pass."""
        return [check for check in self.checks if not check.passed]

    def used(self, visit: Visit) -> Usage:
        """The run's usage with these calls."""
        usage = visit.control.usage
        return usage.model_copy(update={"tool_calls": usage.tool_calls + self.calls})


async def verified(answer: JsonValue, effects: Sequence[EffectRow], visit: Visit, deps: Deps) -> Looked:
    """What each verifier found, in order.

    All of them look, so that the model learns everything at once; those for which no time is left do not
    pass. The bound is `verify_seconds` of the budget.
    """
    until = deps.clock.monotonic() + deps.budget.verify_seconds
    look = Look(_claim(answer, effects, visit), effects, visit, deps, until)
    checks: list[Check] = []
    calls = 0
    for name, verifier in deps.verifiers.items():
        found = await _look(verifier, look)
        calls += found.calls
        checks.append(
            Check(name=name, passed=found.passed, detail=found.detail, outside=found.outside, at=iso(deps))
        )
    return Looked(checks, calls)


async def _look(verifier: Verifier, look: Look) -> Finding:
    if look.left() <= 0:
        seconds = look.deps.budget.verify_seconds
        return Finding(False, f"it did not look: the {seconds:g} s for verifying were used up")
    match verifier:
        case ToolCheck():
            return await read_back(verifier, look)
        case CommandCheck():
            return await commanded(verifier, look)
        case EffectDone():
            return await effect_done(verifier, look)
        case _:
            return await asked(verifier, look)


def _claim(answer: JsonValue, effects: Sequence[EffectRow], visit: Visit) -> Claim:
    known = visit.state.get("facts") or {}
    last = last_effect(effects)
    return Claim(
        answer=answer,
        facts={key: Fact.load(fact) for key, fact in known.items() if fact["trust"] == "observed"},
        changes=changes_of(effects),
        run_id=visit.control.run_id,
        goal=visit.control.goal,
        steps=visit.control.step,
        last_effect_at=(last.finished_at or last.started_at) if last else None,
    )
