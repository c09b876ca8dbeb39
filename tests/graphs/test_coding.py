"""The coding example: the exit status of the tests says when it is done, whatever the model says.

The world is a git repository with a real pytest suite. What counts is what differs from its commit, and
what the suite says when this file runs it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock import Budget, InvalidInput, NotFound, PermissionDenied, Run, Store, open_store, start
from interlock.graphs.coding import GOAL, SCRIPTS, build, make_world, script_for
from interlock.graphs.coding.commands import run_bounded
from interlock.graphs.coding.script import FILE, RIGHT, TEST, WRONG
from interlock.graphs.coding.suite import NOT_REPORTED, run_suite
from interlock.graphs.coding.tools import coding_tools
from interlock.graphs.coding.world import World, git
from interlock.policies.errors import BadLoop
from interlock.policies.tool_errors import ToolFailure
from interlock.testing import ScriptedModel, answer, call, cannot_complete


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "coding"
    make_world(path)
    return path


@pytest.fixture
def world(path: Path) -> World:
    return World(path)


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


def drive(store: Store, path: Path, script: Any = None, **options: Any) -> Run:
    loop = build(ScriptedModel(script or script_for(GOAL)), store, world=path, **options)
    return start(loop, GOAL, run_id="r")


def told(store: Store, step: int) -> tuple[str, str]:
    found = store.traces.steps("r")[step - 1]["observation"]
    return found["status"], found["summary"]


def changed(path: Path) -> list[str]:
    """Files that differ from the commit or are new."""
    return git(path, "status", "--porcelain", "--untracked-files=all").splitlines()


def test_the_world_is_a_repository_whose_tests_fail(path: Path) -> None:
    status, output = run_suite(path)
    assert (status, changed(path)) == (1, [])
    assert "3 failed, 6 passed" in output


def test_a_claim_over_failing_tests_is_rejected_with_what_failed_and_the_fix_is_accepted(
    store: Store, path: Path
) -> None:
    run = drive(store, path)
    assert run.outcome is not None
    status, words = told(store, 5)
    assert (status, "exit status 1, expected 0" in words) == ("invalid_input", True)
    assert "test_the_volume_decides_the_discount[100-800]" in words
    assert (run.status, run.steps, run_suite(path)[0]) == ("completed", 8, 0)
    assert (changed(path), World(path).read(FILE)) == ([f" M {FILE}"], RIGHT)
    written = [change.arguments["content"] for change in run.outcome.changes]
    assert ([change.tool for change in run.outcome.changes], written) == (["write_file"] * 2, [WRONG, RIGHT])


def test_a_model_that_insists_without_a_change_never_completes(store: Store, path: Path) -> None:
    run = drive(store, path, SCRIPTS["insists"], budget=Budget(max_steps=20, max_rejected=1))
    assert run.outcome is not None
    assert (run.status, run.outcome.reason, run.outcome.answer) == ("failed", "answers_rejected", None)
    assert changed(path) == []


@pytest.mark.parametrize(
    "target",
    [
        "tests/test_discounts.py", "pytest.ini", "conftest.py", ".git/config", "../outside.py",
        "pricing/../tests/test_discounts.py", "pricing/../../outside.py", "pricing/deeper/x.py",
    ],
)  # fmt: skip
def test_a_write_outside_the_package_is_denied_by_the_scope(store: Store, path: Path, target: str) -> None:
    script = [call("write_file", path=target, content=""), cannot_complete("it was denied")]
    drive(store, path, script)
    verdict = store.traces.steps("r")[0]["verdict"]
    assert (verdict["kind"], verdict["rule"]) == ("deny", "scope")
    assert (changed(path), [p.name for p in path.parent.glob("outside*")]) == ([], [])


def test_an_absolute_path_is_denied_too(store: Store, path: Path) -> None:
    target = path.parent / "outside.py"
    drive(store, path, [call("write_file", path=str(target), content=""), cannot_complete("denied")])
    assert store.traces.steps("r")[0]["verdict"]["kind"] == "deny"
    assert not target.exists()


LEADS_OUT = [
    "",
    "/",
    ".",
    "..",
    "../x.py",
    "pricing/../../x.py",
    ".git/config",
    "pricing/.git/x",
    "a\\b",
    "a\0b",
]


@pytest.mark.parametrize("name", LEADS_OUT)
def test_no_spelling_leads_out_of_the_repository_even_where_no_scope_is(world: World, name: str) -> None:
    with pytest.raises(PermissionDenied, match="not a plain path"):
        world.read(name)
    with pytest.raises(PermissionDenied, match="not a plain path"):
        world.write(name, "")


@given(
    parts=st.lists(
        st.sampled_from(["..", ".", "", "pricing", "tests", "x.py", ".git"]), min_size=1, max_size=5
    )
)
def test_whatever_is_joined_a_file_is_inside_or_refused(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("world", numbered=True)
    (folder / "in" / "pricing").mkdir(parents=True)
    with suppress(PermissionDenied, InvalidInput):
        World(folder / "in").write("/".join(parts), "x")
    found = [file for file in folder.rglob("*") if file.is_file()]
    assert all(file.is_relative_to(folder / "in") for file in found)
    assert len(found) <= 1


@pytest.mark.parametrize("link", ["pricing/link.py", "pricing/deeper"])
def test_links_are_not_followed_neither_for_reading_nor_for_writing(
    path: Path, world: World, tmp_path: Path, link: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.py").write_text("secret", encoding="utf-8")
    (path / link).symlink_to(outside / "x.py" if link.endswith(".py") else outside)
    name = link if link.endswith(".py") else f"{link}/x.py"
    with pytest.raises(PermissionDenied, match="through a link"):
        world.read(name)
    with pytest.raises(PermissionDenied, match="through a link"):
        world.write(name, "changed")
    assert (outside / "x.py").read_text(encoding="utf-8") == "secret"
    assert name not in world.files()


def test_edited_tests_do_not_count_because_those_of_the_commit_are_run(path: Path) -> None:
    (path / "tests" / "test_discounts.py").write_text("def test_nothing():\n    pass\n", encoding="utf-8")
    (path / "conftest.py").write_text("collect_ignore_glob = ['*']\n", encoding="utf-8")
    assert run_suite(path)[0] == 1


def test_code_that_ends_the_process_with_status_0_is_no_pass(world: World, path: Path) -> None:
    world.write(FILE, "import os\n\nos._exit(0)\n")
    status, output = run_suite(path)
    assert status == NOT_REPORTED
    assert "without a report" in output


def test_a_run_of_the_tests_leaves_nothing_behind_in_the_repository(path: Path, world: World) -> None:
    world.write(FILE, f"open('left.txt', 'w').close()\n{RIGHT}")
    assert (run_suite(path)[0], changed(path)) == (0, [f" M {FILE}"])


def test_tests_that_hang_are_killed_with_everything_they_started(path: Path, world: World) -> None:
    beside = path.parent / "late.txt"
    child = f"import time; time.sleep(1.5); open({str(beside)!r}, 'w').close()"
    starts = f"subprocess.Popen([sys.executable, '-c', {child!r}])"
    world.write(FILE, f"import subprocess, sys, time\n{starts}\ntime.sleep(60)\n")
    tools: dict[str, Any] = {tool.__name__: tool for tool in coding_tools(path, tests_timeout_s=1.0)}
    with pytest.raises(ToolFailure, match="had not ended after 1 s"):
        tools["run_tests"]()
    time.sleep(1.0)
    assert not beside.exists()


def test_tests_that_hang_are_no_pass_and_the_run_does_not_complete(
    store: Store, path: Path, world: World
) -> None:
    hanging = call("write_file", path=FILE, content="while True:\n    pass\n")
    script = [call("list_files"), hanging, answer("done"), cannot_complete("they hang")]
    run = drive(store, path, script, tests_timeout_s=1.0)
    assert (run.status, "it was killed" in told(store, 3)[1]) == ("failed", True)


def test_the_code_under_test_sees_no_secret_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-not-for-tests")
    status, output = run_bounded(["env"], timeout_s=5.0)
    assert (status, "OPENAI_API_KEY" in output, "PATH=" in output) == (0, False, True)


def test_the_model_sees_which_test_failed_and_why(store: Store, path: Path) -> None:
    run = drive(store, path, [TEST, cannot_complete("one look was enough")])
    (fact,) = (
        [fact for fact in run.outcome.evidence if fact.key == "tests_exit_status"] if run.outcome else []
    )
    assert (fact.value, fact.tainted) == (1, True)
    assert "assert 900 == 800" in str(
        store.payloads.get(store.traces.steps("r")[0]["observation"]["raw_ref"])
    )


def test_files_that_are_missing_large_or_no_text_are_refused_in_words(path: Path, world: World) -> None:
    (path / "pricing" / "picture.py").write_bytes(b"\xff\xfe\x00")
    (path / "pricing" / "large.py").write_bytes(b"#" * 100_001)
    with pytest.raises(NotFound, match=r"no file 'pricing/none\.py'"):
        world.read("pricing/none.py")
    with pytest.raises(InvalidInput, match="not a text file"):
        world.read("pricing/picture.py")
    with pytest.raises(InvalidInput, match="larger than 100000 bytes"):
        world.read("pricing/large.py")
    with pytest.raises(InvalidInput, match="at most 100000"):
        world.write(FILE, "#" * 100_001)
    with pytest.raises(InvalidInput, match="does not exist"):
        world.write("pricing/none/x.py", "")


def test_a_folder_that_is_not_of_this_example_is_never_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "coding"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work", encoding="utf-8")
    with pytest.raises(BadLoop, match="move it"):
        make_world(mine)
    subprocess.run(["git", "init", "-q", str(mine)], check=True)
    with pytest.raises(BadLoop, match="move it"):
        make_world(mine)
    assert (mine / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_writing_the_world_anew_undoes_every_change(path: Path, world: World) -> None:
    world.write(FILE, "")
    make_world(path)
    assert (changed(path), world.read(FILE) != "") == ([], True)
