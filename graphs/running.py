"""Starting and resuming runs.

Safety lives in the nodes and the store; what is here adds friendly refusals and the lease that keeps two
processes from driving one run.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import GraphRecursionError
from langgraph.types import StateSnapshot

from interlock.graphs.entry import entry_of, strayed, suspicious
from interlock.graphs.events import Event, Follower, OnEvent
from interlock.graphs.inspecting import INSIDE, inspect
from interlock.graphs.loop import SUPER_STEPS_PER_STEP, Loop, deps_of
from interlock.graphs.reopening import REOPENED_BEHIND, reopened
from interlock.nodes.deps import Deps
from interlock.policies.budget import Grant
from interlock.policies.errors import (
    BadDecision,
    BadLoop,
    LoopBroken,
    LoopChanged,
    RunExists,
    RunFinished,
)
from interlock.policies.outcomes import Outcome
from interlock.policies.questions import HumanDecision
from interlock.policies.runs import Run, RunRow

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
"""Ids that start takes. A slash marks a run inside a larger graph."""

__all__ = ["Event", "aresume", "astart", "resume", "start"]


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
    add: Grant | None = None,
    on_event: OnEvent | None = None,
) -> Run:
    """Go on with a run: with a person's decision, with more room, or after a crash without either.

    A run that waits for a person stays waiting when no decision is given.

    Args:
        decision: the answer to the open question.
        approval_id: the question that the decision is for; needed when several are open.
        add: what is added to the bounds of a run that a limit has stopped.

    Raises:
        UnknownRun, RunFinished, RunBusy: there is nothing to resume, or another process drives the run.
        BadGrant: what is added does not lift the limit that stopped the run, or no limit did.
        LoopChanged: the run was started by another loop.
        NothingToDecide: a decision was given but nothing is asked.
        BadDecision: the decision does not fit the question; nothing was recorded.
        AlreadyDecided: another decision was first, or the question has expired.
        LoopBroken: the graph stopped without an outcome and without a question.
    """
    deps = deps_of(loop)
    _resumable(loop, deps, run_id, decision, add)
    with deps.store.runs.lease(run_id):
        row = _resumable(loop, deps, run_id, decision, add)  # another process may have ended it meanwhile
        if add is not None:
            update = reopened(loop.get_state(_config(run_id)), row, decision, add)
            loop.update_state(_config(run_id), update, as_node=REOPENED_BEHIND)
            deps.store.runs.reopen(run_id, _now(deps))
        snapshot = _taken_up(loop, run_id)
        entry = entry_of(snapshot, deps, row, decision, approval_id)
        if entry is None:
            return inspect(deps.store, run_id)
        return _drive(loop, run_id, entry.input, on_event, entry.known)


async def aresume(
    loop: Loop,
    run_id: str,
    decision: HumanDecision | None = None,
    *,
    approval_id: str | None = None,
    add: Grant | None = None,
    on_event: OnEvent | None = None,
) -> Run:
    """`resume` for a running event loop."""
    deps = deps_of(loop)
    _resumable(loop, deps, run_id, decision, add)
    with deps.store.runs.lease(run_id):
        row = _resumable(loop, deps, run_id, decision, add)
        if add is not None:
            update = reopened(await loop.aget_state(_config(run_id)), row, decision, add)
            await loop.aupdate_state(_config(run_id), update, as_node=REOPENED_BEHIND)
            deps.store.runs.reopen(run_id, _now(deps))
        snapshot = await _ataken_up(loop, run_id)
        entry = entry_of(snapshot, deps, row, decision, approval_id)
        if entry is None:
            return inspect(deps.store, run_id)
        return await _adrive(loop, run_id, entry.input, on_event, entry.known)


def _create(
    loop: Loop, deps: Deps, goal: str, run_id: str | None, name: str, spec: Mapping[str, Any] | None
) -> str:
    if not isinstance(goal, str) or not goal.strip():
        raise BadLoop("a run needs a goal, in words")
    if not isinstance(loop.checkpointer, BaseCheckpointSaver):
        raise BadLoop(
            "this loop has no checkpointer: start needs one; inside a parent graph invoke the parent"
        )
    run_id = run_id or deps.ids()
    if not RUN_ID.fullmatch(run_id):
        raise BadLoop(f"{run_id!r} is no run id: letters, digits, '.', '_', ':' and '-', at most 128")
    if loop.checkpointer.get_tuple(_config(run_id)) is not None:
        raise RunExists(f"run {run_id} exists; show it, resume it, or give the new task a new id")
    deps.store.runs.create(run_id, goal, deps.fingerprint, loop=name, spec=dict(spec or {}), at=_now(deps))
    return run_id


def _resumable(
    loop: Loop, deps: Deps, run_id: str, decision: HumanDecision | None, add: Grant | None
) -> RunRow:
    if decision is not None and not isinstance(decision, HumanDecision):
        raise BadDecision(
            f"a decision is a HumanDecision, not {type(decision).__name__}; nothing was recorded"
        )
    if INSIDE in run_id:
        parent = run_id.partition(INSIDE)[0]
        raise BadLoop(f"run {run_id} is inside a larger graph: resume the parent's thread, {parent}")
    row = deps.store.runs.get(run_id)
    if row.outcome is not None and add is None:
        raise RunFinished(f"run {run_id} ended: {row.outcome.status}, {row.outcome.reason}")
    if row.fingerprint != deps.fingerprint:
        raise LoopChanged(
            f"run {run_id} was started by a loop with other tools, contracts or policy, or other "
            "demands on the answer; resume it with that loop"
        )
    if not isinstance(loop.checkpointer, BaseCheckpointSaver):
        raise BadLoop(
            "this loop has no checkpointer: resume needs one; inside a parent graph resume the parent"
        )
    return row


def _taken_up(loop: Loop, run_id: str) -> StateSnapshot:
    """The newest state; a graph that lost its way is first put back behind the phase that finished last."""
    snapshot = loop.get_state(_config(run_id))
    if suspicious(snapshot) and (phase := strayed(loop.get_state(snapshot.config))):
        with _named_errors(run_id):
            loop.update_state(_config(run_id), {}, as_node=phase)
        return loop.get_state(_config(run_id))
    return snapshot


async def _ataken_up(loop: Loop, run_id: str) -> StateSnapshot:
    snapshot = await loop.aget_state(_config(run_id))
    if suspicious(snapshot) and (phase := strayed(await loop.aget_state(snapshot.config))):
        with _named_errors(run_id):
            await loop.aupdate_state(_config(run_id), {}, as_node=phase)
        return await loop.aget_state(_config(run_id))
    return snapshot


def _drive(
    loop: Loop, run_id: str, entry: Any, on_event: OnEvent | None, known: Mapping[str, Any] | None = None
) -> Run:
    follower = Follower(run_id, on_event, known or {})
    with _named_errors(run_id):
        for update in loop.stream(
            entry, _wide(loop, run_id, known), stream_mode="updates", durability="sync"
        ):
            follower.take(update)
        return _where(follower, run_id) or _found(loop.get_state(_config(run_id)), run_id)


async def _adrive(
    loop: Loop, run_id: str, entry: Any, on_event: OnEvent | None, known: Mapping[str, Any] | None = None
) -> Run:
    follower = Follower(run_id, on_event, known or {})
    with _named_errors(run_id):
        stream: AsyncIterator[Any] = loop.astream(
            entry, _wide(loop, run_id, known), stream_mode="updates", durability="sync"
        )
        async with aclosing(stream) as updates:  # type: ignore[type-var]
            async for update in updates:
                follower.take(update)
        return _where(follower, run_id) or _found(await loop.aget_state(_config(run_id)), run_id)


def _where(follower: Follower, run_id: str) -> Run | None:
    """The run after the graph has stopped, from what was streamed; None when that does not say."""
    if follower.outcome is not None:
        ended = Outcome.load(follower.outcome)
        return Run(run_id=run_id, status=ended.status, outcome=ended, steps=ended.steps)
    if follower.pending:
        return Run(
            run_id=run_id,
            status="waiting",
            pending=[dict(one) for one in follower.pending],
            steps=follower.step,
        )
    return None


def _found(snapshot: StateSnapshot, run_id: str) -> Run:
    """The run after the graph has stopped, from its checkpoint. Raises LoopBroken unless it ended."""
    if outcome := snapshot.values.get("outcome"):
        ended = Outcome.load(outcome)
        return Run(run_id=run_id, status=ended.status, outcome=ended, steps=ended.steps)
    stopped = ", ".join(snapshot.next) or "no next node"
    raise LoopBroken(
        f"run {run_id} stopped without an outcome and without a question ({stopped}): "
        "an edge failed or led to a node that does not exist"
    )


@contextmanager
def _named_errors(run_id: str) -> Generator[None]:
    """LangGraph's own limit must never be what ends a run; if it does, the error says so."""
    try:
        yield
    except GraphRecursionError as error:
        raise LoopBroken(
            f"run {run_id} reached LangGraph's recursion limit before its own limits: {error}"
        ) from error


def _config(run_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run_id}}


def _wide(loop: Loop, run_id: str, known: Mapping[str, Any] | None) -> RunnableConfig:
    """The configuration of a run, with LangGraph's limit above what people added to ours."""
    granted = ((known or {}).get("control") or {}).get("granted") or {}
    own = (loop.config or {}).get("recursion_limit", 25)
    return {**_config(run_id), "recursion_limit": own + SUPER_STEPS_PER_STEP * granted.get("steps", 0)}


def _now(deps: Deps) -> str:
    return deps.clock.now().isoformat()
