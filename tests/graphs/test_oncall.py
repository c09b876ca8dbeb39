"""The on-call example: real tools over a real database and a real patch, decisions from its script."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from interlock import Budget, HumanDecision, Run, Store, open_store, resume, start
from interlock.graphs.oncall import GOAL, SCRIPTS, build, make_world, script_for
from interlock.graphs.oncall.patches import FileChange, read_patch, setting_change
from interlock.graphs.oncall.tools import oncall_tools
from interlock.graphs.oncall.world import HERE, World
from interlock.policies.tool_errors import Conflict, InvalidInput, NotFound
from interlock.testing import ScriptedModel

PATCH = HERE / "deploy-4471.patch"
ROLL_BACK = f"{GOAL} Roll it back."


@pytest.fixture
def world(tmp_path: Path) -> Path:
    path = tmp_path / "oncall.db"
    make_world(path)
    return path


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


@pytest.fixture
def tools(world: Path) -> dict[str, Callable[..., Any]]:
    return {tool.__name__: tool for tool in oncall_tools(world)}


def work(store: Store, world: Path, goal: str, decision: HumanDecision | None = None) -> Run:
    """The run, decided in a loop that was built anew, as a second process would."""
    run = start(build(ScriptedModel(script_for(goal)), store, world=world), goal)
    if decision is None:
        return run
    return resume(build(ScriptedModel(script_for(goal)), store, world=world), run.run_id, decision)


def test_two_lookups_and_an_answer_name_the_service_and_the_change(store: Store, world: Path) -> None:
    run = work(store, world, GOAL)
    assert (run.status, run.steps) == ("completed", 3)
    assert run.outcome is not None
    for part in ("payments-api", "INC-2093", "4471", "5 s to 1 s", "12 files"):
        assert part in str(run.outcome.answer)
    assert run.outcome.changes == []
    observed = {fact.key: fact.value for fact in run.outcome.evidence}
    assert observed["cause"] == observed["service"] == "payments-api"
    assert (observed["retry_budget_old_s"], observed["retry_budget_new_s"]) == (5, 1)


def test_the_answer_comes_from_the_world_and_not_from_the_script(store: Store, world: Path) -> None:
    run = work(store, world, "What changed in deploy 4470?")
    assert run.outcome is not None
    assert "Deploy 4470 of search-api changed no retry budget" in str(run.outcome.answer)


def test_a_deploy_that_does_not_exist_gives_no_answer(store: Store, world: Path) -> None:
    run = work(store, world, "What changed in deploy 9999?")
    assert run.outcome is not None
    assert run.outcome.reason == "cannot_complete"
    assert "9999" in run.outcome.message


def test_a_lookup_that_is_repeated_ends_as_repeated_action_with_its_trace(store: Store, world: Path) -> None:
    loop = build(ScriptedModel(SCRIPTS["repeats"]), store, world=world, budget=Budget(max_repeats=3))
    run = start(loop, GOAL)
    assert run.outcome is not None
    assert (run.status, run.outcome.reason) == ("stopped", "repeated_action")
    tried = [step["ticket"]["tool"] for step in store.traces.steps(run.run_id)]
    assert tried == ["search_incidents"] + ["search_deploy"] * 3


def test_a_rollback_waits_and_changes_nothing_until_a_person_approves(store: Store, world: Path) -> None:
    run = work(store, world, ROLL_BACK)
    assert run.status == "waiting"
    assert run.pending[0]["arguments"]["deploy_id"] == "4471"  # type: ignore[index, call-overload]
    assert World(world).deploy("4471")["status"] == "live"


def test_an_approved_rollback_happens_and_is_reported_from_its_result(store: Store, world: Path) -> None:
    run = work(store, world, ROLL_BACK, HumanDecision(type="approve", by="incident lead"))
    assert run.outcome is not None
    assert (run.status, run.steps) == ("completed", 4)
    assert "2.31.0 is live again" in str(run.outcome.answer)
    (change,) = run.outcome.changes
    assert (change.tool, change.approved_by) == ("rollback", "incident lead")
    assert World(world).deploy("4471")["status"] == "rolled_back"
    assert World(world).health("payments-api")["error_rate"] < 0.01


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (HumanDecision(type="reject", reason="not at night"), "a person rejected it"),
        (HumanDecision(type="respond", message="wait until nine"), "a person answered instead"),
    ],
)
def test_without_an_approval_the_run_says_that_nothing_was_rolled_back(
    store: Store, world: Path, decision: HumanDecision, said: str
) -> None:
    run = work(store, world, ROLL_BACK, decision)
    assert run.outcome is not None
    assert (run.status, run.outcome.changes) == ("failed", [])
    assert f"was not rolled back: {said}" in run.outcome.message
    assert World(world).deploy("4471")["status"] == "live"


def test_a_second_rollback_under_the_same_key_gives_the_first_result(tools: dict[str, Any]) -> None:
    first = tools["rollback"]("4471", "one", "key")
    assert tools["rollback"]("4471", "one", "key") == first
    assert first["live_deploy"] == "4452"


def test_a_second_rollback_under_another_key_is_a_conflict(tools: dict[str, Any]) -> None:
    tools["rollback"]("4471", "one", "key")
    with pytest.raises(Conflict, match="rolled_back"):
        tools["rollback"]("4471", "two", "other")


@pytest.mark.parametrize(("deploy", "error"), [("9999", NotFound), ("4452", Conflict), ("4438", Conflict)])
def test_what_cannot_be_rolled_back_stays_as_it_is(
    tools: dict[str, Any], world: Path, deploy: str, error: type[Exception]
) -> None:
    before = world.read_bytes()
    with pytest.raises(error):
        tools["rollback"](deploy, "why", "key")
    assert world.read_bytes() == before


def test_incidents_are_found_best_match_first_and_newest_before_older(tools: dict[str, Any]) -> None:
    found = tools["search_incidents"]("checkout incident")["incidents"]
    assert [row["id"] for row in found] == ["INC-2093", "INC-2071"]
    assert tools["search_incidents"]("zebra")["count"] == 0


def test_what_the_model_sees_of_a_lookup_is_a_sentence_with_its_entities(store: Store, world: Path) -> None:
    run = work(store, world, GOAL)
    incidents, deploy = (step["observation"] for step in store.traces.steps(run.run_id)[:2])
    assert "2 found. Best match: INC-2093 (sev1" in incidents["summary"]
    assert incidents["trust"] == "untrusted"
    assert "retry budget 5 s → 1 s in 12 files" in deploy["summary"]
    assert "sidecar/proxy/config.go" in deploy["entities"]


@pytest.mark.parametrize("since", ["2026-03-10", "2026-03-10T00:00:00+02:00", "2026-03-17T02:14:00Z"])
def test_since_leaves_out_older_incidents_whatever_its_zone(tools: dict[str, Any], since: str) -> None:
    assert [row["id"] for row in tools["search_incidents"]("checkout", since)["incidents"]] == ["INC-2093"]


def test_a_search_that_makes_no_sense_is_refused(tools: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="ISO 8601"):
        tools["search_incidents"]("checkout", "yesterday")
    with pytest.raises(InvalidInput, match="word"):
        tools["search_incidents"](" ")


def test_the_patch_of_the_deploy_cuts_the_retry_budget_in_all_of_its_files() -> None:
    files = read_patch(PATCH.read_text(encoding="utf-8"))
    assert len(files) == 12
    assert {len(one.added) for one in files} == {len(one.removed) for one in files} == {1}
    setting = setting_change(files, "retry budget")
    assert setting is not None
    assert (setting.old_s, setting.new_s, setting.files) == (5, 1, 12)


@pytest.mark.skipif(shutil.which("git") is None, reason="git reads the patch")
def test_git_accepts_the_patch_and_counts_the_same_files(tmp_path: Path) -> None:
    counted = subprocess.run(
        ["git", "apply", "--numstat", str(PATCH)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    names = [line.split("\t")[2] for line in counted.stdout.splitlines()]
    assert names == [one.path for one in read_patch(PATCH.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("line", "seconds"),
    [
        ("retry.budget.ms=5000", 5.0),
        ("  retry-budget: 250ms", 0.25),
        ("RETRY_BUDGET_MS = 1_500L;", 1.5),
        (".retryBudget(Duration.ofMillis(300))", 0.3),
        ("RetryBudget: 5 * time.Second,", 5.0),
        ("RETRY_BUDGET_SECONDS = 7;", 7.0),
    ],
)
def test_a_duration_is_read_in_seconds_however_it_is_written(line: str, seconds: float) -> None:
    setting = setting_change([FileChange("f", [line], ["retry budget: 9s"])], "retry budget")
    assert setting is not None
    assert (setting.old_s, setting.new_s) == (seconds, 9.0)


def test_files_that_disagree_give_no_single_change() -> None:
    files = [
        FileChange("a", ["retry-budget: 5s"], ["retry-budget: 1s"]),
        FileChange("b", ["retry-budget: 5s"], ["retry-budget: 2s"]),
    ]
    assert setting_change(files, "retry budget") is None


def test_text_that_is_no_patch_is_refused() -> None:
    with pytest.raises(ValueError, match="not a unified diff"):
        read_patch("retry-budget: 1s")
