"""Polling in a real run: spaced, capped, over when its condition holds, ended by a cancel from outside."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlock import (
    Action,
    Budget,
    Contract,
    HumanDecision,
    Loop,
    NeedsApproval,
    Policy,
    Poll,
    Store,
    acancel,
    astart,
    create_loop,
    open_store,
    resume,
    start,
)
from interlock.policies.errors import BadLoop
from interlock.testing import FakeClock, ScriptedModel, answer, call
from tests.graphs.clocked import clocked

POLL = Poll(interval_s=30, until="state == 'live'", max_calls=3)


@pytest.fixture
def store(store_path: Path) -> Any:
    with open_store(store_path) as opened:
        yield opened


class Deployment:
    """A deployment that is live from the given look on, and when it was looked at."""

    def __init__(self, clock: FakeClock, live_at: int, takes_s: float = 0.0) -> None:
        self.clock, self.live_at, self.takes_s = clock, live_at, takes_s
        self.began: list[float] = []

    def status(self, name: str) -> dict[str, Any]:
        """How the deployment is doing."""
        self.began.append(self.clock.elapsed_s)
        self.clock.advance(self.takes_s)
        return {"name": name, "state": "live" if len(self.began) >= self.live_at else "building"}


def loop_on(
    store: Store, steps: list[Any], deployment: Deployment, poll: Poll = POLL, **options: Any
) -> Loop:
    contracts = {"status": Contract(effect="read", untrusted=False, poll=poll, **options.pop("known", {}))}
    loop = create_loop(
        ScriptedModel(steps), [deployment.status], store=store, contracts=contracts,
        clock=deployment.clock, **options,
    )  # fmt: skip
    return clocked(loop, deployment.clock)


LOOK = call("status", name="checkout")


def test_polls_are_spaced_from_the_end_of_the_last_call_until_the_condition_holds(store: Store) -> None:
    there = Deployment(FakeClock(), live_at=3, takes_s=7)
    run = start(loop_on(store, [LOOK, LOOK, LOOK, answer("live")], there), "Is it live?")
    assert run.status == "completed"
    assert there.began == [0, 37, 74]
    assert run.outcome is not None
    assert run.outcome.usage.active_seconds == pytest.approx(81)
    held = [step["result"]["polled"]["held"] for step in store.traces.steps(run.run_id)[:3]]
    assert held == [False, False, True]


async def test_the_async_graph_spaces_them_as_well(store: Store) -> None:
    there = Deployment(FakeClock(), live_at=2)
    run = await astart(loop_on(store, [LOOK, LOOK, answer("live")], there), "Is it live?")
    assert run.status == "completed"
    assert there.began == [0, 30]


def test_time_that_passes_between_two_polls_need_not_be_waited_again(store: Store) -> None:
    there = Deployment(FakeClock(), live_at=9)

    def think_for_a_while(_: Any) -> Any:
        there.clock.advance(25)
        return LOOK

    start(loop_on(store, [LOOK, think_for_a_while, answer("no")], there), "Is it live?")
    assert there.began == [0, 30]


def test_other_arguments_are_another_poll(store: Store) -> None:
    there = Deployment(FakeClock(), live_at=9)
    start(loop_on(store, [LOOK, call("status", name="search"), answer("no")], there), "Is it live?")
    assert there.began == [0, 0]


def test_the_cap_denies_without_running_and_further_tries_are_repeats(store: Store) -> None:
    there = Deployment(FakeClock(), live_at=99)
    run = start(loop_on(store, [LOOK] * 9, there), "Is it live?")
    assert run.outcome is not None
    assert len(there.began) == 3
    assert (run.outcome.reason, run.steps) == ("repeated_action", 6)
    denied = store.traces.steps(run.run_id)[3]
    assert denied["verdict"]["rule"] == "poll_cap"
    for part in ("at most 3 times", "did not hold yet", "step 3", '"state":"building"'):
        assert part in denied["observation"]["summary"]


def test_nobody_is_asked_about_a_poll_beyond_its_cap(store: Store) -> None:
    def ask(action: Action) -> NeedsApproval:
        return NeedsApproval(rule="ask", reason="a person decides")

    there = Deployment(FakeClock(), live_at=99)
    once = Poll(interval_s=1, until="x", max_calls=1)
    loop = loop_on(store, [LOOK, LOOK, answer("no")], there, once, policy=Policy(rules=[ask]))
    run = start(loop, "Is it live?")
    ended = resume(loop, run.run_id, HumanDecision(type="approve"))
    assert ended.status == "completed"
    assert len(there.began) == 1


def test_once_the_condition_held_asking_again_is_a_repeat(store: Store) -> None:
    there = Deployment(FakeClock(), live_at=1)
    many = Poll(interval_s=1, until="state == 'live'", max_calls=99)
    run = start(loop_on(store, [LOOK] * 9, there, many), "Is it live?")
    assert run.outcome is not None
    assert (run.outcome.reason, len(there.began)) == ("repeated_action", 3)


def test_a_poll_that_fails_is_not_retried_at_once_but_polled_again(store: Store) -> None:
    class Down(Deployment):
        def status(self, name: str) -> dict[str, Any]:
            """How the deployment is doing."""
            found = super().status(name)
            if len(self.began) == 1:
                raise ConnectionError("starting up")
            return found

    there = Down(FakeClock(), live_at=2)
    run = start(loop_on(store, [LOOK, LOOK, answer("live")], there), "Is it live?")
    assert run.status == "completed"
    assert there.began == [0, 30]


def test_a_wait_that_does_not_fit_the_time_budget_ends_the_run_without_waiting(store: Store) -> None:
    there = Deployment(FakeClock(), live_at=9, takes_s=10)
    run = start(loop_on(store, [LOOK] * 9, there, budget=Budget(max_seconds=60)), "Is it live?")
    assert run.outcome is not None
    assert (run.outcome.reason, there.began) == ("time_limit", [0, 40])
    assert there.clock.elapsed_s == 50
    assert "the next poll is due in 30.0 s" in run.outcome.message


@pytest.mark.parametrize("effect", ["write", "high_risk"])
def test_a_poll_on_a_tool_that_changes_something_is_refused(store: Store, effect: Any) -> None:
    contracts = {"status": Contract(effect=effect, poll=POLL)}
    with pytest.raises(BadLoop, match="the contract of status polls, but its effect is"):
        create_loop(ScriptedModel([]), [Deployment(FakeClock(), 1).status], store=store, contracts=contracts)


def test_a_wait_goes_on_where_another_process_left_it(store_path: Path) -> None:
    """The first process dies in its wait; the one that takes over waits for what is left, and no longer."""
    clock = FakeClock()
    there = Deployment(clock, live_at=2)

    class Died(BaseException):
        pass

    with open_store(store_path) as store:
        loop = loop_on(store, [LOOK, LOOK, answer("live")], there)

        def die(seconds: float) -> None:
            clock.advance(seconds)
            if clock.elapsed_s >= 12:
                raise Died

        for node in loop.nodes.values():
            bound: Any = node.bound
            if hasattr(bound, "_sync"):
                object.__setattr__(bound._sync, "sleep", die)
        with pytest.raises(Died):
            start(loop, "Is it live?", run_id="r1")
    assert there.began == [0]
    with open_store(store_path) as store:
        run = resume(loop_on(store, [LOOK, LOOK, answer("live")], there), "r1")
    assert run.status == "completed"
    assert there.began == [0, 30]


def test_a_cancel_from_another_process_ends_a_sleeping_poll_within_a_second_and_without_cpu(
    store: Store, store_path: Path
) -> None:
    loop = real_loop(store, [LOOK, LOOK])
    canceller = threading.Thread(target=cancel_when, args=(store_path, lambda: asleep(store)))
    canceller.start()
    began = time.process_time()
    run = start(loop, "Is it live?", run_id="r1")
    spent, ended = time.process_time() - began, time.time()
    canceller.join()
    assert run.outcome is not None
    assert run.outcome.reason == "cancelled"
    assert ended - float((store_path.parent / "cancelled").read_text()) < 2
    assert spent < 2
    assert store.traces.steps("r1")[-1]["result"]["attempts"] == 0


async def test_a_cancel_from_another_process_ends_a_sleeping_poll_of_the_async_graph(
    store: Store, store_path: Path
) -> None:
    running = asyncio.create_task(astart(real_loop(store, [LOOK, LOOK]), "Is it live?", run_id="r1"))
    await asyncio.to_thread(cancel_when, store_path, lambda: asleep(store))
    run = await asyncio.wait_for(running, 3)
    assert run.outcome is not None
    assert run.outcome.reason == "cancelled"


async def test_a_task_that_is_cancelled_in_its_wait_leaves_a_run_that_goes_on(store: Store) -> None:
    loop = real_loop(store, [LOOK, LOOK])
    running = asyncio.create_task(astart(loop, "Is it live?", run_id="r1"))
    while not await asyncio.to_thread(asleep, store):
        await asyncio.sleep(0.02)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    ended = await acancel(store, "r1", loop=loop)
    assert ended.status == "cancelled"


def real_loop(store: Store, steps: list[Any]) -> Loop:
    """A loop on the real clock with a poll that is due in a minute."""

    def status(name: str) -> dict[str, str]:
        """How the deployment is doing."""
        return {"state": "building"}

    poll = Poll(interval_s=60, until="state == 'live'", max_calls=9)
    contracts = {"status": Contract(effect="read", poll=poll)}
    return create_loop(ScriptedModel(steps), [status], store=store, contracts=contracts)


def asleep(store: Store) -> bool:
    """True once the first poll is over and the second is about to wait."""
    return len(store.traces.steps("r1")) == 1


def cancel_when(store_path: Path, ready: Callable[[], bool]) -> None:
    """Cancel r1 from a new process, once `ready` says so and the wait has begun; note when that was."""
    while not ready():
        time.sleep(0.02)
    time.sleep(0.3)
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom interlock import cancel, open_store\n"
        "with open_store(sys.argv[1]) as store:\n    cancel(store, 'r1', by='another process')\n"
        "    Path(sys.argv[2]).write_text(str(time.time()))\n"
    )
    noted = store_path.parent / "cancelled"
    subprocess.run([sys.executable, "-c", script, str(store_path), str(noted)], check=True)
