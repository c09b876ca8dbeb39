"""The command as users start it: new processes, signals, pipes, and how soon it answers."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from interlock.testing import EffectCounter

INTERLOCK = Path(sys.executable).with_name("interlock")
ROLL_BACK = "What changed in deploy 4471? Roll it back."

DIES = '''
import os, signal, time
from pathlib import Path
from interlock import contract
from interlock.testing import EffectCounter, ScriptedModel, answer, call

EFFECTS = EffectCounter("effects.log")

@contract(effect="read", untrusted=False)
def first(name: str) -> str:
    """Always works."""
    EFFECTS.hit("first")
    return name

@contract(effect="read", untrusted=False)
def second(how: str) -> str:
    """Sends its own process a signal, once."""
    if not Path("signalled").exists():
        Path("signalled").touch()
        os.kill(os.getpid(), getattr(signal, how))
        time.sleep(30)
    EFFECTS.hit("second")
    return "alive"

TOOLS = [first, second]

def killed():
    return ScriptedModel([call("first", name="a"), call("second", how="SIGKILL"), answer("done")])

def interrupted():
    return ScriptedModel([call("first", name="a"), call("second", how="SIGINT"), answer("done")])
'''


def interlock(*words: str, cwd: Path, **extra: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("INTERLOCK_", "OPENAI_"))}
    return subprocess.run(
        [str(INTERLOCK), *words],
        cwd=cwd,
        env={**kept, "PYTHONWARNINGS": "error", **extra},
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # may come ignored
    )


def printed(ended: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(ended.stdout)


def test_a_run_that_waits_is_decided_by_the_printed_command_in_a_new_process(tmp_path: Path) -> None:
    asked = interlock("run", "oncall", ROLL_BACK, cwd=tmp_path)
    assert asked.returncode == 3, asked.stderr
    command = re.search(r"^ +(\S+ resume \S+ --approve --approval-id \S+)$", asked.stdout, re.MULTILINE)
    assert command is not None
    path = f"{INTERLOCK.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    decided = subprocess.run(
        ["bash", "-c", command[1]],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert decided.returncode == 0, decided.stderr
    assert "rollback" in decided.stdout
    assert "2.31.0 is live again" in decided.stdout


def test_a_killed_run_goes_on_where_it_was(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(DIES)
    words = ("run", "go", "--tools", "dies:TOOLS", "--model", "dies:killed", "--run-id", "k")
    assert interlock(*words, cwd=tmp_path).returncode == -9
    assert [row["status"] for row in printed(interlock("runs", "--json", cwd=tmp_path))] == ["lost"]
    ended = interlock("resume", "k", "--json", cwd=tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert (printed(ended)["answer"], printed(ended)["steps"]) == ("done", 3)
    assert EffectCounter(tmp_path / "effects.log").count("first") == 1


def test_ctrl_c_ends_with_one_line_that_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "dies.py").write_text(DIES)
    words = ("run", "go", "--tools", "dies:TOOLS", "--model", "dies:interrupted", "--run-id", "i")
    ended = interlock(*words, cwd=tmp_path)
    assert ended.returncode == 130
    assert ended.stderr.count("\n") == 1
    assert "resume i" in ended.stderr
    assert interlock("resume", "i", cwd=tmp_path).returncode == 0


SLOW = '''
import time
from pathlib import Path
from interlock import contract
from interlock.testing import ScriptedModel, answer, call

@contract(effect="read", untrusted=False)
def wait() -> str:
    """Waits for a file."""
    Path("started").touch()
    while not Path("go").exists():
        time.sleep(0.02)
    return "went"

TOOLS = [wait]

def model():
    return ScriptedModel([call("wait"), call("wait"), answer("done")])
'''


def test_a_run_that_is_driven_elsewhere_is_busy_and_stops_when_it_is_cancelled(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    words = [str(INTERLOCK), "run", "go", "--tools", "slow:TOOLS", "--model", "slow:model", "--run-id", "s"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 60
        while not (tmp_path / "started").exists() and time.monotonic() < until:
            time.sleep(0.05)
        busy = interlock("resume", "s", "--json", cwd=tmp_path)
        assert (busy.returncode, printed(busy)["kind"]) == (2, "RunBusy")
        asked = interlock("cancel", "s", cwd=tmp_path)
        assert asked.returncode == 0, asked.stderr
        assert "before its next action" in asked.stdout
    finally:
        (tmp_path / "go").touch()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, "")
    assert "cancelled (cancelled) after 1 step" in out


def test_a_reader_that_goes_away_ends_neither_the_run_nor_the_quiet(tmp_path: Path) -> None:
    script = f"set -o pipefail; '{INTERLOCK}' run oncall --run-id r1 | true"
    piped = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert printed(interlock("show", "r1", "--json", cwd=tmp_path))["status"] == "completed"


@pytest.mark.parametrize(("setting", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_for_terminals_that_want_them(
    tmp_path: Path, setting: dict[str, str], coloured: bool
) -> None:
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "60", **setting}
    process = subprocess.Popen(
        [str(INTERLOCK), "run", "oncall"], cwd=tmp_path, env=env, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    text = b""
    while True:
        try:
            chunk = os.read(ours, 65_536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        text += chunk
    os.close(ours)
    assert process.wait(60) == 0
    assert (b"\x1b[" in text) is coloured
    steps = re.sub(r"\x1b\[[0-9;]*m", "", text.decode()).partition("completed")[0].splitlines()[2:]
    assert max(map(len, steps)) <= 60


def test_an_output_that_knows_only_ascii_is_no_reason_to_fail(tmp_path: Path) -> None:
    ended = interlock("run", "oncall", "Was ist los im Café?", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr
    assert "Caf\\xe9" in ended.stdout


def test_help_answers_at_once_because_heavy_imports_wait() -> None:
    heavy = ("langgraph", "langchain_core", "pydantic", "rich")
    code = f"import sys, interlock.cli; print([name for name in {heavy} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"
    spent = []
    for _ in range(3):
        began = os.times()
        subprocess.run([str(INTERLOCK), "--help"], capture_output=True, check=True)
        ended = os.times()  # of the children: a busy machine makes the clock on the wall say nothing
        spent.append(
            ended.children_user + ended.children_system - began.children_user - began.children_system
        )
    assert min(spent) < 0.3


def test_the_package_runs_as_a_module_too(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "interlock", "--version"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.stdout.startswith("interlock ")
