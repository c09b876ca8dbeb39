"""The operations example: a remediation is done when the service's health endpoint says so.

The services are real processes on loopback. What counts is what the endpoint answers when this file asks it,
and how many restarts there were.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from interlock import Budget, HumanDecision, NotFound, Run, Store, open_store, resume, start
from interlock.graphs.operations import GOAL, SCRIPTS, build, make_world, script_for
from interlock.graphs.operations.processes import ask, start_service, stop_service
from interlock.graphs.operations.service import Service
from interlock.graphs.operations.tools import operations_tools
from interlock.graphs.operations.world import World
from interlock.policies.tool_errors import Retryable
from interlock.testing import ScriptedModel, call, cannot_complete

WARM_UP_S = 0.4
LOOK, LOG = call("get_health", service="payments"), call("get_log", service="payments")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "operations.db"
    make_world(path, warm_up_s=WARM_UP_S)
    yield path
    World(path).stop()


@pytest.fixture
def world(path: Path) -> World:
    return World(path)


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


class Desk:
    """Works on one run; each decision reaches a loop that was built anew."""

    def __init__(self, store: Store, path: Path) -> None:
        self._store, self._path = store, path

    def start(self, script: Any = None, within_s: float = 10.0, max_rejected: int = 3) -> Run:
        self._script, self._within_s = script or script_for(GOAL), within_s
        self._budget = Budget(max_steps=20, max_rejected=max_rejected)
        return start(self._loop(), GOAL, run_id="r")

    def decide(self, decision: HumanDecision) -> Run:
        return resume(self._loop(), "r", decision)

    def _loop(self) -> Any:
        return build(
            ScriptedModel(self._script),
            self._store,
            world=self._path,
            budget=self._budget,
            healthy_within_s=self._within_s,
            poll_every_s=0.1,
        )


@pytest.fixture
def desk(store: Store, path: Path) -> Desk:
    return Desk(store, path)


def health(world: World, service: str = "payments") -> str:
    return str(world.ask(service, "health")["status"])


def address(path: Path, service: str = "payments") -> str:
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT url FROM services WHERE name = ?", (service,)).fetchone()
    return str(found[0])


def told(store: Store, step: int) -> str:
    return str(store.traces.steps("r")[step - 1]["observation"]["summary"])


def test_one_service_is_degraded_at_first_and_the_other_is_healthy(world: World) -> None:
    assert (health(world), health(world, "ledger"), world.restarts()) == ("degraded", "healthy", [])


def test_a_restart_is_another_process_and_health_comes_back_after_a_while(path: Path, world: World) -> None:
    assert health(world) == "degraded"
    before, began = address(path), time.time()
    world.restart("payments", "key")
    assert address(path) != before
    with pytest.raises(Retryable):
        ask(before, "health")
    while health(world) == "starting":
        time.sleep(0.02)
    assert (health(world), time.time() - began >= WARM_UP_S) == ("healthy", True)


def test_a_claim_stands_only_once_the_health_signal_says_so(desk: Desk, store: Store, world: World) -> None:
    run = desk.start()
    assert run.outcome is not None
    assert (run.status, run.steps, health(world), world.restarts()) == (
        "completed",
        4,
        "healthy",
        ["payments"],
    )
    assert [change.tool for change in run.outcome.changes] == ["restart_service"]
    (check,) = run.outcome.checks
    assert (check.name, check.passed) == ("health of payments", True)
    assert run.outcome.usage.active_seconds >= WARM_UP_S - 0.1


def test_a_claim_before_the_service_is_ready_is_rejected_with_what_its_health_says(
    path: Path, desk: Desk, world: World
) -> None:
    make_world(path, warm_up_s=60.0)
    run = desk.start(SCRIPTS["insists"], within_s=0.0, max_rejected=1)
    assert run.outcome is not None
    assert (run.status, run.outcome.reason, run.outcome.answer) == ("failed", "answers_rejected", None)
    assert "starting" in run.outcome.message
    assert world.restarts() == ["payments"]


def test_a_model_that_waits_is_spaced_by_the_poll_contract_until_the_service_is_healthy(
    path: Path, desk: Desk, store: Store, world: World
) -> None:
    make_world(path, warm_up_s=1.0)
    run = desk.start(SCRIPTS["patient"])
    assert (run.status, health(world), world.restarts()) == ("completed", "healthy", ["payments"])
    polled = [(step.get("result") or {}).get("polled") for step in store.traces.steps("r")]
    times = [datetime.fromisoformat(one["ended_at"]) for one in polled if one]
    assert len(times) >= 3
    assert all((later - earlier).total_seconds() >= 0.1 for earlier, later in pairwise(times))


def test_a_remediation_that_does_not_help_never_ends_completed(
    path: Path, desk: Desk, store: Store, world: World
) -> None:
    make_world(path, cause="settings", warm_up_s=0.1)
    run = desk.start(within_s=0.5)
    assert run.outcome is not None
    assert (run.status, run.outcome.reason, health(world)) == ("failed", "cannot_complete", "degraded")
    assert "degraded" in told(store, 4)
    assert "3 free connections of a pool of 3, and it needs 12" in run.outcome.message
    assert (world.restarts(), [change.tool for change in run.outcome.changes]) == (
        ["payments"],
        ["restart_service"],
    )


def test_a_model_that_insists_over_a_degraded_service_never_completes(
    path: Path, desk: Desk, world: World
) -> None:
    make_world(path, cause="settings", warm_up_s=0.1)
    run = desk.start(SCRIPTS["insists"], within_s=0.2, max_rejected=2)
    assert run.outcome is not None
    assert (run.outcome.reason, run.outcome.answer, world.restarts()) == (
        "answers_rejected",
        None,
        ["payments"],
    )


def test_a_healthy_service_is_left_alone(desk: Desk, world: World) -> None:
    world.restart("payments", "somebody else")
    time.sleep(WARM_UP_S)
    run = desk.start()
    assert run.outcome is not None
    assert (run.status, run.steps, run.outcome.changes) == ("completed", 2, [])
    assert run.outcome.answer == "payments is healthy; nothing was changed."
    assert world.restarts() == ["payments"]


def test_a_service_that_only_the_log_names_is_not_restarted_without_a_person(
    desk: Desk, world: World
) -> None:
    other = call("restart_service", service="ledger")
    run = desk.start([LOOK, LOG, other, cannot_complete("a person rejected it")])
    assert (run.status, world.restarts()) == ("waiting", [])
    assert "outside content, read by get_log" in str(run.pending[0]["provenance"])
    desk.decide(HumanDecision(type="reject", by="on call"))
    assert (world.restarts(), health(world, "ledger")) == ([], "healthy")


def test_a_second_restart_in_the_same_run_asks_a_person(desk: Desk, world: World) -> None:
    again = call("restart_service", service="payments")
    run = desk.start([LOOK, again, again, cannot_complete("once is enough")])
    assert (run.status, world.restarts()) == ("waiting", ["payments"])


def test_a_second_restart_under_the_same_key_ends_no_process(path: Path, world: World) -> None:
    first = world.restart("payments", "key")
    serving = address(path)
    assert (world.restart("payments", "key"), address(path)) == (first, serving)
    assert world.restarts() == ["payments"]


def test_a_service_whose_process_is_gone_is_started_again_with_the_same_trouble(
    path: Path, world: World
) -> None:
    assert health(world) == "degraded"
    before = address(path)
    stop_service(before)
    assert (health(world), world.restarts()) == ("degraded", [])
    assert address(path) != before


def test_an_address_without_its_secret_is_answered_with_nothing(path: Path, world: World) -> None:
    assert health(world) == "degraded"
    bare = address(path).rpartition("/")[0]
    assert (ask(bare, "health"), ask(bare, "log")) == ({}, {})
    stop_service(bare)
    assert ask(address(path), "health")["status"] == "degraded"


def test_nothing_is_left_running_when_the_world_is_stopped(path: Path, world: World) -> None:
    assert (health(world), health(world, "ledger")) == ("degraded", "healthy")
    urls = [address(path), address(path, "ledger")]
    world.stop()
    for url in urls:
        with pytest.raises(Retryable, match="does not answer"):
            ask(url, "health")


def test_a_service_that_nobody_asks_any_more_ends_by_itself(path: Path) -> None:
    with Service(str(path), "payments") as service:
        service.timeout = 0.05
        service.handle_request()
        assert not service.serving


def test_proxy_settings_do_not_send_the_question_elsewhere(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert health(world) == "degraded"


def test_a_name_with_special_characters_is_a_database_like_any_other(tmp_path: Path) -> None:
    odd = tmp_path / f"a#b?c%20{os.sep}operations.db"
    odd.parent.mkdir()
    make_world(odd)
    url = start_service(odd, "payments")
    assert ask(url, "health")["status"] == "degraded"
    stop_service(url)


def test_tools_refuse_a_service_that_does_not_exist(path: Path, world: World) -> None:
    tools: dict[str, Any] = {tool.__name__: tool for tool in operations_tools(path)}
    for name in ("get_health", "get_log"):
        with pytest.raises(NotFound, match="'search'"):
            tools[name]("search")
    with pytest.raises(NotFound, match="'search'"):
        tools["restart_service"]("search", "key")
    with pytest.raises(NotFound, match="'key'"):
        tools["find_restart"]("key")
    assert world.restarts() == []
