"""Execute the notebooks from top to bottom, each in a fresh kernel of this environment, without the network.

Usage: python .ci/notebooks.py [NOTEBOOK ...]      default: every notebook of notebooks/
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
CELL_TIMEOUT_S = 120

GUARD = """
import sys, pytest_socket
assert sys.prefix == {prefix!r}, f"the kernel runs in {{sys.prefix}}, not in {prefix}"
pytest_socket.socket_allow_hosts(["127.0.0.1", "::1"], allow_unix_socket=True)
"""
"""Runs before the first cell: the right environment, and loopback as the only network."""


def execute(path: Path) -> None:
    """Run one notebook in an empty folder. Raises CellExecutionError at the first cell that fails."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(GUARD.format(prefix=sys.prefix)))
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT_S,
            kernel_name="python3",
            extra_arguments=[
                "--log-level=ERROR"
            ],  # it warns of unencrypted TCP, which stays on loopback here
            resources={"metadata": {"path": folder}},
        ).execute()


def main(names: list[str]) -> int:
    """Exit status: 1 when a notebook failed."""
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # a kernel of the same name in the user's home would win
    paths = [Path(name) for name in names] or sorted(NOTEBOOKS.glob("*.ipynb"))
    if not paths:
        print("there is no notebook in notebooks/", file=sys.stderr)
    failed = int(not paths)
    for path in paths:
        began = time.monotonic()
        try:
            execute(path)
        except CellExecutionError as error:
            failed = 1
            print(f"{path.name}: failed\n{error}", file=sys.stderr)
        else:
            print(f"{path.name}: ok, {time.monotonic() - began:.1f} s")
    return failed


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
