"""On a live terminal a thought is shown word by word while it comes, and only once."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path
from subprocess import Popen


def on_a_terminal(folder: Path, *words: str) -> str:
    """What a command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "interlock", *words]
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "60"}
    with Popen(command, stdout=theirs, stdin=theirs, stderr=theirs, cwd=folder, env=environment) as process:
        os.close(theirs)
        written = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # how Linux says that nobody writes any more
                break
            if not piece:
                break
            written += piece
    os.close(ours)
    assert process.returncode == 0, written.decode()
    return written.decode().replace("\r\n", "\n")


MODEL = """
from langchain_core.messages import AIMessage
from interlock.testing import ScriptedModel, answer
TOOLS = []
def model():
    return ScriptedModel([AIMessage("Only thinking aloud."), answer("done", thought="Say so. " + "x " * 99)])
"""


def thoughts(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("  thought")]


def test_a_thought_is_shown_while_it_comes_also_when_nothing_is_decided(tmp_path: Path) -> None:
    (tmp_path / "thinking.py").write_text(MODEL, encoding="utf-8")
    tools, model = ("--tools", "thinking:TOOLS"), ("--model", "thinking:model")
    live = on_a_terminal(tmp_path, "run", "Say so", *tools, *model, "--run-id", "live")
    show = on_a_terminal(tmp_path, "show", "live")
    assert len(thoughts(show)) == 1
    assert thoughts(live) == ["  thought   Only thinking aloud.", *thoughts(show)]
    assert len(thoughts(live)[1]) == 60
    assert thoughts(live)[1].endswith("…")
