"""Starting, resuming, cancelling and inspecting runs.

Safety lives in the nodes and the store; what is here adds friendly refusals and the lease that keeps two
processes from driving one run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, Interrupt, StateSnapshot

from interlock.graphs.loop import Loop, deps_of
from interlock.nodes.answers import answer_of, check_answer
from interlock.nodes.deps import Deps
from interlock.nodes.ports import Ports
from interlock.policies.control import Phase
from interlock.policies.errors import (
    BadLoop,
    LoopBroken,
    LoopChanged,
    NothingToDecide,
    RunBusy,
    RunExists,
    RunFinished,
)
from interlock.policies.outcomes import Outcome
from interlock.policies.questions import Approval, HumanDecision, Question
from interlock.policies.runs import Run, RunRow
from interlock.policies.steps import merge_steps
from interlock.policies.transitions import LEGAL

__all__ = ["Event", "acancel", "aresume", "astart", "cancel", "inspect", "resume", "start"]


@dataclass(frozen=True, slots=True)
class Event:
    """One node has finished, or the run waits for a person."""

    node: str
    """Name of the node; `interrupt` when the run waits."""
    run_id: str
    step: int
    record: Mapping[str, Any]
    """The step's record so far (dumped StepRecord)."""
    control: Mapping[str, Any]
    """The dumped Control."""
    outcome: Mapping[str, Any] | None = None
    """The dumped Outcome, with the last event of a run."""
    pending: tuple[Mapping[str, Any], ...] = ()
    """Open questions, with an `interrupt` event."""


OnEvent = Callable[[Event], None]


def start(
    loop: Loop,
    goal: str,
    *,
    run_id: str | None = None,
    name: str = "",
    spec: Mapping[str, Any] | None = None,
    on_event: OnEvent | None = None,
) -> Run:
    """Work on a goal until the run ends or waits for a person.

    Args:
        run_id: id of the run, new by default.
        name: name of the ready-made loop, for the list of runs.
        spec: JSON data from which a new process can build the same loop.
        on_event: called after each node, as it happens.

    Raises:
        RunExists: the id is taken; a new task needs a new id.
        BadLoop: the goal is empty, or the loop has no checkpointer.
        LoopBroken: the graph stopped without an outcome and without a question.
    """
    deps = deps_of(loop)
    run_id = _create(loop, deps, goal, run_id, name, spec)
    with deps.store.runs.lease(run_id):
        return _drive(loop, run_id, {"goal": goal}, on_event)


async def astart(
    loop: Loop,
    goal: str,
    *,
    run_id: str | None = None,
    name: str = "",
    spec: Mapping[str, Any] | None = None,
    on_event: OnEvent | None = None,
) -> Run:
    """`start` for a running event loop."""
    deps = deps_of(loop)
    run_id = _create(loop, deps, goal, run_id, name, spec)
    with deps.store.runs.lease(run_id):
        return await _adrive(loop, run_id, {"goal": goal}, on_event)


def resume(
    loop: Loop,
    run_id: str,
    decision: HumanDecision | None = None,
    *,
    approval_id: str | None = None,
    on_event: OnEvent | None = None,
) -> Run:
    """Go on with a run: with a person's decision, or after a crash without one.

    A run that waits for a person stays waiting when no decision is given.

    Args:
        decision: the answer to the open question.
        approval_id: the question that the decision is for; needed when several are open.

    Raises:
        UnknownRun, RunFinished, RunBusy: there is nothing to resume, or another process drives the run.
        LoopChanged: the run was started by another loop.
        NothingToDecide: a decision was given but nothing is asked.
        BadDecision: the decision does not fit the question; nothing was recorded.
        AlreadyDecided: another decision was first, or the question has expired.
        LoopBroken: the graph stopped without an outcome and without a question.
    """
    deps = deps_of(loop)
    row = _resumable(loop, deps, run_id)
    with deps.store.runs.lease(run_id):
        snapshot = loop.get_state(_config(run_id))
        if strayed := _strayed(snapshot):
            loop.update_state(_config(run_id), {}, as_node=strayed)
            snapshot = loop.get_state(_config(run_id))
        entry = _entry(snapshot, deps, row, decision, approval_id)
        return entry if isinstance(entry, Run) else _drive(loop, run_id, entry.input, on_event, entry.known)


async def aresume(
    loop: Loop,
    run_id: str,
    decision: HumanDecision | None = None,
    *,
    approval_id: str | None = None,
    on_event: OnEvent | None = None,
) -> Run:
    """`resume` for a running event loop."""
    deps = deps_of(loop)
    row = _resumable(loop, deps, run_id)
    with deps.store.runs.lease(run_id):
        snapshot = await loop.aget_state(_config(run_id))
        if strayed := _strayed(snapshot):
            await loop.aupdate_state(_config(run_id), {}, as_node=strayed)
            snapshot = await loop.aget_state(_config(run_id))
        entry = _entry(snapshot, deps, row, decision, approval_id)
        return (
            entry
            if isinstance(entry, Run)
            else await _adrive(loop, run_id, entry.input, on_event, entry.known)
        )


def cancel(store: Ports, run_id: str, *, by: str = "unknown", loop: Loop | None = None) -> Run:
    """Ask for the end of a run, from any process.

    A process that drives the run stops before its next node or tool. When nobody drives it and `loop` is
    given, the run is driven to its cancelled outcome here.

    Raises:
        UnknownRun: there is no such run.
        RunFinished: the run has an outcome already.
    """
    _request_cancel(store, run_id, by)
    if loop is not None:
        try:
            return resume(loop, run_id)
        except (RunBusy, RunFinished):
            pass
    return inspect(store, run_id)


async def acancel(store: Ports, run_id: str, *, by: str = "unknown", loop: Loop | None = None) -> Run:
    """`cancel` for a running event loop."""
    _request_cancel(store, run_id, by)
    if loop is not None:
        try:
            return await aresume(loop, run_id)
        except (RunBusy, RunFinished):
            pass
    return inspect(store, run_id)


def inspect(store: Ports, run_id: str) -> Run:
    """Where a run stands, from the store alone. Raises UnknownRun."""
    row = store.runs.get(run_id)
    pending = [approval.payload() for approval in store.approvals.pending(run_id)]
    steps = row.outcome.steps if row.outcome else len(store.traces.steps(run_id))
    return Run(run_id=run_id, status=row.status, outcome=row.outcome, pending=pending, steps=steps)


@dataclass(frozen=True, slots=True)
class _Entry:
    """How to go on: the graph's input, and the state that is known already."""

    input: Any
    known: Mapping[str, Any]


def _create(
    loop: Loop, deps: Deps, goal: str, run_id: str | None, name: str, spec: Mapping[str, Any] | None
) -> str:
    if not isinstance(goal, str) or not goal.strip():
        raise BadLoop("a run needs a goal, in words")
    if loop.checkpointer is None:
        raise BadLoop(
            "this loop has no checkpointer: start needs one; inside a parent graph invoke the parent"
        )
    run_id = run_id or deps.ids()
    if loop.checkpointer.get_tuple(_config(run_id)) is not None:
        raise RunExists(f"{run_id} already has checkpoints; a new task needs a new id")
    deps.store.runs.create(run_id, goal, deps.fingerprint, loop=name, spec=dict(spec or {}), at=_now(deps))
    return run_id


def _resumable(loop: Loop, deps: Deps, run_id: str) -> RunRow:
    row = deps.store.runs.get(run_id)
    if row.outcome is not None:
        raise RunFinished(f"run {run_id} ended: {row.outcome.status}, {row.outcome.reason}")
    if row.fingerprint != deps.fingerprint:
        raise LoopChanged(
            f"run {run_id} was started by a loop with other tools, contracts or policy; "
            "resume it with that loop"
        )
    if loop.checkpointer is None:
        raise BadLoop(
            "this loop has no checkpointer: resume needs one; inside a parent graph resume the parent"
        )
    return row


def _entry(
    snapshot: StateSnapshot, deps: Deps, row: RunRow, decision: HumanDecision | None, approval_id: str | None
) -> _Entry | Run:
    """The input that takes the run on, or where it stands when it has to wait."""
    if not snapshot.values.get("control"):  # the process died before the first node had finished
        if decision is not None:
            raise NothingToDecide(f"run {row.run_id} asks nothing; resume it without a decision")
        return _Entry({"goal": row.goal}, {})
    _check_alive(snapshot, deps, row.run_id)
    if decision is not None:
        command = _answer(snapshot, deps, row.run_id, decision, approval_id)
        return _Entry(command, snapshot.values)
    waiting = [one for one in snapshot.interrupts if _still_open(one, deps)]
    if waiting and not deps.store.runs.cancel_requested(row.run_id):
        return inspect(deps.store, row.run_id)
    return _Entry(None, snapshot.values)


def _strayed(snapshot: StateSnapshot) -> Phase | None:
    """The phase to go on from, when new input sent the graph to a node that may not follow it.

    LangGraph drops the open tasks of a thread that is given new input; the run itself still stands where it was.
    """
    control, ended = snapshot.values.get("control"), snapshot.values.get("outcome")
    if not control or ended or not snapshot.next or snapshot.next[0] in LEGAL[control.get("phase")]:
        return None
    return cast(Phase, control["phase"])


def _answer(
    snapshot: StateSnapshot, deps: Deps, run_id: str, decision: HumanDecision, approval_id: str | None
) -> Command[Any]:
    """Record the decision, first come first served, and the command that hands it to the graph."""
    asked = _asked(snapshot.interrupts, run_id, approval_id)
    question = _known(asked, deps).question
    answer = answer_of(decision, question)
    check_answer(answer, question, deps.tools.get(question.tool))
    deps.store.approvals.decide(question.approval_id, decision, _now(deps))
    return Command(resume={asked.id: answer})


def _asked(interrupts: tuple[Interrupt, ...], run_id: str, approval_id: str | None) -> Interrupt:
    if not interrupts:
        raise NothingToDecide(f"run {run_id} asks nothing; resume it without a decision")
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


def _still_open(asked: Interrupt, deps: Deps) -> bool:
    known = deps.store.approvals.get(asked.value["approval_id"])
    if known is None or known.status != "pending":
        return False
    return known.question.expires_at is None or known.question.expires_at > _now(deps)


def _check_alive(snapshot: StateSnapshot, deps: Deps, run_id: str) -> None:
    if not snapshot.tasks and not snapshot.values.get("outcome"):
        raise LoopBroken(
            f"run {run_id} has no next node and no outcome: "
            "an edge failed or led to a node that does not exist"
        )


def _drive(
    loop: Loop, run_id: str, entry: Any, on_event: OnEvent | None, known: Mapping[str, Any] | None = None
) -> Run:
    follower = _Follower(run_id, on_event, known or {})
    with _named_errors(run_id):
        for update in loop.stream(entry, _config(run_id), stream_mode="updates", durability="sync"):
            follower.take(update)
        snapshot = loop.get_state(_config(run_id))
    return _where(snapshot, deps_of(loop), run_id)


async def _adrive(
    loop: Loop, run_id: str, entry: Any, on_event: OnEvent | None, known: Mapping[str, Any] | None = None
) -> Run:
    follower = _Follower(run_id, on_event, known or {})
    with _named_errors(run_id):
        stream: AsyncIterator[Any] = loop.astream(
            entry, _config(run_id), stream_mode="updates", durability="sync"
        )
        async with aclosing(stream) as updates:  # type: ignore[type-var]
            async for update in updates:
                follower.take(update)
        snapshot = await loop.aget_state(_config(run_id))
    return _where(snapshot, deps_of(loop), run_id)


def _where(snapshot: StateSnapshot, deps: Deps, run_id: str) -> Run:
    """The run after the graph has stopped: ended, or waiting. Raises LoopBroken for anything else."""
    steps = int((snapshot.values.get("control") or {}).get("step", 0))
    if outcome := snapshot.values.get("outcome"):
        ended = Outcome.load(outcome)
        return Run(run_id=run_id, status=ended.status, outcome=ended, steps=ended.steps)
    if snapshot.interrupts:
        pending = [dict(one.value) for one in snapshot.interrupts]
        return Run(run_id=run_id, status="waiting", pending=pending, steps=steps)
    stopped = ", ".join(snapshot.next) or "no next node"
    raise LoopBroken(
        f"run {run_id} stopped without an outcome and without a question ({stopped}): "
        "an edge failed or led to a node that does not exist"
    )


@contextmanager
def _named_errors(run_id: str) -> Iterator[None]:
    """LangGraph's own limit must never be what ends a run; if it does, the error says so."""
    try:
        yield
    except GraphRecursionError as error:
        raise LoopBroken(
            f"run {run_id} reached LangGraph's recursion limit before its own limits: {error}"
        ) from error


class _Follower:
    """Turns the graph's updates into events."""

    def __init__(self, run_id: str, on_event: OnEvent | None, known: Mapping[str, Any]) -> None:
        self._run_id = run_id
        self._on_event = on_event
        self._steps: list[dict[str, Any]] = list(known.get("scratchpad") or [])[-1:]
        self._control: Mapping[str, Any] = known.get("control") or {}

    def take(self, update: Mapping[str, Any]) -> None:
        """One item of LangGraph's `updates` stream."""
        if self._on_event is None:
            return
        for node, change in update.items():
            if node == "__interrupt__":
                pending = tuple(dict(one.value) for one in change)
                self._emit("interrupt", pending=pending)
            elif isinstance(change, Mapping):
                self._control = change.get("control", self._control)
                self._steps = merge_steps(self._steps, [change.get("scratchpad") or []])[-1:]
                self._emit(node, outcome=change.get("outcome"))

    def _emit(
        self, node: str, outcome: Mapping[str, Any] | None = None, pending: tuple[Mapping[str, Any], ...] = ()
    ) -> None:
        record = self._steps[-1] if self._steps else {}
        step = int(self._control.get("step", 0))
        if self._on_event is not None:
            self._on_event(Event(node, self._run_id, step, record, self._control, outcome, pending))


def _request_cancel(store: Ports, run_id: str, by: str) -> None:
    row = store.runs.get(run_id)
    if row.outcome is not None:
        raise RunFinished(f"run {run_id} ended: {row.outcome.status}, {row.outcome.reason}")
    store.runs.request_cancel(run_id, by)


def _config(run_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id}}


def _now(deps: Deps) -> str:
    return deps.clock.now().isoformat()
