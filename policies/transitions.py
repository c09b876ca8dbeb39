"""The legal transitions, as data, and the edges as pure functions of the state.

START → think ─┬→ authorize ─┬→ execute → normalize
               ├→ verify     └→ normalize
               └→ normalize
execute → normalize | authorize      normalize → think | verify | authorize      verify → think | END
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from interlock.policies.control import Phase

__all__ = [
    "LEGAL",
    "IllegalTransition",
    "Standing",
    "after_authorize",
    "after_execute",
    "after_normalize",
    "after_think",
    "after_verify",
    "check_transition",
    "standing",
]

LEGAL: dict[Phase | None, frozenset[str]] = {
    None: frozenset({"think"}),
    "think": frozenset({"authorize", "normalize", "verify"}),
    "authorize": frozenset({"execute", "normalize"}),
    "execute": frozenset({"normalize", "authorize"}),
    "normalize": frozenset({"think", "verify", "authorize"}),
    "verify": frozenset({"think"}),
}
"""Phase that finished last → nodes that may be entered next."""

ACTS = frozenset({"tool_call", "ask", "request_approval", "delegate"})
CLAIMS = frozenset({"final_answer", "cannot_complete"})


class IllegalTransition(RuntimeError):
    """A node was entered from a phase that does not lead to it: acting twice without looking, for one."""

    def __init__(self, phase: Phase | None, node: str) -> None:
        legal = ", ".join(sorted(LEGAL.get(phase, frozenset()))) or "nothing"
        super().__init__(f"{node} was entered after {phase or 'START'}; legal after it: {legal}")


def check_transition(phase: Phase | None, node: str) -> None:
    """Raises IllegalTransition unless `node` may be entered after `phase`."""
    if node not in LEGAL.get(phase, frozenset()):
        raise IllegalTransition(phase, node)


@dataclass(frozen=True, slots=True)
class Standing:
    """What the edges need to know of the saved state."""

    stop: bool = False
    """The run has to end."""
    kind: str | None = None
    """Kind of the step's proposal; None when the step has no decision."""
    recorded: bool = False
    """The step has a record."""
    ticket: bool = False
    result: bool = False
    doubt: bool = False
    stuck: bool = False
    ended: bool = False
    """The outcome is written."""


def standing(state: Mapping[str, Any]) -> Standing:
    """The standing of a saved state. The node before the edge wrote the records, validated."""
    control: Mapping[str, Any] = state["control"]
    steps = state.get("scratchpad") or ()
    record: Mapping[str, Any] = steps[-1] if steps else {}
    proposal = (record.get("decision") or {}).get("proposal") or {}
    return Standing(
        stop=control.get("stop") is not None,
        kind=proposal.get("kind"),
        recorded=bool(record),
        ticket=bool(record.get("ticket")),
        result=bool(record.get("result")),
        doubt=bool(control.get("doubt")),
        stuck=bool(control.get("stuck")),
        ended=bool(state.get("outcome")),
    )


def after_think(now: Standing) -> Literal["authorize", "normalize", "verify"]:
    """A stop or a claim goes to verify, an action to authorize, an invalid decision to normalize."""
    if now.stop or not now.recorded:
        return "verify"
    if now.kind is None:
        return "normalize"
    return "authorize" if now.kind in ACTS else "verify"


def after_authorize(now: Standing) -> Literal["execute", "normalize"]:
    """Only a ticket leads to execute; everything else is an observation."""
    return "execute" if now.ticket and not now.result and not now.stop else "normalize"


def after_execute(now: Standing) -> Literal["normalize", "authorize"]:
    """An effect in doubt goes back to a person."""
    return "authorize" if now.doubt and not now.stop else "normalize"


def after_normalize(now: Standing) -> Literal["think", "verify", "authorize"]:
    """The next step, the end, or a person who may help a stuck run."""
    if now.stop:
        return "verify"
    return "authorize" if now.stuck else "think"


def after_verify(now: Standing) -> Literal["think", "__end__"]:
    """A rejected claim returns to think; an outcome ends the run."""
    return "__end__" if now.ended else "think"
