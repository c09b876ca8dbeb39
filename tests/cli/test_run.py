"""`interlock run`: steps as they happen, the outcome, exit status, documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import open_store
from interlock.cli.building import LOOPS
from interlock.graphs.oncall import GOAL
from interlock.graphs.oncall.world import World
from tests.cli.conftest import Invoke, document

ROLL_BACK = "What changed in deploy 4471? Roll it back."


def test_the_example_answers_in_three_steps_and_shows_each(call: Invoke) -> None:
    ended = call("run", "oncall", GOAL)
    assert ended.exit_code == 0
    for part in (
        "scripted: the decisions were written in advance",
        'search_incidents(query="checkout")',
        "allow (rule read)",
        "ok: ",
        "tokens in",
        "step 3",
        "completed (goal_verified) after 3 steps",
        "retry budget from 5 s to 1 s in 12 files of payments-api",
    ):
        assert part in ended.stdout
    assert "step 4" not in ended.stdout


def test_the_goal_of_the_example_may_be_left_out(call: Invoke) -> None:
    assert GOAL in call("run", "oncall").stdout


def test_a_rollback_waits_and_the_command_that_decides_is_printed(call: Invoke, folder: Path) -> None:
    ended = call("run", "oncall", ROLL_BACK, "--run-id", "r1")
    assert ended.exit_code == 3
    for options in ("--approve", "--reject --reason WHY", "--respond TEXT", "--edit '{"):
        assert f"interlock resume r1 {options}" in ended.stdout
    assert "would run" in ended.stdout
    assert "rule high_risk" in ended.stdout
    assert "expires" in ended.stdout
    assert World(folder / "oncall.db").deploy("4471")["status"] == "live"


def test_the_command_that_decides_names_a_store_that_is_not_the_default(call: Invoke) -> None:
    ended = call("run", "oncall", ROLL_BACK, "--run-id", "r1", "--store", "my runs.db")
    assert "interlock resume r1 --approve --approval-id " in ended.stdout
    assert "--store 'my runs.db'" in ended.stdout


def test_json_is_one_document_with_the_outcome(call: Invoke, mine: Path) -> None:
    ended = call("run", "look", "--tools", "mine:TOOLS", "--model", "mine:model", "--json")
    printed = document(ended)
    assert ended.exit_code == 0
    assert {
        "run_id",
        "status",
        "reason",
        "answer",
        "steps",
        "changes",
        "unfinished",
        "usage",
        "pending",
    } <= set(printed)
    assert (printed["status"], printed["reason"], printed["answer"]) == ("completed", "goal_verified", "done")


def test_what_a_tool_prints_does_not_get_into_the_document(call: Invoke, mine: Path) -> None:
    ended = call("run", "look", "--tools", "mine:TOOLS", "--model", "mine:model", "--json")
    assert "a tool that prints" in ended.stderr
    assert "a tool that prints" not in ended.stdout


def test_json_of_a_waiting_run_carries_the_question(call: Invoke) -> None:
    ended = call("run", "oncall", ROLL_BACK, "--json")
    printed = document(ended)
    assert (ended.exit_code, printed["status"]) == (3, "waiting")
    (question,) = printed["pending"]
    assert question["action_requests"][0]["name"] == question["tool"] == "rollback"


def test_text_of_tools_reaches_the_terminal_without_its_control_characters(call: Invoke, mine: Path) -> None:
    ended = call("run", "look", "--tools", "mine:TOOLS", "--model", "mine:model")
    assert "\x1b" not in ended.stdout
    assert "\u202e" not in ended.stdout
    assert "seen" in ended.stdout


def test_a_step_limit_is_an_outcome_with_status_one(call: Invoke, mine: Path) -> None:
    ended = call(
        "run", "look", "--tools", "mine:TOOLS", "--model", "mine:loops", "--max-steps", "2", "--json"
    )
    printed = document(ended)
    assert (ended.exit_code, printed["status"], printed["reason"]) == (1, "stopped", "step_limit")
    assert printed["steps"] == 2


def test_the_world_is_new_for_a_run_when_no_other_is_open(call: Invoke, folder: Path) -> None:
    call("run", "oncall", ROLL_BACK, "--run-id", "r1")
    call("resume", "r1", "--approve")
    assert World(folder / "oncall.db").deploy("4471")["status"] == "rolled_back"
    call("run", "oncall")
    assert World(folder / "oncall.db").deploy("4471")["status"] == "live"


def test_the_world_stays_while_a_run_still_waits(call: Invoke, folder: Path) -> None:
    for name in ("r1", "r2"):
        call("run", "oncall", ROLL_BACK, "--run-id", name)
    call("resume", "r1", "--approve")
    call("run", "oncall")
    assert World(folder / "oncall.db").deploy("4471")["status"] == "rolled_back"


def test_the_store_may_come_from_the_environment(
    call: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLOCK_STORE", "other.db")
    assert call("run", "oncall").exit_code == 0
    assert (folder / "other.db").exists()
    assert not (folder / "runs.db").exists()


def test_what_a_new_process_needs_is_saved_with_the_run(call: Invoke, folder: Path, mine: Path) -> None:
    words = ("run", "look", "--tools", "mine:TOOLS", "--model", "mine:model", "--max-steps", "7")
    call(*words, "--run-id", "r1")
    with open_store("runs.db") as store:
        spec = store.runs.get("r1").spec
    assert (spec["tools"], spec["model"], spec["folder"]) == ("mine:TOOLS", "mine:model", str(folder))
    assert spec["bounds"] == {"max_steps": 7}


def test_runs_are_listed_newest_first(call: Invoke) -> None:
    call("run", "oncall", "--run-id", "first")
    call("run", "oncall", ROLL_BACK, "--run-id", "second")
    listed = call("runs")
    lines = listed.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["second", "waiting"], ["first", "completed"]]
    printed = document(call("runs", "--json"))
    assert [(row["run_id"], row["status"], row["loop"]) for row in printed] == [
        ("second", "waiting", "oncall"),
        ("first", "completed", "oncall"),
    ]
    assert [row["run_id"] for row in document(call("runs", "--json", "--limit", "1"))] == ["second"]


def test_show_prints_the_steps_and_the_outcome_of_a_run(call: Invoke) -> None:
    call("run", "oncall", "--run-id", "r1")
    shown = call("show", "r1")
    assert shown.exit_code == 0
    for part in (GOAL, "step 1", 'search_deploy(deploy_id="4471")', "completed (goal_verified)"):
        assert part in shown.stdout
    printed = document(call("show", "r1", "--json"))
    assert (printed["goal"], printed["status"]) == (GOAL, "completed")
    assert [record["step"] for record in printed["records"]] == [1, 2, 3]


def test_show_of_a_waiting_run_says_how_to_decide(call: Invoke) -> None:
    call("run", "oncall", ROLL_BACK, "--run-id", "r1")
    shown = call("show", "r1")
    assert shown.exit_code == 0
    assert "interlock resume r1 --approve" in shown.stdout


@pytest.mark.parametrize("words", [[], *([name] for name in LOOPS)])
def test_a_loop_is_drawn_as_mermaid_text_without_leaving_a_file(
    call: Invoke, folder: Path, words: list[str]
) -> None:
    drawn = call("graph", *words)
    assert drawn.exit_code == 0
    for node in ("think", "authorize", "execute", "normalize", "verify"):
        assert f"{node}(" in drawn.stdout
    assert document(call("graph", *words, "--json"))["mermaid"].expandtabs(4).strip() == drawn.stdout.strip()
    assert list(folder.iterdir()) == []


def test_a_run_works_under_the_policy_file_that_it_names(call: Invoke, folder: Path) -> None:
    (folder / "freeze.toml").write_text(
        'name = "freeze"\n[tools.rollback]\nverdict = "deny"\nreason = "change freeze"\n', encoding="utf-8"
    )
    goal = "What changed in deploy 4471? Roll it back."
    frozen = call("run", "oncall", goal, "--policy", "freeze.toml", "--run-id", "r1", "--json")
    assert "change freeze" in str(document(frozen)["unfinished"])
    assert document(frozen)["changes"] == []


def test_a_policy_that_speaks_of_other_tools_is_refused_before_the_run(call: Invoke, folder: Path) -> None:
    (folder / "typo.toml").write_text(
        'name = "typo"\n[tools.rolback]\nverdict = "deny"\nreason = "x"\n', encoding="utf-8"
    )
    refused = call("run", "oncall", "--policy", "typo.toml")
    assert refused.exit_code == 2
    assert "rolback" in refused.stderr
    assert call("run", "oncall", "--policy", "missing.toml").exit_code == 2


def test_a_file_that_is_not_the_examples_world_is_left_alone(call: Invoke, folder: Path) -> None:
    (folder / "oncall.db").write_text("my own notes", encoding="utf-8")
    assert call("run", "oncall").exit_code == 2
    assert (folder / "oncall.db").read_text(encoding="utf-8") == "my own notes"
