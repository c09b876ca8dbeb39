"""Runs and their leases: what is listed, who drives, who takes over."""

from __future__ import annotations

import os
import signal
from datetime import timedelta
from pathlib import Path

import pytest

from interlock.checkpoints import Store, open_store
from interlock.checkpoints.leases import process_start, this_host
from interlock.policies.errors import RunBusy, RunExists, UnknownRun
from interlock.policies.questions import HumanDecision

from .helpers import AT, LATER, NOON, SetClock, Worker, at_once, outcome, question, workers  # noqa: TID251 (not the folder at the root)


def add(store: Store, run_id: str = "r1", at: str = AT) -> None:
    store.runs.create(run_id, "find the cause", "f", at=at)


def test_an_id_is_given_out_once(store_path: Path) -> None:
    with open_store(store_path) as store:
        add(store)
        with pytest.raises(RunExists, match="r1 already"):
            store.runs.create("r1", "something else", "g", at=LATER)
        store.runs.ensure("r1", "something else", "g", LATER)
        assert store.runs.get("r1").goal == "find the cause"


def test_a_run_that_was_driven_without_start_gets_a_row(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.runs.ensure("r1", "goal", "f", AT)
        run = store.runs.get("r1")
        assert (run.goal, run.fingerprint, run.created_at, run.spec) == ("goal", "f", AT, {})


def test_an_unknown_run_is_refused_by_name(store_path: Path) -> None:
    with open_store(store_path) as store:
        for act in (
            lambda: store.runs.get("r9"),
            lambda: store.runs.request_cancel("r9", "me", AT),
            lambda: store.runs.finish("r9", outcome(), AT),
        ):
            with pytest.raises(UnknownRun, match="r9"):
                act()


def test_runs_are_listed_newest_first_and_bounded(store_path: Path) -> None:
    with open_store(store_path) as store:
        for number in range(5):
            add(store, f"r{number}", (NOON + timedelta(seconds=number)).isoformat())
        assert [run.run_id for run in store.runs.list(limit=3)] == ["r4", "r3", "r2"]


def test_the_status_is_the_outcomes_else_waiting_else_running_else_lost(store_path: Path) -> None:
    with open_store(store_path) as store:
        add(store)
        assert store.runs.get("r1").status == "lost"
        with store.runs.lease("r1"):
            assert store.runs.get("r1").status == "running"
            store.approvals.open(question())
            assert store.runs.list()[0].status == "waiting"
            store.approvals.decide("q1", HumanDecision(type="approve"), AT)
            assert store.runs.get("r1").status == "running"
            store.runs.finish("r1", outcome(), AT)
            assert store.runs.get("r1").status == "completed"


def test_the_first_outcome_stays(store_path: Path) -> None:
    with open_store(store_path) as store:
        add(store)
        store.runs.finish("r1", outcome(), AT)
        store.runs.finish("r1", outcome().model_copy(update={"message": "again"}), LATER)
        run = store.runs.get("r1")
        assert (run.outcome, run.ended_at, run.updated_at) == (outcome(), AT, AT)


def test_a_request_to_cancel_is_seen_by_another_store_on_the_file_and_keeps_its_first_author(
    store_path: Path,
) -> None:
    clock = SetClock()
    with open_store(store_path) as driver, open_store(store_path, clock=clock) as other:
        add(driver)
        assert driver.runs.cancel_requested("r1") is False
        other.runs.request_cancel("r1", "alice")
        other.runs.request_cancel("r1", "bob", LATER)
        assert driver.runs.cancel_requested("r1") is True
        run = driver.runs.get("r1")
        assert (run.cancel_by, run.cancel_requested_at) == ("alice", AT)


def test_a_held_run_is_busy_and_free_again_afterwards(store_path: Path) -> None:
    with open_store(store_path) as store:
        with (
            store.runs.lease("r1"),
            pytest.raises(RunBusy, match=f"process {os.getpid()}"),
            store.runs.lease("r1"),
        ):
            pass
        with store.runs.lease("r1"), store.runs.lease("r2"):
            pass


def test_a_lease_is_given_back_when_the_work_fails(store_path: Path) -> None:
    with open_store(store_path) as store:
        with pytest.raises(ZeroDivisionError), store.runs.lease("r1"):
            raise ZeroDivisionError
        with store.runs.lease("r1"):
            pass


HOLD = """
import sys
from interlock.checkpoints import open_store
from interlock.policies.errors import RunBusy
store = open_store(sys.argv[1])
print("ready", flush=True)
held = []
for line in sys.stdin:
    try:
        held.append(store.runs.lease(line.strip()))
        held[-1].__enter__()
        print("holds", flush=True)
    except RunBusy:
        print("busy", flush=True)
"""


def held(path: Path, process: Worker) -> None:
    assert at_once([process], "r1") == ["holds"]
    with open_store(path) as store, pytest.raises(RunBusy), store.runs.lease("r1"):
        pass


def test_the_lease_of_a_killed_process_is_taken_over_at_once(store_path: Path) -> None:
    with workers(1, HOLD, str(store_path)) as (process,):
        held(store_path, process)
        process.kill()
    with open_store(store_path) as store, store.runs.lease("r1") as lease:
        assert lease.lost is False


@pytest.mark.skipif(process_start(os.getpid()) in ("", None), reason="needs /proc")
def test_a_suspended_process_keeps_its_run_however_late_it_is(store_path: Path) -> None:
    with workers(1, HOLD, str(store_path)) as (process,):
        held(store_path, process)
        os.kill(process.pid, signal.SIGSTOP)
        late = SetClock(NOON + timedelta(days=36_500))
        with open_store(store_path, clock=late) as store, pytest.raises(RunBusy), store.runs.lease("r1"):
            pass


def test_the_number_of_a_dead_process_that_another_one_has_now_is_not_taken_for_it(store_path: Path) -> None:
    with open_store(store_path) as store:
        write_lease(store, this_host(), os.getpid(), pid_started="1", expires_at=LATER)
        with store.runs.lease("r1"):
            pass


def test_the_lease_of_another_host_is_free_only_after_its_expiry(store_path: Path) -> None:
    clock = SetClock()
    with open_store(store_path, clock=clock) as store:
        expires = (NOON + timedelta(seconds=30)).isoformat()
        write_lease(store, "elsewhere", 1, pid_started="1", expires_at=expires)
        with pytest.raises(RunBusy, match="elsewhere"), store.runs.lease("r1"):
            pass
        clock.advance(30)
        with store.runs.lease("r1"):
            pass


def write_lease(store: Store, host: str, pid: int, *, pid_started: str, expires_at: str) -> None:
    with store.runs._database.single() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.execute(
            "INSERT INTO leases (run_id, token, host, pid, pid_started, expires_at)"
            " VALUES ('r1', 't', ?, ?, ?, ?)",
            (host, pid, pid_started, expires_at),
        )


def test_a_held_lease_is_renewed_and_its_loss_is_noticed(store_path: Path) -> None:
    clock = SetClock()
    with open_store(store_path, clock=clock) as store, store.runs.lease("r1", lease_s=0.06) as lease:
        first = expiry(store)
        clock.advance(5)
        wait_for(lambda: expiry(store) > first)
        with store.runs._database.single() as connection:  # pyright: ignore[reportPrivateUsage]
            connection.execute("UPDATE leases SET token = 'of another process'")
        wait_for(lambda: lease.lost)


def expiry(store: Store) -> str:
    with store.runs._database.single() as connection:  # pyright: ignore[reportPrivateUsage]
        found: str = connection.execute("SELECT expires_at FROM leases").fetchone()[0]
    return found


def wait_for(condition: object, seconds: float = 5.0) -> None:
    import time

    assert callable(condition)
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.005)


def test_of_processes_that_want_the_same_run_at_once_exactly_one_holds_it(store_path: Path) -> None:
    with workers(3, HOLD, str(store_path)) as started:
        for number in range(30):
            assert sorted(at_once(started, f"run-{number}")) == ["busy", "busy", "holds"]
