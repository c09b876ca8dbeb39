"""A graph that breaks is a named error, never a silent end, and the run can go on once it is mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from interlock import (
    Budget,
    HumanDecision,
    Loop,
    Store,
    cancel,
    contract,
    create_loop,
    inspect,
    open_store,
    resume,
    start,
)
from interlock.graphs.routing import EDGES
from interlock.policies.errors import LoopBroken, LoopChanged, RunBusy, RunFinished, UnknownRun
from interlock.testing import FakeClock, ScriptedModel, answer, call, cannot_complete


@contract(effect="read", untrusted=False)
def look(number: int) -> str:
    """Look at a number."""
    return f"saw {number}"


@contract(effect="high_risk")
def restart(service: str) -> str:
    """Restart a service."""
    return f"restarted {service}"


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "runs.db") as opened:
        yield opened


def looking(store: Store, **options: Any) -> Loop:
    model = ScriptedModel([call("look", number=1), call("look", number=2), answer("seen")])
    return create_loop(model, [look], store=store, **options)


def test_an_edge_that_raises_is_an_error_and_never_a_silent_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(now: Any) -> Literal["think"]:
        raise RuntimeError("edge")

    monkeypatch.setitem(EDGES, "normalize", broken)
    with pytest.raises(LoopBroken, match="broken failed: RuntimeError: edge"):
        start(looking(store), "look", run_id="r")
    with pytest.raises(LoopBroken, match="broken failed: RuntimeError: edge"):
        resume(looking(store), "r")
    monkeypatch.undo()
    assert resume(looking(store), "r").status == "completed"


def test_an_edge_to_a_node_that_does_not_exist_is_a_named_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(now: Any) -> Any:
        return "nowhere"

    lost.__annotations__["return"] = Literal["think"]

    monkeypatch.setitem(EDGES, "normalize", lost)
    with pytest.raises(LoopBroken, match="leads to 'nowhere', which does not exist"):
        start(looking(store), "look", run_id="r")
    monkeypatch.undo()
    assert resume(looking(store), "r").status == "completed"


def test_a_run_of_another_loop_is_refused_by_name(store: Store) -> None:
    start(
        create_loop(ScriptedModel([call("restart", service="a")]), [restart], store=store), "go", run_id="r"
    )
    other = create_loop(ScriptedModel([answer("x")]), [restart, look], store=store)
    with pytest.raises(LoopChanged, match="other tools, contracts or policy"):
        resume(other, "r", HumanDecision(type="approve"))
    assert store.approvals.pending("r")


def test_a_run_that_another_process_drives_is_refused_by_name(store: Store) -> None:
    loop = create_loop(ScriptedModel([call("restart", service="a"), answer("x")]), [restart], store=store)
    start(loop, "go", run_id="r")
    with store.runs.lease("r"), pytest.raises(RunBusy):
        resume(loop, "r", HumanDecision(type="approve"))
    assert resume(loop, "r", HumanDecision(type="approve")).status == "completed"


def test_an_unanswered_question_expires_and_the_action_is_not_executed(store: Store) -> None:
    clock = FakeClock()
    model = ScriptedModel([call("restart", service="a"), cannot_complete("nobody approved the restart")])
    loop = create_loop(model, [restart], store=store, clock=clock, approval_ttl_s=60.0)
    assert start(loop, "go", run_id="r").status == "waiting"
    clock.advance(61.0)
    ended = resume(loop, "r")
    assert ended.status == "failed"
    assert ended.outcome is not None
    assert ended.outcome.changes == []
    assert any("not executed" in item.why for item in ended.outcome.unfinished)
    assert "not executed" in str(model.prompts[-1])


def test_a_waiting_run_can_be_cancelled_and_its_question_is_abandoned(store: Store) -> None:
    loop = create_loop(ScriptedModel([call("restart", service="a")]), [restart], store=store)
    question = start(loop, "go", run_id="r").pending[0]["approval_id"]
    ended = cancel(store, "r", by="ops", loop=loop)
    assert (ended.status, ended.outcome and ended.outcome.reason) == ("cancelled", "cancelled")
    known = store.approvals.get(str(question))
    assert known is not None
    assert known.status == "abandoned"
    with pytest.raises(RunFinished):
        resume(loop, "r", HumanDecision(type="approve"))


def test_a_run_that_is_cancelled_while_it_works_stops_before_the_next_tool(store: Store) -> None:
    seen: list[int] = []

    @contract(effect="read")
    def count(number: int) -> int:
        """Count, and ask for the end of the run at 2."""
        seen.append(number)
        if number == 2:
            store.runs.request_cancel("r", "ops")
        return number

    model = ScriptedModel([call("count", number=n) for n in range(1, 9)])
    ended = start(create_loop(model, [count], store=store), "count", run_id="r")
    assert ended.status == "cancelled"
    assert seen == [1, 2]


def test_cancelling_an_unknown_or_finished_run_is_refused(store: Store) -> None:
    loop = looking(store)
    start(loop, "look", run_id="r")
    with pytest.raises(RunFinished):
        cancel(store, "r", loop=loop)
    with pytest.raises(UnknownRun):
        cancel(store, "x", loop=loop)


def test_langgraphs_own_limit_never_fires_first(store: Store) -> None:
    steps = [call("look", number=n) for n in range(60)]
    loop = create_loop(ScriptedModel(steps), [look], store=store, budget=Budget(max_steps=40))
    ended = start(loop, "look", run_id="r")
    assert ended.outcome is not None
    assert ended.outcome.reason == "step_limit"


def test_events_arrive_as_nodes_finish(store: Store) -> None:
    nodes: list[tuple[int, str]] = []
    start(looking(store), "look", run_id="r", on_event=lambda event: nodes.append((event.step, event.node)))
    step = ["think", "authorize", "execute", "normalize"]
    assert nodes == [
        *((1, node) for node in step),
        *((2, node) for node in step),
        (3, "think"),
        (3, "verify"),
    ]


def test_where_a_run_stands_is_told_from_the_store_alone(store: Store) -> None:
    loop = create_loop(ScriptedModel([call("restart", service="a")]), [restart], store=store)
    start(loop, "go", run_id="r")
    run = inspect(store, "r")
    assert run.status == "waiting"
    assert run.pending[0]["tool"] == "restart"
