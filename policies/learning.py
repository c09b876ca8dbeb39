"""What a step teaches: facts from its result, from people's words and from what the model claims."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from interlock.policies.facts import Fact
from interlock.policies.proposals import Ask
from interlock.policies.redaction import redact_text
from interlock.policies.steps import Settled, StepRecord
from interlock.policies.text import bounded, visible

__all__ = ["CLAIMED", "learned"]

CLAIMED = "claimed"
"""Key of what the model says that it knows: its own notes, replaced whenever it writes new ones."""
MAX_CLAIMS = 12
"""Claims that are kept of one decision."""
MAX_CLAIM = 160
"""Longest claim, characters."""
MAX_KEY = 160
"""Longest question that names a person's answer, characters."""
MAX_CALL = 120
"""Most of a call's arguments that stand beside a fact, characters."""


def learned(observed: Sequence[Fact], record: StepRecord, at: str) -> list[Fact]:
    """The facts of a step: those that its result gave, a person's words, the model's claims.

    Args:
        observed: facts from the result; each is given the arguments of its call.
        at: the time, UTC, ISO 8601.
    """
    call = _call(record)
    facts = [fact.model_copy(update={"call": call}) for fact in observed]
    facts += [
        Fact(key=key, value=said, source="user", trust="user", step=record.step, observed_at=at)
        for key, said in _said(record)
    ]
    if claims := _claims(record):
        facts.append(
            Fact(key=CLAIMED, value=list(claims), source="model", trust="inferred", tainted=True,
                 step=record.step, observed_at=at)
        )  # fmt: skip
    return facts


def _call(record: StepRecord) -> str | None:
    arguments = record.ticket.arguments if record.ticket else {}
    if not arguments:
        return None
    return bounded(visible(json.dumps(arguments, sort_keys=True, ensure_ascii=False)), MAX_CALL)


def _said(record: StepRecord) -> Iterator[tuple[str, str]]:
    """What people wrote, each under what it answers. Approvals and results are no words of theirs."""
    for answer in record.answers:
        said = answer.decision.message if answer.decision and answer.decision.type == "respond" else None
        if said and said.strip() and (key := _answered(answer, record)):
            yield key, redact_text(said)


def _answered(answer: Settled, record: StepRecord) -> str:
    proposal = record.decision.proposal if record.decision else None
    match answer.kind:
        case "ask" if isinstance(proposal, Ask):
            return bounded(visible(f"asked: {' '.join(redact_text(proposal.question).split())}"), MAX_KEY)
        case "stuck":
            return "advice"
        case "approval":
            return f"said instead of approving {getattr(proposal, 'tool', 'the action')}"
        case _:
            return ""


def _claims(record: StepRecord) -> list[str]:
    """Nothing tells what the claims rest on, so they count as outside content."""
    known = record.decision.known_facts if record.decision else []
    return [bounded(visible(redact_text(claim)), MAX_CLAIM) for claim in known[:MAX_CLAIMS] if claim.strip()]
