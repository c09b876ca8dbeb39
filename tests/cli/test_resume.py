"""`interlock resume` and `interlock cancel`: what a person decides, and what is refused."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from interlock import contract, create_loop, open_store, start
from interlock.cli import cli
from interlock.cli.building import Spec, prepare_world, world_of
from interlock.graphs.oncall.script import script_for
from interlock.graphs.oncall.tools import oncall_tools
from interlock.graphs.oncall.world import World
from interlock.testing import FakeClock, ScriptedModel
from interlock.testing import call as scripted_call
from tests.cli.conftest import Invoke, document

ROLL_BACK = "What changed in deploy 4471? Roll it back."


@pytest.fixture
def waiting(call: Invoke) -> str:
    """Id of a run that asks whether it may roll back."""
    assert call("run", "oncall", ROLL_BACK, "--run-id", "r1").exit_code == 3
    return "r1"


def status_of_4471(folder: Path) -> str:
    status: str = World(folder / "oncall.db").deploy("4471")["status"]
    return status


def test_an_approved_action_runs_and_the_outcome_says_who_approved(
    call: Invoke, folder: Path, waiting: str
) -> None:
    ended = call("resume", waiting, "--approve", "--by", "incident lead")
    assert ended.exit_code == 0
    assert "approved by incident lead" in ended.stdout
    assert "2.31.0 is live again" in ended.stdout
    assert status_of_4471(folder) == "rolled_back"


def test_a_rejected_action_does_not_run_and_the_reason_is_kept(
    call: Invoke, folder: Path, waiting: str
) -> None:
    ended = call("resume", waiting, "--reject", "--reason", "not at night", "--by", "lead", "--json")
    printed = document(ended)
    assert (ended.exit_code, printed["status"], printed["changes"]) == (1, "failed", [])
    assert any("not at night" in item["why"] for item in printed["unfinished"])
    assert status_of_4471(folder) == "live"


def test_an_edited_action_runs_as_edited(call: Invoke, waiting: str) -> None:
    edited = {"deploy_id": "4471", "reason": "shorter"}
    ended = call("resume", waiting, "--edit", json.dumps(edited), "--json")
    printed = document(ended)
    assert ended.exit_code == 0
    assert [change["arguments"] for change in printed["changes"]] == [edited]


def test_a_response_reaches_the_model_and_nothing_runs(call: Invoke, folder: Path, waiting: str) -> None:
    ended = call("resume", waiting, "--respond", "wait until nine")
    assert ended.exit_code == 1
    assert "wait until nine" in ended.stdout
    assert status_of_4471(folder) == "live"


def test_a_question_is_answered_with_text(call: Invoke, mine: Path) -> None:
    asked = call("run", "act", "--tools", "mine:TOOLS", "--model", "mine:asks", "--run-id", "q")
    assert asked.exit_code == 3
    assert "which region?" in asked.stdout
    assert "--approve" not in asked.stdout
    ended = call("resume", "q", "--respond", "eu-central")
    assert ended.exit_code == 0
    assert "eu-central" in ended.stdout


def test_without_a_decision_the_question_is_shown_again(call: Invoke, waiting: str) -> None:
    again = call("resume", waiting)
    assert again.exit_code == 3
    assert f"interlock resume {waiting} --approve" in again.stdout


def test_the_second_decision_is_refused_and_nothing_runs_twice(call: Invoke, waiting: str) -> None:
    call("resume", waiting, "--approve")
    second = call("resume", waiting, "--reject")
    assert second.exit_code == 2
    assert second.stderr == "error: run r1 ended: completed, goal_verified\n"
    assert document(call("show", waiting, "--json"))["status"] == "completed"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--approve", "--reject"], "--approve and --reject exclude each other"),
        (["--edit", "nonsense"], "not valid JSON"),
        (["--edit", "[1]"], "must be a JSON object"),
        (["--edit", '{"a": 1, "a": 2}'], "'a' twice"),
        (["--edit", '{"deploy_id": 4471, "reason": "x"}'], "deploy_id"),
        (["--edit", '{"deploy_id": "4471", "reason": "x", "force": true}'], "force"),
        (["--respond", " "], "needs a message"),
        (["--approve", "--approval-id", "another"], "another"),
        (["--reason", "because"], "belong to a decision"),
    ],
)
def test_a_decision_that_does_not_fit_is_refused_in_one_line_and_the_question_stays(
    call: Invoke, folder: Path, waiting: str, options: list[str], said: str
) -> None:
    refused = call("resume", waiting, *options)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: ")
    assert refused.stderr.count("\n") == 1
    assert said in refused.stderr
    assert status_of_4471(folder) == "live"
    assert document(call("resume", waiting, "--approve", "--json"))["status"] == "completed"


def test_a_decision_for_the_question_that_is_asked_is_taken(call: Invoke, waiting: str) -> None:
    asked = document(call("show", waiting, "--json"))["pending"][0]["approval_id"]
    assert call("resume", waiting, "--approve", "--approval-id", asked).exit_code == 0


def test_a_run_whose_loop_was_built_in_code_is_left_to_that_code(call: Invoke) -> None:
    @contract(effect="high_risk")
    def act() -> str:
        """Act."""
        return "acted"

    with open_store("runs.db") as store:
        start(create_loop(ScriptedModel([scripted_call("act")]), [act], store=store), "act", run_id="code")
    refused = call("resume", "code", "--approve")
    assert refused.exit_code == 2
    assert "was not started from the command line" in refused.stderr
    assert call("show", "code").exit_code == 0


def test_tools_that_changed_while_the_run_waited_are_refused(call: Invoke, mine: Path) -> None:
    call("run", "act", "--tools", "mine:TOOLS", "--model", "mine:asks", "--run-id", "q")
    (mine.parent / "other.py").write_text(mine.read_text().replace("Act somewhere", "Act elsewhere"))
    mine.write_text("from other import *")
    del sys.modules["mine"]
    refused = call("resume", "q", "--respond", "x")
    assert refused.exit_code == 2
    assert "other tools, contracts or policy" in refused.stderr


def test_tools_that_are_gone_are_named_with_the_folder_where_they_were(
    call: Invoke, mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("run", "act", "--tools", "mine:TOOLS", "--model", "mine:asks", "--run-id", "q")
    del sys.modules["mine"]
    sys.path.remove(str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    refused = call("resume", "q", "--respond", "x", "--store", "../runs.db")
    assert refused.exit_code == 2
    assert f"the run was started in {tmp_path}" in refused.stderr


def test_cancelling_a_waiting_run_ends_it_and_closes_its_question(
    call: Invoke, folder: Path, waiting: str
) -> None:
    ended = call("cancel", waiting, "--by", "lead", "--json")
    printed = document(ended)
    assert (ended.exit_code, printed["status"], printed["reason"]) == (1, "cancelled", "cancelled")
    refused = call("resume", waiting, "--approve")
    assert refused.exit_code == 2
    assert status_of_4471(folder) == "live"


def test_a_run_that_ended_cannot_be_cancelled(call: Invoke) -> None:
    call("run", "oncall", "--run-id", "r1")
    refused = call("cancel", "r1")
    assert refused.exit_code == 2
    assert "ended: completed" in refused.stderr


def test_an_expired_question_ends_without_the_action(call: Invoke, folder: Path) -> None:
    long_ago = FakeClock(start=datetime.now(UTC) - timedelta(days=30))
    world = world_of("runs.db", "oncall")
    spec = Spec(loop="oncall", model="scripted", world=str(world))
    with open_store("runs.db") as store:
        prepare_world(spec, store)
        model = ScriptedModel(script_for(ROLL_BACK))
        loop = create_loop(model, oncall_tools(world), store=store, clock=long_ago, require=["deploy"])
        assert start(loop, ROLL_BACK, run_id="old", name="oncall", spec=spec.dump()).status == "waiting"
    ended = call("resume", "old")
    assert ended.exit_code == 1
    assert "expired" in ended.stdout
    assert status_of_4471(folder) == "live"


def test_a_decision_does_not_reach_a_question_that_was_asked_after_the_command_began(
    call: Invoke, folder: Path
) -> None:
    call("run", "oncall", ROLL_BACK, "--run-id", "r1")
    before = datetime.now(UTC) - timedelta(hours=1)
    late = CliRunner().invoke(cli, ["resume", "r1", "--approve"], obj=before)
    assert late.exit_code == 2
    assert "has moved on" in late.stderr
    assert call("show", "r1", "--json").exit_code == 0
    assert document(call("show", "r1", "--json"))["status"] == "waiting"


def test_a_question_is_listed_shown_and_decided_by_its_id(call: Invoke) -> None:
    call("run", "oncall", ROLL_BACK, "--run-id", "r1")
    (listed,) = document(call("approvals", "--json"))
    shown = call("approvals", listed["approval_id"])
    assert "rollback" in shown.stdout
    assert listed["approval_id"] in call("approvals").stdout
    decided = call("decide", listed["approval_id"], "--approve", "--by", "ops", "--json")
    assert document(decided)["changes"][0]["approved_by"] == "ops"
    again = call("decide", listed["approval_id"], "--reject")
    assert again.exit_code == 2
    assert call("decide", "nonsense", "--approve").exit_code == 2
    assert call("approvals").stdout.strip() == "nothing is asked"
