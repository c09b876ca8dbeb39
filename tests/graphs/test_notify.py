"""The support example: what is overdue is judged by the clock, and one engineer is told once, or nobody.

The world is a database file. What counts is which notifications it holds.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock import HumanDecision, InvalidInput, NotFound, Run, Store, open_store, resume, start
from interlock.graphs.notify import GOAL, SCRIPTS, build, make_world, script_for
from interlock.graphs.notify.tools import notify_tools
from interlock.graphs.notify.world import World
from interlock.testing import FakeClock, ScriptedModel, answer, call, cannot_complete

NORMAL = "Check normal-priority tickets; notify the on-call engineer if any are overdue."


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(tmp_path: Path, clock: FakeClock) -> Path:
    path = tmp_path / "notify.db"
    make_world(path, now=clock.now())
    return path


@pytest.fixture
def world(path: Path) -> World:
    return World(path)


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


class Desk:
    """Starts runs on one world, and decides in loops that were built anew."""

    def __init__(self, store: Store, path: Path, clock: FakeClock) -> None:
        self._store, self._path, self._clock = store, path, clock

    def start(self, goal: str = GOAL, script: Any = None, run_id: str = "r") -> Run:
        self._script = script or script_for(goal)
        return start(self._loop(), goal, run_id=run_id)

    def decide(self, decision: HumanDecision) -> Run:
        return resume(self._loop(), "r", decision)

    def _loop(self) -> Any:
        return build(ScriptedModel(self._script), self._store, world=self._path, clock=self._clock)


@pytest.fixture
def desk(store: Store, path: Path, clock: FakeClock) -> Desk:
    return Desk(store, path, clock)


def told(store: Store, step: int) -> str:
    return str(store.traces.steps("r")[step - 1]["observation"]["summary"])


def test_nothing_overdue_ends_in_one_pass_and_nobody_is_notified(desk: Desk, world: World) -> None:
    run = desk.start(NORMAL)
    assert run.outcome is not None
    assert (run.status, run.steps, run.outcome.changes) == ("completed", 2, [])
    assert run.outcome.answer == "No normal-priority ticket is overdue; nobody was notified."
    assert world.notifications() == []


def test_an_overdue_ticket_is_told_once_to_the_engineer_on_call_and_looked_up(
    desk: Desk, world: World
) -> None:
    run = desk.start()
    assert run.outcome is not None
    (sent,) = world.notifications()
    assert (sent["engineer_id"], sent["ticket_ids"]) == ("E-07", ["T-1042"])
    assert (run.status, run.steps) == ("completed", 5)
    (change,) = run.outcome.changes
    assert (change.tool, change.arguments["engineer_id"]) == ("notify", "E-07")
    assert "T-1042 is overdue since 2025-12-31T23:15:00Z" in str(run.outcome.answer)
    assert sent["notification_id"] in str(run.outcome.answer)


@pytest.mark.parametrize(
    ("after", "overdue"),
    [
        (-46, []),
        (-45, []),
        (-44, ["T-1042"]),
        (180, ["T-1042"]),
        (181, ["T-1042", "T-1047"]),
    ],
)
def test_a_ticket_becomes_overdue_when_the_clock_passes_its_due_time(
    desk: Desk, world: World, clock: FakeClock, after: int, overdue: list[str]
) -> None:
    clock.start += timedelta(minutes=after)
    run = desk.start()
    assert run.status == "completed"
    assert [sent["ticket_ids"] for sent in world.notifications()] == ([overdue] if overdue else [])


@pytest.mark.parametrize(
    ("minutes", "engineer"), [(-121, "E-03"), (-120, "E-07"), (359, "E-07"), (360, "E-11")]
)
def test_who_is_on_call_is_judged_by_the_clock_too(
    path: Path, clock: FakeClock, minutes: int, engineer: str
) -> None:
    clock.start += timedelta(minutes=minutes)
    tools: dict[str, Any] = {tool.__name__: tool for tool in notify_tools(path, clock)}
    assert tools["who_is_on_call"]()["engineer_id"] == engineer


def test_where_nobody_is_on_call_nobody_is_notified_and_the_run_fails(
    desk: Desk, world: World, clock: FakeClock
) -> None:
    clock.advance(841 * 60)
    run = desk.start()
    assert run.outcome is not None
    assert (run.outcome.reason, world.notifications()) == ("cannot_complete", [])
    assert "nobody is on call" in run.outcome.message


def test_a_claim_that_somebody_was_told_is_rejected_until_somebody_was(
    desk: Desk, store: Store, world: World
) -> None:
    run = desk.start(script=SCRIPTS["claims"])
    assert "this run sent 0 notifications" in told(store, 2)
    assert (run.status, run.steps, len(world.notifications())) == ("completed", 6, 1)


def test_a_notification_that_an_earlier_run_sent_does_not_count_for_the_next_one(
    desk: Desk, store: Store, world: World
) -> None:
    assert desk.start(run_id="earlier").status == "completed"
    script = [call("overdue_tickets", priority="high"), *[answer("E-07 was notified: N-1.")] * 5]
    run = desk.start(script=script)
    assert run.outcome is not None
    assert (run.status, run.outcome.reason, run.outcome.changes) == ("failed", "answers_rejected", [])
    assert len(world.notifications()) == 1
    assert "this run sent 0 notifications" in told(store, 2)


def test_each_run_sends_its_own_notification_and_reports_only_that(desk: Desk, world: World) -> None:
    first, second = desk.start(run_id="first"), desk.start(run_id="second")
    assert first.outcome is not None
    assert second.outcome is not None
    assert [sent["notification_id"] for sent in world.notifications()] == ["N-1", "N-2"]
    assert "N-1" in str(first.outcome.answer)
    assert "N-2" in str(second.outcome.answer)
    assert first.outcome.changes[0].idempotency_key != second.outcome.changes[0].idempotency_key


def test_a_notification_without_need_makes_the_answer_fall(desk: Desk, world: World) -> None:
    notify = call("notify", engineer_id="E-07", ticket_ids=["T-1050"], message="A look would be nice.")
    script = [
        call("overdue_tickets", priority="normal"), call("who_is_on_call"), notify, *[answer("told")] * 5,
    ]  # fmt: skip
    run = desk.start(NORMAL, script)
    assert (run.status, len(world.notifications())) == ("failed", 1)


def test_a_notification_that_leaves_a_ticket_out_makes_the_answer_fall(
    desk: Desk, store: Store, clock: FakeClock
) -> None:
    clock.advance(181 * 60)
    notify = call("notify", engineer_id="E-07", ticket_ids=["T-1042"], message="It is overdue.")
    script = [
        call("overdue_tickets", priority="high"), call("who_is_on_call"), notify, *[answer("told")] * 5,
    ]  # fmt: skip
    run = desk.start(script=script)
    assert run.status == "failed"
    assert "says nothing of T-1047" in told(store, 4)


def test_a_second_notification_in_one_run_is_never_sent(desk: Desk, world: World) -> None:
    def notify(message: str) -> Any:
        return call("notify", engineer_id="E-07", ticket_ids=["T-1042"], message=message)

    script = [
        call("overdue_tickets", priority="high"), call("who_is_on_call"), notify("one"), notify("two"),
        answer("told"),
    ]  # fmt: skip
    run = desk.start(script=script)
    assert run.outcome is not None
    assert (run.outcome.reason, len(world.notifications())) == ("call_limit", 1)


def test_an_engineer_whom_the_rota_did_not_name_is_told_only_when_a_person_agrees(
    desk: Desk, world: World
) -> None:
    other = call("notify", engineer_id="E-03", ticket_ids=["T-1042"], message="It is overdue.")
    script = [call("overdue_tickets", priority="high"), other, cannot_complete("a person rejected it")]
    run = desk.start(script=script)
    assert (run.status, world.notifications()) == ("waiting", [])
    desk.decide(HumanDecision(type="reject", by="support lead"))
    assert world.notifications() == []


KILLED = """
import os, sys
from pathlib import Path
from interlock import open_store, start
from interlock.graphs.notify import GOAL, build, script_for
from interlock.graphs.notify.world import World
from interlock.testing import ScriptedModel

World.sent_under = lambda self, key: os._exit(9)  # the notification is committed, its result is not
with open_store(sys.argv[1]) as store:
    start(build(ScriptedModel(script_for(GOAL)), store, world=Path(sys.argv[2])), GOAL, run_id="r")
"""


def test_a_process_killed_after_it_notified_is_resumed_without_a_second_notification(
    store_path: Path, path: Path, world: World
) -> None:
    make_world(path)
    words = [sys.executable, "-c", KILLED, str(store_path), str(path)]
    assert subprocess.run(words, timeout=60).returncode == 9
    assert len(world.notifications()) == 1
    with open_store(store_path) as store:
        run = resume(build(ScriptedModel(script_for(GOAL)), store, world=path), "r")
    assert run.outcome is not None
    assert (run.status, len(world.notifications())) == ("completed", 1)
    assert [change.tool for change in run.outcome.changes] == ["notify"]


def test_a_second_call_under_the_same_key_gives_the_first_notification(
    world: World, clock: FakeClock
) -> None:
    first = world.notify("E-07", ["T-1042"], "overdue", clock.now(), "key")
    clock.advance(60)
    assert world.notify("E-07", ["T-1042"], "overdue", clock.now(), "key") == first
    assert world.notifications() == [first]


def test_tools_refuse_what_makes_no_sense(path: Path, world: World, clock: FakeClock) -> None:
    tools: dict[str, Any] = {tool.__name__: tool for tool in notify_tools(path, clock)}
    for tickets, message in (([], "overdue"), (["T-1042"], " "), (["T-1042"], "x" * 501)):
        with pytest.raises(InvalidInput, match="1 to 500 characters"):
            tools["notify"]("E-07", tickets, message, "key")
    with pytest.raises(NotFound, match="E-99"):
        tools["notify"]("E-99", ["T-1042"], "overdue", "key")
    with pytest.raises(NotFound, match="T-9999"):
        tools["notify"]("E-07", ["T-1042", "T-9999"], "overdue", "key")
    with pytest.raises(NotFound, match="N-1"):
        tools["get_notification"]("N-1")
    assert world.notifications() == []


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(minutes=st.integers(-2000, 6000), priority=st.sampled_from(["high", "normal", "low"]))
def test_overdue_means_open_and_due_before_now_whatever_the_time(
    path: Path, clock: FakeClock, minutes: int, priority: str
) -> None:
    due = {"high": {"T-1042": -45, "T-1047": 180}, "normal": {"T-1050": 1500}, "low": {"T-1052": 4300}}
    found = World(path).overdue(priority, clock.now() + timedelta(minutes=minutes))
    late = {name: minutes - at for name, at in due[priority].items() if at < minutes}
    assert {row["id"]: row["minutes_overdue"] for row in found} == late
