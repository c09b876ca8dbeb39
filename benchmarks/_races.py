"""Two processes at one run: what they try, and what came of it.

Both open the store, build the loop, wait at a barrier and go. Each leaves a note of how it ended.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from _job import RUN, TARGET, Job, drive, loop_on, settle
from _killing import KILLED, Killer, ended, fork, in_child
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from interlock import HumanDecision, Loop, open_store, resume, start
from interlock.nodes.answers import answer_of
from interlock.policies.errors import AlreadyDecided, NothingToDecide, RunBusy, RunFinished
from interlock.policies.questions import Approval, DecisionType
from interlock.policies.record import JsonValue

__all__ = ["COUNTED", "RACES", "Race", "Raced", "race"]

COUNTED = ("double_effects", "two_winners", "stuck_runs")
OTHER = "b"
"""What an edit acts on instead."""
START_S = 30.0
"""Seconds that a process waits for the other at the barrier."""

REFUSALS = (AlreadyDecided, NothingToDecide, RunBusy, RunFinished)
"""What the process that comes second is told."""

Note = dict[str, Any]
"""How a process ended: `refused` with the name of the refusal, or None, and whether a node ran in it."""


@dataclass(frozen=True, slots=True)
class Race:
    """What two processes try at once."""

    name: str
    types: tuple[DecisionType, ...] = ()
    """Their decisions on one approval; empty: both continue a run that was killed."""
    plain: bool = False
    """True: through LangGraph's own Command, without the lease of `resume`."""
    kind: str = "high risk"
    killed: str = ""
    """Point at which the run was killed."""


RACES = (
    Race("approve, reject", ("approve", "reject")),
    Race("approve, approve", ("approve", "approve")),
    Race("edit, approve", ("edit", "approve")),
    Race("continue before the intent", kind="plain write", killed="before EffectLedger.begin"),
    Race("approve, reject without lease", ("approve", "reject"), plain=True),
    Race("continue after the intent", kind="idempotent write", killed="after EffectLedger.begin"),
    Race("approve, approve without lease", ("approve", "approve"), plain=True),
    Race("continue after the effect", kind="plain write", killed="in the tool, after its effect"),
    Race("edit, approve without lease", ("edit", "approve"), plain=True),
    Race("continue a read", kind="read", killed="before PayloadTable.put"),
)


@dataclass(slots=True)
class Raced:
    """What came of a race."""

    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """One of COUNTED, and what is wrong, in words."""
    notes: list[Note] = field(default_factory=list[Note])


def race(one: Race, folder: Path, late_s: float = 0.0) -> Raced:
    """Run one race, bring the run to its end, and look at what is left.

    Args:
        late_s: seconds that the second process lets the first one go ahead.

    Raises RuntimeError when there is nothing to race for.
    """
    folder.mkdir(parents=True)
    job, raced = Job(folder, one.kind), Raced()
    _prepare(job, one)
    barrier = multiprocessing.get_context("fork").Barrier(2)
    racers = [fork(partial(_racer, job, one, number, barrier, late_s)) for number in (0, 1)]
    try:
        codes = [ended(racer) for racer in racers]
        if codes != [0, 0]:
            raced.faults.append(("stuck_runs", f"processes ended with {codes}"))
        else:
            raced.notes = [json.loads(_note(job, number).read_text()) for number in (0, 1)]
        in_child(partial(settle, job))
    except TimeoutError as error:
        raced.faults.append(("stuck_runs", str(error)))
    _look(job, one, raced)
    return raced


def _prepare(job: Job, one: Race) -> None:
    """A run that waits for a decision, or one that was killed. Raises RuntimeError."""
    work = partial(drive, job, Killer(one.killed)) if one.killed else partial(_ask, job)
    code = in_child(work)
    if code != (KILLED if one.killed else 0):
        raise RuntimeError(f"{one.name}: the run to race for could not be prepared ({code})")


def _ask(job: Job) -> None:
    with open_store(job.store) as store:
        start(loop_on(job, store), "act", run_id=RUN)


def _racer(job: Job, one: Race, number: int, barrier: Any, late_s: float) -> None:
    seen: list[Any] = []
    refused = None
    with open_store(job.store) as store:
        loop = loop_on(job, store)
        decision = _decision(one.types[number], number) if one.types else None
        attempt = partial(resume, loop, RUN, decision, on_event=seen.append)
        if one.plain:
            attempt = _command(loop, store, decision)
        barrier.wait(START_S)
        time.sleep(late_s * number)
        try:
            attempt()
        except REFUSALS as error:
            refused = type(error).__name__
    _note(job, number).write_text(json.dumps({"refused": refused, "drove": bool(seen)}), encoding="utf-8")


def _decision(type_: DecisionType, number: int) -> HumanDecision:
    arguments: dict[str, JsonValue] | None = {"target": OTHER} if type_ == "edit" else None
    return HumanDecision(type=type_, arguments=arguments, by=f"racer {number}")


def _command(loop: Loop, store: Any, decision: HumanDecision | None) -> partial[Any]:
    """The answer as any LangGraph program gives it."""
    config: RunnableConfig = {"configurable": {"thread_id": RUN}}
    (asked,) = loop.get_state(config).interrupts
    question = store.approvals.get(asked.value["approval_id"]).question
    answer = answer_of(decision, question) if decision else {}
    return partial(loop.invoke, Command(resume={asked.id: answer}), config)


def _note(job: Job, number: int) -> Path:
    return job.folder / f"racer{number}.json"


def _look(job: Job, one: Race, raced: Raced) -> None:
    with open_store(job.store) as store:
        asked = [known for known in store.approvals.of_run(RUN) if known.question.kind == "approval"]
    world = job.effects()
    if job.kind != "read" and sum(world.values()) > 1:
        raced.faults.append(("double_effects", f"the world has {dict(world)}"))
    run = job.run()
    decided = asked[0].decision if asked else None
    wanted = "failed" if decided and decided.type == "reject" else "completed"
    if run is None or run.status != wanted:
        came = run.status if run else "the last process failed"
        raced.faults.append(("stuck_runs", f"the outcome is not {wanted}: {came}"))
    if one.types:
        raced.faults += [("two_winners", text) for text in _disagreeing(one, raced.notes, asked, set(world))]
    elif sum(note["drove"] for note in raced.notes) > 1 or set(world) != {TARGET}:
        raced.faults.append(("two_winners", f"{raced.notes}, the world has {dict(world)}"))


def _disagreeing(
    one: Race, notes: Sequence[Note], asked: Sequence[Approval], world: set[str]
) -> Iterator[str]:
    """Where the processes, the store and the world do not agree on one winner."""
    decision = asked[0].decision if len(asked) == 1 else None
    if decision is None or not decision.by.startswith("racer "):
        yield f"the store has no decision of one of the two: {asked}"
        return
    won = [f"racer {number}" for number, note in enumerate(notes) if note["refused"] is None]
    if not one.plain and won != [decision.by]:
        yield f"{won} were not refused, the store holds the decision of {decision.by}"
    wanted = {"approve": {TARGET}, "edit": {OTHER}}.get(decision.type, set[str]())
    if world != wanted:
        yield f"{decision.by} decided {decision.type}, the world has {world}"
