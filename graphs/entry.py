"""Where a run is taken up again: what its last checkpoint and the store say. No node runs in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from langgraph.types import Command, Interrupt, StateSnapshot

from interlock.nodes.answers import answer_of, check_answer
from interlock.nodes.deps import Deps
from interlock.policies.control import Phase
from interlock.policies.errors import LoopBroken, NothingToDecide
from interlock.policies.questions import Approval, HumanDecision, Question
from interlock.policies.runs import RunRow
from interlock.policies.transitions import LEGAL

__all__ = ["Entry", "entry_of", "strayed", "suspicious"]


@dataclass(frozen=True, slots=True)
class Entry:
    """How to go on: the graph's input, and the state that is known already."""

    input: Any
    known: Mapping[str, Any]


def entry_of(
    snapshot: StateSnapshot, deps: Deps, row: RunRow, decision: HumanDecision | None, approval_id: str | None
) -> Entry | None:
    """The input that takes the run on; None while it has to wait for a person.

    Raises:
        NothingToDecide, BadDecision, AlreadyDecided: the decision is refused; nothing was recorded.
        LoopBroken: the graph has no next node and no outcome.
    """
    if not snapshot.values.get("control"):  # the process died before the first node had finished
        if decision is not None:
            raise NothingToDecide(f"run {row.run_id} asks nothing; resume it without a decision")
        return Entry({"goal": row.goal}, {})
    _check_alive(snapshot, deps, row.run_id)
    if decision is not None:
        command = _answer(snapshot, deps, row.run_id, decision, approval_id)
        return Entry(command, snapshot.values)
    waiting = [one for one in snapshot.interrupts if _still_open(one, deps)]
    if waiting and not deps.store.runs.cancel_requested(row.run_id):
        return None
    return Entry(None, snapshot.values)


def suspicious(snapshot: StateSnapshot) -> bool:
    """True when the newest state, open writes included, does not show a run that simply goes on."""
    control, ended = snapshot.values.get("control"), snapshot.values.get("outcome")
    if not control or ended:
        return False
    legal = LEGAL[control.get("phase")]
    return not snapshot.tasks or any(task.error or task.name not in legal for task in snapshot.tasks)


def strayed(committed: StateSnapshot) -> Phase | None:
    """The phase to go on from, when the graph lost its way; None when it did not.

    LangGraph drops the open tasks of a thread that is given new input, and ends without a word when an edge
    raises or leads to a node that does not exist. The run still stands behind the phase that finished last.

    Args:
        committed: the newest checkpoint, without the open writes of its tasks.
    """
    control = committed.values.get("control")
    if not control:
        return None
    legal = LEGAL[control.get("phase")]
    lost = any(task.name not in legal or (task.error and task.result) for task in committed.tasks)
    return cast("Phase", control["phase"]) if lost or not committed.tasks else None


def _answer(
    snapshot: StateSnapshot, deps: Deps, run_id: str, decision: HumanDecision, approval_id: str | None
) -> Command[Any]:
    """Record the decision, first come first served, and the command that hands it to the graph."""
    asked = _asked(snapshot.interrupts, run_id, approval_id)
    question = _known(asked, deps).question
    answer = answer_of(decision, question)
    check_answer(answer, question, deps.tools.get(question.tool))
    deps.store.approvals.decide(question.approval_id, decision, deps.clock.now().isoformat())
    return Command(resume={asked.id: answer})


def _asked(interrupts: tuple[Interrupt, ...], run_id: str, approval_id: str | None) -> Interrupt:
    if not interrupts:
        raise NothingToDecide(f"run {run_id} asks nothing; resume it without a decision")
    interrupts = tuple(one for one in interrupts if _ours(one))
    if not interrupts:
        raise NothingToDecide(
            f"run {run_id} is paused by a tool, not by a question of the loop; tools have to leave "
            'pausing to contracts: effect="high_risk" asks a person'
        )
    fitting = [one for one in interrupts if approval_id in (None, one.value.get("approval_id"))]
    if not fitting:
        asked = ", ".join(str(one.value.get("approval_id")) for one in interrupts)
        raise NothingToDecide(f"run {run_id} does not ask {approval_id}; it asks {asked}")
    if len(fitting) > 1:
        raise NothingToDecide(f"run {run_id} asks several questions; name one by its approval_id")
    return fitting[0]


def _known(asked: Interrupt, deps: Deps) -> Approval:
    known = deps.store.approvals.get(asked.value["approval_id"])
    return known or Approval(question=_question(asked.value))


def _question(payload: Mapping[str, Any]) -> Question:
    return Question.load({key: value for key, value in payload.items() if key in Question.model_fields})


def _ours(asked: Interrupt) -> bool:
    return isinstance(asked.value, Mapping) and "approval_id" in asked.value


def _still_open(asked: Interrupt, deps: Deps) -> bool:
    if not _ours(asked):
        return False
    known = deps.store.approvals.get(asked.value["approval_id"])
    if known is None or known.status != "pending":
        return False
    return known.question.expires_at is None or known.question.expires_at > deps.clock.now().isoformat()


def _check_alive(snapshot: StateSnapshot, deps: Deps, run_id: str) -> None:
    if not snapshot.tasks and not snapshot.values.get("outcome"):
        raise LoopBroken(
            f"run {run_id} has no next node and no outcome: "
            "an edge failed or led to a node that does not exist"
        )
