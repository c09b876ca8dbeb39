"""What the coding loop can do: look at files, change those of one package, and run the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from interlock.graphs.coding import suite
from interlock.graphs.coding.commands import run_bounded
from interlock.graphs.coding.world import World
from interlock.nodes.tools import contract

__all__ = ["coding_tools", "suite_command"]


def suite_command(root: Path) -> list[str]:
    """The command that tests the repository at `root`: its exit status is 0 when all tests pass."""
    return [sys.executable, "-I", str(Path(suite.__file__)), str(root)]


def coding_tools(root: Path, *, tests_timeout_s: float = 60.0) -> list[Callable[..., Any]]:
    """The tools over the repository at `root`, each with its contract.

    Args:
        tests_timeout_s: seconds after which a run of the tests is killed.
    """
    world = World(root)

    @contract(effect="read", untrusted=False, provides={"files": "files"})
    def list_files() -> dict[str, Any]:
        """The paths of all files of the repository."""
        return {"files": world.files()}

    @contract(effect="read")
    def read_file(path: str) -> dict[str, Any]:
        """The text of one file.

        Args:
            path: its path inside the repository, for example "README.md".
        """
        return {"path": path, "text": world.read(path)}

    @contract(
        effect="write",
        idempotent=True,
        untrusted=False,
        timeout_s=10.0,
        targets=["path"],
        scope={"path": {"pattern": rf"{suite.PACKAGE}/\w+\.py"}},
    )
    def write_file(path: str, content: str) -> dict[str, Any]:
        """Put a text into a file of the package, in place of what it holds. Tests cannot be changed.

        Args:
            path: its path inside the repository; only Python files of the package.
            content: the whole new text of the file.
        """
        return {"path": path, "bytes": world.write(path, content)}

    # A read: it works on a copy that is thrown away, so that it may run again and again, after a crash too,
    # and leaves nothing that an answer would have to report. Its output is what the code printed: outside
    # content. What the code does beyond the copy is for the container to prevent (see suite.py).
    @contract(effect="read", timeout_s=tests_timeout_s + 5.0, provides={"tests_exit_status": "exit_status"})
    def run_tests() -> dict[str, Any]:
        """Run the test suite on the package as it is now. Exit status 0: all tests pass; 1: some fail."""
        status, output = run_bounded(suite_command(root), tests_timeout_s)
        return {"exit_status": status, "output": output.strip()}

    @contract(effect="read", provides={"diff": "diff"})
    def show_diff() -> dict[str, Any]:
        """What was changed since the last commit, as a unified diff."""
        return {"diff": world.diff()}

    return [list_files, read_file, write_file, run_tests, show_diff]
