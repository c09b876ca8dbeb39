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
    environment = {**os.environ, "NO_COLOR": "1", "COLUMNS": "40"}
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


def test_thoughts_are_shown_once_and_the_steps_are_those_of_a_pipe(tmp_path: Path) -> None:
    live = on_a_terminal(tmp_path, "run", "oncall", "--run-id", "live")
    show = on_a_terminal(tmp_path, "show", "live")
    whole, cut = (
        [line for line in text.splitlines() if line.startswith("  thought")] for text in (live, show)
    )
    assert len(whole) == len(cut) > 1
    assert all(long.startswith(short.rstrip("…")) for long, short in zip(whole, cut, strict=True))
    assert len(max(whole, key=len)) > 40, "only what comes in pieces is not cut to the width"
