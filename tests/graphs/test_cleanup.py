"""The cleanup example: few records at a time, exactly those that a person saw, and none on the last step.

The world is a database file. What counts is which of its 1000 records are still there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock import Budget, HumanDecision, InvalidInput, NotFound, Run, Store, open_store, resume, start
from interlock.graphs.cleanup import GOAL, SCRIPTS, build, make_world, script_for
from interlock.graphs.cleanup.tools import MAX_BATCH, STALE_DAYS, cleanup_tools
from interlock.graphs.cleanup.world import World
from interlock.testing import ScriptedModel, answer, call, cannot_complete

APPROVE = HumanDecision(type="approve", by="data owner")
EVERYTHING = "Clean up all stale records."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "cleanup.db"
    make_world(path)
    return path


@pytest.fixture
def world(path: Path) -> World:
    return World(path)


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


class Desk:
    """Works on one run; each decision reaches a loop that was built anew, as in a second process."""

    def __init__(self, store: Store, path: Path) -> None:
        self._store, self._path = store, path

    def start(self, goal: str = GOAL, script: Any = None, max_steps: int = 12) -> Run:
        self._script, self._budget = script or script_for(goal), Budget(max_steps=max_steps)
        return start(self._loop(), goal, run_id="r")

    def decide(self, decision: HumanDecision) -> Run:
        return resume(self._loop(), "r", decision)

    def _loop(self) -> Any:
        return build(ScriptedModel(self._script), self._store, world=self._path, budget=self._budget)


@pytest.fixture
def desk(store: Store, path: Path) -> Desk:
    return Desk(store, path)


def stale(world: World) -> list[str]:
    """Ids of the stale records that are there, the longest unused first."""
    return [row["id"] for row in world.older_than(STALE_DAYS)]


def asked_for(run: Run) -> Any:
    """The ids that a person is asked about."""
    (question,) = run.pending
    return question["arguments"]["ids"]  # type: ignore[index, call-overload]


def verdict(store: Store, step: int) -> tuple[str, str]:
    found = store.traces.steps("r")[step - 1]["verdict"]
    return found["kind"], found["rule"]


def test_the_world_holds_a_thousand_records_of_which_300_are_stale(world: World) -> None:
    assert (world.count(), len(stale(world))) == (1000, 300)


def test_a_deletion_of_all_300_is_denied_by_the_scope_and_20_are_asked_for(
    desk: Desk, store: Store, world: World
) -> None:
    before = stale(world)
    run = desk.start(EVERYTHING)
    assert len(store.traces.steps("r")[1]["decision"]["proposal"]["arguments"]["ids"]) == 300
    assert verdict(store, 2) == ("deny", "scope")
    told = store.traces.steps("r")[1]["observation"]
    assert (told["status"], "rule scope: ids has 300 items; at most 20" in told["summary"]) == (
        "permission_denied",
        True,
    )
    assert (run.status, asked_for(run)) == ("waiting", before[:MAX_BATCH])
    assert world.count() == 1000


def test_a_batch_shows_its_exact_ids_and_its_dry_run_and_deletes_nothing_yet(
    desk: Desk, world: World
) -> None:
    run = desk.start()
    assert asked_for(run) == stale(world)[:MAX_BATCH]
    assert '"would_delete":20' in str(run.pending[0]["preview"])
    assert '"not_stale":[]' in str(run.pending[0]["preview"])
    assert world.count() == 1000


def test_an_approved_batch_deletes_these_records_and_says_what_is_left(desk: Desk, world: World) -> None:
    before = stale(world)
    ids = asked_for(desk.start())
    run = desk.decide(APPROVE)
    assert run.outcome is not None
    assert (run.status, world.count(), stale(world)) == ("completed", 980, before[MAX_BATCH:])
    (change,) = run.outcome.changes
    assert (change.arguments["ids"], change.approved_by) == (ids, "data owner")
    assert "20 stale records were deleted" in str(run.outcome.answer)
    assert "280 stale records are left" in str(run.outcome.answer)


def test_after_a_denied_deletion_of_everything_the_outcome_says_that_it_stays_open(
    desk: Desk, world: World
) -> None:
    desk.start(EVERYTHING)
    run = desk.decide(APPROVE)
    assert run.outcome is not None
    assert (run.status, world.count()) == ("completed", 980)
    (left,) = run.outcome.unfinished
    assert left.what.startswith("delete_records(")
    assert left.why == "scope: ids has 300 items; at most 20 are allowed"


def test_an_edit_to_fewer_ids_deletes_just_those(desk: Desk, store: Store, world: World) -> None:
    before = stale(world)
    kept = asked_for(desk.start())[:3]
    run = desk.decide(HumanDecision(type="edit", arguments={"ids": kept}, by="data owner"))
    assert run.outcome is not None
    assert (run.status, stale(world), world.count()) == ("completed", before[3:], 997)
    assert run.outcome.changes[0].arguments == {"ids": kept}
    assert f"3 stale records were deleted: {', '.join(kept)}" in str(run.outcome.answer)
    assert "297 stale records are left" in str(run.outcome.answer)


@pytest.mark.parametrize("chosen", [slice(0, MAX_BATCH + 1), slice(0, 300)])
def test_an_edit_to_more_ids_than_the_scope_allows_deletes_nothing(
    desk: Desk, store: Store, world: World, chosen: slice
) -> None:
    desk.start()
    ids: list[Any] = stale(world)[chosen]
    edit = HumanDecision(type="edit", arguments={"ids": ids}, by="data owner")
    run = desk.decide(edit)
    assert (run.status, world.count()) == ("failed", 1000)
    assert verdict(store, 2) == ("deny", "scope")


def test_a_rejected_batch_deletes_nothing_and_the_run_says_so(desk: Desk, world: World) -> None:
    desk.start()
    run = desk.decide(HumanDecision(type="reject", by="data owner", reason="not this month"))
    assert run.outcome is not None
    assert (run.outcome.reason, run.outcome.changes, world.count()) == ("cannot_complete", [], 1000)
    assert run.outcome.message == "no record was deleted: a person rejected it"
    assert any("rejected by data owner: not this month" in one.why for one in run.outcome.unfinished)


def test_a_deletion_that_is_proposed_on_the_last_step_does_not_run_and_asks_nobody(
    desk: Desk, store: Store, world: World
) -> None:
    before = stale(world)
    desk.start(script=SCRIPTS["batches"], max_steps=4)
    run = desk.decide(APPROVE)
    assert run.outcome is not None
    assert (run.status, run.outcome.reason, run.steps, run.pending) == ("stopped", "step_limit", 4, [])
    assert (world.count(), stale(world)) == (980, before[MAX_BATCH:])
    proposal = store.traces.steps("r")[3]["decision"]["proposal"]
    assert (proposal["tool"], proposal["arguments"]["ids"]) == ("delete_records", before[MAX_BATCH:40])


def test_at_the_step_limit_the_outcome_lists_what_was_deleted_and_what_stays_open(
    desk: Desk, world: World
) -> None:
    before = stale(world)
    desk.start(script=SCRIPTS["batches"], max_steps=4)
    run = desk.decide(APPROVE)
    assert run.outcome is not None
    assert [change.arguments["ids"] for change in run.outcome.changes] == [before[:MAX_BATCH]]
    goal, held = run.outcome.unfinished
    assert goal.what == f"goal: {GOAL}"
    assert (held.step, held.what.startswith(f"delete_records(ids=['{before[MAX_BATCH]}'")) == (4, True)
    assert "last step did not run" in held.why
    assert world.count() == 980


def test_a_deletion_that_is_the_only_step_does_not_run(desk: Desk, world: World) -> None:
    run = desk.start(script=[call("delete_records", ids=stale(world)[:1])], max_steps=1)
    assert run.outcome is not None
    assert (run.outcome.reason, run.pending, world.count()) == ("step_limit", [], 1000)


def test_each_batch_needs_a_decision_of_its_own(desk: Desk, world: World) -> None:
    before = stale(world)
    desk.start(script=SCRIPTS["batches"])
    again = desk.decide(APPROVE)
    assert (again.status, asked_for(again), world.count()) == ("waiting", before[MAX_BATCH:40], 980)
    desk.decide(APPROVE)
    assert (world.count(), stale(world)) == (960, before[40:])


def test_an_answer_is_refused_until_what_is_stale_was_looked_up(
    desk: Desk, store: Store, world: World
) -> None:
    run = desk.start(
        script=[answer("all clean"), call("find_stale", older_than_days=365), answer("300 left")]
    )
    assert (run.status, run.steps, world.count()) == ("completed", 3, 1000)
    assert "not yet observed by a tool: stale_count" in store.traces.steps("r")[0]["observation"]["summary"]


def test_the_age_that_the_goal_names_is_the_one_that_counts(desk: Desk, world: World) -> None:
    run = desk.start("Clean up stale records: those that were not used for 690 days.")
    assert asked_for(run) == [row["id"] for row in world.older_than(690)][:MAX_BATCH]
    assert len(world.older_than(690)) < 300
    assert desk.decide(APPROVE).status == "completed"


def test_nothing_is_deleted_where_nothing_is_stale(desk: Desk, world: World) -> None:
    run = desk.start("Clean up stale records: those that were not used for 900 days.")
    assert run.outcome is not None
    assert (run.outcome.reason, world.count()) == ("cannot_complete", 1000)
    assert "nothing was deleted" in run.outcome.message


def test_a_fresh_record_in_a_batch_is_pointed_out_by_the_dry_run(desk: Desk, world: World) -> None:
    (fresh,) = {"R0001"} - set(stale(world))
    ids = [*stale(world)[:2], fresh]
    run = desk.start(script=[call("delete_records", ids=ids), cannot_complete("a person rejected it")])
    assert f'"not_stale":["{fresh}"]' in str(run.pending[0]["preview"])
    desk.decide(HumanDecision(type="reject", by="data owner"))
    assert world.count() == 1000


@pytest.mark.parametrize("ids", [["R0002", "*"], ["%"], ["R0002' OR 1=1"], ["R00020"]])
def test_ids_that_are_no_ids_are_denied(desk: Desk, store: Store, world: World, ids: list[str]) -> None:
    desk.start(script=[call("delete_records", ids=ids), cannot_complete("it was denied")])
    assert verdict(store, 1) == ("deny", "scope")
    assert world.count() == 1000


def test_a_batch_with_a_record_that_is_not_there_deletes_none_of_it(desk: Desk, world: World) -> None:
    script = [call("delete_records", ids=[*stale(world)[:2], "R9999"]), cannot_complete("one is not there")]
    desk.start(script=script)
    run = desk.decide(APPROVE)
    assert run.outcome is not None
    assert (run.status, run.outcome.changes, world.count()) == ("failed", [], 1000)


def test_a_second_deletion_under_the_same_key_gives_the_first_result(world: World) -> None:
    ids = stale(world)
    first = world.delete(ids[:2], "key")
    assert world.delete(ids[:2], "key") == first
    assert (world.count(), stale(world)) == (998, ids[2:])


def test_tools_refuse_what_makes_no_sense(path: Path, world: World) -> None:
    tools: dict[str, Any] = {tool.__name__: tool for tool in cleanup_tools(path)}
    with pytest.raises(InvalidInput, match="at least 1"):
        tools["find_stale"](0)
    with pytest.raises(InvalidInput, match="empty"):
        tools["delete_records"]([], "key")
    with pytest.raises(NotFound, match="R9999"):
        tools["preview_delete"](["R0001", "R9999"])
    assert world.count() == 1000


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(1, MAX_BATCH + 5) | st.integers(MAX_BATCH + 6, 300))
def test_whatever_number_is_proposed_never_more_than_a_batch_goes(tmp_path: Path, size: int) -> None:
    make_world(tmp_path / "cleanup.db")
    world = World(tmp_path / "cleanup.db")
    with open_store() as store:
        desk = Desk(store, tmp_path / "cleanup.db")
        script = [call("delete_records", ids=stale(world)[:size]), cannot_complete("enough")]
        run = desk.start(script=script)
        if run.status == "waiting":
            desk.decide(APPROVE)
    assert 1000 - world.count() == (size if size <= MAX_BATCH else 0)
