"""SIGKILL at every point of a run, then resume: no effect twice, no effect lost, no approval lost."""

from __future__ import annotations

import signal
import sqlite3
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from _crashes import COUNTED, Crash, Crashed, crashes, named, play, points_of
from _job import INSIDE, KINDS, RUN, WAITING, Job, drive, loop_on, take_up
from _killing import KILLED, Killer, ended, fork, in_child

from interlock import HumanDecision, Loop, Run, Store, open_store, resume, start
from interlock.policies.errors import RunBusy
from interlock.testing import EffectCounter

from .scripts import figures_of

KILLS = 400
"""Enough for every point of every kind of tool."""


@pytest.mark.slow
def test_a_kill_at_any_point_changes_nothing_in_the_world() -> None:
    status, figures = figures_of("crash.py", "--kills", str(KILLS))
    assert figures == {"kills": KILLS, **dict.fromkeys(COUNTED, 0)}
    assert status == 0


def test_so_many_kills_cover_every_point_of_every_kind_of_tool(tmp_path: Path) -> None:
    points = points_of(tmp_path)
    kills, covered = 0, set[tuple[str, int]]()
    for crash in crashes(points, seed=0):
        kills += 2 if crash.again else 1
        if kills > KILLS:
            break
        covered |= set[tuple[str, int]]() if crash.asked else {(crash.kind, crash.at)}
    assert covered >= {(kind, at) for kind in KINDS for at in range(1, len(points[kind, False]) + 1)}
    assert all(set(INSIDE) <= set(points[kind, False]) and WAITING in points[kind, True] for kind in KINDS)


@pytest.mark.parametrize("kind", ["plain write", "high risk"])
@pytest.mark.parametrize(
    ("where", "stops", "said", "effects"),
    [
        (INSIDE[0], False, "run it", {"a": 1}),
        (INSIDE[1], False, "happened", {"a": 1}),
        (INSIDE[0], True, "stop", {}),
        (INSIDE[1], True, "stop", {"a": 1}),
    ],
)
def test_each_answer_to_an_effect_in_doubt_is_kept(
    tmp_path: Path, kind: str, where: str, stops: bool, said: str, effects: dict[str, int]
) -> None:
    crashed = play(crash_at(kind, where, tmp_path, WAITING, stops), tmp_path / "crash")
    assert (crashed.kills, crashed.faults, crashed.answers) == (2, [], [said])
    job = Job(tmp_path / "crash", kind)
    assert job.effects() == effects
    run = job.run()
    assert run is not None
    assert run.outcome is not None
    assert run.status == ("stopped" if stops else "completed")
    assert [change.status for change in run.outcome.changes] == ["unknown" if stops else "done"]


def test_a_killed_run_keeps_its_question(tmp_path: Path) -> None:
    job = Job(tmp_path, "high risk")
    assert in_child(partial(drive, job, Killer(WAITING))) == KILLED
    with open_store(job.store) as store:
        loop = loop_on(job, store)
        assert resume(loop, RUN).status == "waiting"
        assert not job.effects()
        assert resume(loop, RUN, HumanDecision(type="approve")).status == "completed"
    assert job.effects() == {"a": 1}


def test_a_lease_is_taken_over_from_a_dead_process_and_from_no_other(tmp_path: Path) -> None:
    job = Job(tmp_path, "idempotent write")
    driver = fork(partial(hang_in_the_tool, job))
    await_effect(job)
    with open_store(job.store) as store:
        loop = loop_on(job, store)
        with pytest.raises(RunBusy, match=f"process {driver.pid}"):
            resume(loop, RUN)
        driver.kill()
        assert ended(driver) == -signal.SIGKILL
        assert resume(loop, RUN).status == "completed"
    assert job.effects() == {"a": 1}


def hang_in_the_tool(job: Job) -> None:
    class Sleeper(Killer):
        def point(self, name: str) -> None:
            if name == INSIDE[1]:
                time.sleep(60)

    with open_store(job.store) as store:
        start(loop_on(job, store, Sleeper()), "act", run_id=RUN)


def await_effect(job: Job) -> None:
    for _ in range(1000):
        if job.effects():
            return
        time.sleep(0.01)
    raise TimeoutError("the other process never came to its effect")


def test_an_effect_that_happens_twice_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = crash_at("idempotent write", INSIDE[1], tmp_path)
    monkeypatch.setattr(EffectCounter, "count", lambda *_: 0)  # the world does not know the key
    assert faults(play(crash, tmp_path / "crash")) == {"double_effects"}


def test_an_effect_that_only_the_outcome_knows_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = crash_at("plain write", "after the record", tmp_path)
    monkeypatch.setattr(EffectCounter, "hit", lambda *_: None)
    assert faults(play(crash, tmp_path / "crash")) == {"lost_effects"}


def test_an_approval_that_is_forgotten_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = crash_at("high risk", WAITING, tmp_path)

    def forgetful(store: Store, loop: Loop) -> Run:
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("DELETE FROM approvals")
        return take_up(store, loop)

    monkeypatch.setattr("_job.take_up", forgetful)
    assert faults(play(crash, tmp_path / "crash")) == {"lost_approvals"}


def test_a_run_that_nobody_can_take_up_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = crash_at("read", "before the checkpoint", tmp_path)
    monkeypatch.setattr("_job.take_up", lambda *_: Run(run_id=RUN, status="lost"))
    assert faults(play(crash, tmp_path / "crash")) == {"stuck_runs"}


def crash_at(kind: str, where: str, folder: Path, again: str | None = None, stops: bool = False) -> Crash:
    """A crash at a named point; an undisturbed run tells its number."""
    job, killer = Job(folder / "undisturbed", kind), Killer()
    job.folder.mkdir()
    drive(job, killer)
    numbers = {WAITING: killer.points.index(WAITING) + 1} if kind == "high risk" else {}
    return Crash(kind, {**named(killer.points), **numbers}[where], where, again, stops=stops)


def faults(crashed: Crashed) -> set[str]:
    return {name for name, _ in crashed.faults}
