"""The legal transitions, as data, and the edges as pure functions of the state.

START → think ─┬→ authorize ─┬→ execute → normalize
               ├→ verify     └→ normalize
               └→ normalize
execute → normalize | authorize      normalize → think | verify | authorize      verify → think | END
"""

from __future__ import annotations

from typing import Literal

from interlock.policies.control import Control, Phase
from interlock.policies.steps import StepRecord

__all__ = [
    "LEGAL",
    "IllegalTransition",
    "after_authorize",
    "after_execute",
    "after_normalize",
    "after_think",
    "after_verify",
    "check_transition",
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


def after_think(control: Control, record: StepRecord | None) -> Literal["authorize", "normalize", "verify"]:
    """A stop or a claim goes to verify, an action to authorize, an invalid decision to normalize."""
    if control.stop is not None or record is None:
        return "verify"
    if record.decision is None:
        return "normalize"
    return "authorize" if record.decision.proposal.kind in ACTS else "verify"


def after_authorize(control: Control, record: StepRecord | None) -> Literal["execute", "normalize"]:
    """Only a ticket leads to execute; everything else is an observation."""
    if control.stop is None and record is not None and record.ticket is not None and record.result is None:
        return "execute"
    return "normalize"


def after_execute(control: Control, record: StepRecord | None) -> Literal["normalize", "authorize"]:
    """An effect in doubt goes back to a person."""
    return "authorize" if control.doubt and control.stop is None else "normalize"


def after_normalize(control: Control, record: StepRecord | None) -> Literal["think", "verify", "authorize"]:
    """The next step, the end, or a person who may help a stuck run."""
    if control.stop is not None:
        return "verify"
    return "authorize" if control.stuck else "think"


def after_verify(control: Control, record: StepRecord | None, ended: bool) -> Literal["think", "__end__"]:
    """A rejected claim returns to think; an outcome ends the run."""
    return "__end__" if ended else "think"
