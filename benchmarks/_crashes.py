"""Which crashes there are, in which order, and what one did to the world, the questions and the run."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from _job import INSIDE, KINDS, RUN, WAITING, Job, drive
from _killing import KILLED, Killer, in_child

from interlock import Run, open_store
from interlock.policies.questions import Approval

__all__ = ["COUNTED", "Crash", "Crashed", "crashes", "named", "play", "points_of"]

COUNTED = ("double_effects", "lost_effects", "lost_approvals", "stuck_runs")
IN_DOUBT = ("plain write", "high risk")
"""Kinds of tools whose effect nobody knows after a crash."""
AGAIN_WITHIN = 30
"""A second kill comes at one of the first points of the resume."""

Points = Mapping[tuple[str, bool], Sequence[str]]
"""The points of an undisturbed run, by kind of tool and whether the model asks for approval."""


@dataclass(frozen=True, slots=True)
class Crash:
    """One run with one kill or two."""

    kind: str
    at: int
    """Number of the point at which the run is killed."""
    where: str
    """The point in words."""
    again: int | str | None = None
    """Point at which the process that takes the run up is killed, if it gets there."""
    asked: bool = False
    stops: bool = False


@dataclass(slots=True)
class Crashed:
    """What came of a crash."""

    kills: int = 0
    faults: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """One of COUNTED, and what is wrong, in words."""
    answers: list[str] = field(default_factory=list[str])
    """How an effect in doubt was answered."""


def points_of(folder: Path) -> Points:
    """Count the points of each kind of job. Raises RuntimeError when an undisturbed run fails."""
    found: dict[tuple[str, bool], Sequence[str]] = {}
    for number, key in enumerate((kind, asked) for asked in (False, True) for kind in KINDS):
        job = Job(folder / f"undisturbed{number}", *key)
        job.folder.mkdir(parents=True)
        if in_child(partial(drive, job, Killer())) != 0:
            raise RuntimeError(f"the undisturbed run failed: {key}")
        found[key] = json.loads((job.folder / "points.json").read_text(encoding="utf-8"))
    return found


def crashes(points: Points, seed: int) -> Iterator[Crash]:
    """Crashes without end: the named points, effects in doubt, every numbered point, then any by chance.

    Those by chance are often followed by a second kill, during the resume.
    """
    for kind in KINDS:
        for where, at in named(points[kind, False]).items():
            yield Crash(kind, at, where)
        yield Crash(kind, 1 + points[kind, True].index(WAITING), WAITING, asked=True)
    for kind in IN_DOUBT:
        places = list(named(points[kind, False]).items())[1:4]
        yield from (Crash(kind, at, where, stops=True) for where, at in places)
        yield from (Crash(kind, at, where, WAITING) for where, at in places)
    for kind in KINDS:
        yield from (Crash(kind, at, where) for at, where in enumerate(points[kind, False], 1))
    chance = random.Random(seed)
    while True:
        yield _any(points, chance)


def named(points: Sequence[str]) -> dict[str, int]:
    """Numbers of the points around the effect, by name. A read has no intent: the call stands for it."""
    tool = points.index(INSIDE[0])
    call = next(at for at in range(tool, -1, -1) if points[at].startswith("before "))
    intent = points.index("before EffectLedger.begin") if "before EffectLedger.begin" in points else call
    recorded = "after EffectLedger.finish" if intent != call else "after PayloadTable.put"
    record = points.index(recorded, tool)
    saving = next(at for at in range(record, len(points)) if points[at].startswith("before saver."))
    places = {
        "before the intent": intent,
        "after the intent": intent + 1 if intent != call else call,
        INSIDE[0]: tool,
        INSIDE[1]: points.index(INSIDE[1]),
        "after the record": record,
        "before the checkpoint": saving,
    }
    return {name: at + 1 for name, at in places.items()}


def _any(points: Points, chance: random.Random) -> Crash:
    kind, asked = chance.choice(sorted(points))
    at = chance.randint(1, len(points[kind, asked]))
    again = chance.choice([None, WAITING, chance.randint(1, AGAIN_WITHIN)])
    return Crash(kind, at, points[kind, asked][at - 1], again, asked, stops=chance.random() < 0.3)


def play(crash: Crash, folder: Path, most: int = 2) -> Crashed:
    """Kill a run as the crash says, but at most so often; take it up, and look at what is left.

    Raises RuntimeError when the run does not come to the point.
    """
    folder.mkdir(parents=True)
    job, crashed = Job(folder, crash.kind, crash.asked, crash.stops), Crashed()
    seen: list[Approval] = []
    try:
        for at in (crash.at, crash.again)[:most]:
            if at is None or in_child(partial(drive, job, Killer(at))) != KILLED:
                break
            crashed.kills += 1
            seen += _approvals(job)
        if job.run() is None:
            in_child(partial(drive, job, Killer()))
    except TimeoutError as error:
        crashed.faults.append(("stuck_runs", str(error)))
        return crashed
    if not crashed.kills:
        raise RuntimeError(f"the run was not killed: {crash}")
    _look(job, seen, crashed)
    return crashed


def _approvals(job: Job) -> list[Approval]:
    with open_store(job.store) as store:
        return store.approvals.of_run(RUN)


def _look(job: Job, seen: Sequence[Approval], crashed: Crashed) -> None:
    kept = {known.question.approval_id: known for known in _approvals(job)}
    words = {"respond": "happened", "approve": "run it", "reject": "stop"}
    for known in kept.values():
        if known.question.kind == "in_doubt" and known.decision is not None:
            crashed.answers.append(words[known.decision.type])
    crashed.faults += [("double_effects", text) for text in _doubled(job)]
    crashed.faults += [("lost_effects", text) for text in _lost(job)]
    crashed.faults += [("lost_approvals", text) for text in _forgotten(job, seen, kept)]
    crashed.faults += [("stuck_runs", text) for text in _stuck(job, "stop" in crashed.answers)]


def _doubled(job: Job) -> list[str]:
    if job.kind == "read":
        return []
    return [f"{target} was acted on {times} times" for target, times in job.effects().items() if times > 1]


def _lost(job: Job) -> list[str]:
    """Where the outcome and the world differ, or a step that is missing in the trace."""
    run = job.run()
    if run is None or run.outcome is None:
        return []
    done, unknown, world = _told(run, "done"), _told(run, "unknown"), set(job.effects())
    problems: list[str] = []
    if job.kind == "read":
        problems += (
            ["what the run answers from was never read"] if run.status == "completed" and not world else []
        )
    elif done - world or world - done - unknown:
        problems.append(f"done: {done}, unknown: {unknown}, in the world: {world}")
    with open_store(job.store) as store:
        records = store.traces.steps(RUN)
    if [record["step"] for record in records] != list(range(1, run.steps + 1)):
        problems.append(f"the trace of {run.steps} steps holds {[record['step'] for record in records]}")
    return problems


def _told(run: Run, status: str) -> set[str]:
    """Targets that the outcome names."""
    changes = run.outcome.changes if run.outcome else []
    return {str(one.arguments["target"]) for one in changes if one.status == status}


def _forgotten(job: Job, seen: Sequence[Approval], kept: Mapping[str, Approval]) -> list[str]:
    """Questions and decisions that were in the store and are gone, and effects that nobody had approved."""
    problems = [f"{name} was asked and is gone" for name in set(job.diary.keys()) - kept.keys()]
    for old in seen:
        new = kept.get(old.question.approval_id)
        if new is None or new.question != old.question:
            problems.append(f"the question {old.question.approval_id} is gone or changed")
        elif old.decision is not None and new.decision != old.decision:
            problems.append(f"the decision on {old.question.approval_id} is gone or changed")
    approvals = [known for known in kept.values() if known.question.kind == "approval"]
    decided = sum(known.decision is not None for known in approvals)
    needed = job.kind == "high risk" or job.asked
    if needed and (len(approvals) > 1 or (job.effects() and not decided)):
        problems.append(f"{len(approvals)} approvals asked, {decided} decided, effects {dict(job.effects())}")
    return problems


def _stuck(job: Job, stopped: bool) -> list[str]:
    run = job.run()
    if run is None or run.outcome is None:
        return [f"no outcome: {run.status if run else 'the last process failed'}"]
    ended = (run.outcome.status, run.outcome.reason.value)
    wanted = ("stopped", "unknown_effect") if stopped else ("completed", "goal_verified")
    return [] if ended == wanted else [f"ended as {ended}, not as {wanted}"]
