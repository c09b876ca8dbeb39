"""Bad input is one clear line and status 2; nothing is ever a traceback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from interlock.cli import cli
from tests.cli.conftest import Invoke, document


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run"], "give a goal"),
        (["run", ""], "give your tools"),
        (["run", "oncall", " "], "the goal is empty"),
        (["run", "nosuch", "goal"], "no ready-made loop 'nosuch'"),
        (["run", "which", "service", "is", "it"], "put the goal in quotes"),
        (["run", "goal"], "give your tools with --tools"),
        (["run", "goal", "--tools", "mine:TOOLS"], "name the model"),
        (["run", "oncall", "goal", "--tools", "mine:TOOLS"], "not both"),
        (["run", "cleanup", "goal", "--tools", "mine:TOOLS"], "cleanup has its own tools"),
        (["run", "oncall", "--max-steps", "0"], "--max-steps"),
        (["run", "oncall", "--run-id", "a b"], "run id"),
        (["run", "goal", "--tools", "mine:TOOLS", "--model", "scripted"], "scripted model only knows"),
        (["run", "goal", "--tools", "mine", "--model", "mine:model"], "package.module:NAME"),
        (["run", "goal", "--tools", "absent:TOOLS", "--model", "mine:model"], "no module absent"),
        (["run", "goal", "--tools", "mine:ABSENT", "--model", "mine:model"], "has no ABSENT"),
        (["run", "goal", "--tools", "mine:NOT_A_LIST", "--model", "mine:model"], "has to be a list of tools"),
        (["run", "goal", "--tools", "mine:TOOLS", "--model", "mine:fails"], "RuntimeError: no licence"),
        (["run", "goal", "--tools", "mine:TOOLS", "--model", "mine:TOOLS"], "not a LangChain chat model"),
        (["run", "goal", "--tools", "broken:TOOLS", "--model", "mine:model"], "ZeroDivisionError"),
        (["run", "goal", "--tools", "leaves:TOOLS", "--model", "mine:model"], "SystemExit"),
        (["run", "goal", "--tools", "needs:TOOLS", "--model", "mine:model"], "No module named 'absent'"),
        (["run", "oncall", "--model", "openai:some"], "OPENAI_API_KEY is not set"),
        (["run", "oncall", "--model", "openai:"], "needs the name of a model"),
        (["run", "oncall", "--store", "absent/runs.db"], "does not exist"),
        (["run", "oncall", "--store", "."], "folder"),
        (["run", "oncall", "--store", "text.db"], "not"),
        (["runs"], "no store at runs.db"),
        (["show", "r1"], "no store at runs.db"),
        (["resume", "r1"], "no store at runs.db"),
        (["cancel", "r1"], "no store at runs.db"),
        (["graph", "nosuch"], "no ready-made loop 'nosuch'"),
        (["nosuch"], "nosuch"),
    ],
)
def test_bad_input_is_one_line_and_status_two(
    call: Invoke, folder: Path, mine: Path, words: list[str], said: str
) -> None:
    (folder / "broken.py").write_text("1 / 0")
    (folder / "leaves.py").write_text("raise SystemExit(7)")
    (folder / "needs.py").write_text("import absent")
    (folder / "text.db").write_text("this is no database, whatever its name says\n" * 40)
    refused = call(*words)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: ")
    assert refused.stderr.count("\n") == 1
    assert said in refused.stderr
    assert refused.stdout == ""
    printed = document(call(*words, "--json"))
    assert said in printed["error"]
    assert printed["kind"]


@pytest.mark.parametrize("command", ["show", "resume", "cancel"])
def test_an_unknown_run_is_named(call: Invoke, command: str) -> None:
    call("run", "oncall")
    refused = call(command, "nosuch", "--json")
    assert refused.exit_code == 2
    assert document(refused) == {"error": "there is no run nosuch in runs.db", "kind": "UnknownRun"}


def test_a_run_id_that_exists_is_refused_and_the_run_stays_as_it_is(call: Invoke) -> None:
    call("run", "oncall", "--run-id", "r1")
    before = document(call("show", "r1", "--json"))
    refused = call("run", "oncall", "--run-id", "r1", "--json")
    assert (refused.exit_code, document(refused)["kind"]) == (2, "RunExists")
    assert document(call("show", "r1", "--json")) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_store_without_permission_is_named(call: Invoke, folder: Path) -> None:
    call("run", "oncall")
    (folder / "runs.db").chmod(0)
    refused = call("runs")
    assert refused.exit_code == 2
    assert "permission" in refused.stderr


def test_control_characters_in_an_error_are_written_out(call: Invoke) -> None:
    call("run", "oncall")
    refused = call("show", "a\x1b[31m\nb")
    assert "\x1b" not in refused.stderr
    assert refused.stderr.count("\n") == 1


def test_an_error_of_ours_is_one_line_too_and_shows_its_place_on_request(
    call: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("division by zero")

    call("run", "oncall")
    monkeypatch.setattr("interlock.cli.reading.inspect_run", fails)
    refused = call("show", "x", "--json")
    assert refused.exit_code == 2  # the run is looked up before
    run_id = document(call("runs", "--json"))[0]["run_id"]
    broken = call("show", run_id)
    assert broken.exit_code == 1
    assert broken.stderr.startswith("error: ZeroDivisionError: division by zero; INTERLOCK_DEBUG=1")
    monkeypatch.setenv("INTERLOCK_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(cli, ["show", run_id], catch_exceptions=False)


@pytest.mark.parametrize("command", [[], ["run"], ["resume"], ["cancel"], ["runs"], ["show"], ["graph"]])
def test_every_command_explains_itself(call: Invoke, command: list[str]) -> None:
    helped = call(*command, "--help")
    assert helped.exit_code == 0
    assert "Usage: " in helped.stdout
    assert "--help" in helped.stdout


def test_the_version_is_printed(call: Invoke) -> None:
    from interlock import __version__

    assert call("--version").stdout == f"interlock {__version__}\n"
