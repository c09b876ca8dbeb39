"""The test suite of the scratch repository, run as a program: its exit status is that of the tests.

It tests a throw-away copy: the tests and settings of the last commit with the package as it is now. Neither
an edited test nor a file that the code leaves behind can make it pass, and a process that ends with status 0
before pytest has reported is no pass. Only the standard library is imported, so that it starts fast.

This is no sandbox. The code under test runs with the rights of whoever runs the loop; where the model is not
to be trusted with those, run this program in a container.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

__all__ = ["PACKAGE", "run_suite"]

PACKAGE = "pricing"
"""The folder that is taken from the working tree; everything else is taken from the last commit."""
NOT_REPORTED = 70
"""Exit status when the tests ended with status 0 and without a report."""
MAX_OUTPUT = 8_000
"""Most that is kept of what the tests print, its end, in characters."""
MAX_WRITTEN = 20_000_000
"""Largest file that the code under test may write, its output included, in bytes."""
PYTEST = (
    *(sys.executable, "-B", "-m", "pytest", "-q", "--no-header", "--tb=short", "--color=no"),
    *("-p", "no:cacheprovider"),
)
_TOOK = re.compile(r" in \d+\.\d+s.*$", re.MULTILINE)


def run_suite(root: Path) -> tuple[int, str]:
    """Test the repository at `root`. Returns the exit status, and what pytest printed without its timing."""
    with tempfile.TemporaryDirectory() as folder:
        copy, report, printed = (Path(folder, name) for name in ("copy", "report.xml", "printed.txt"))
        subprocess.run(
            ["git", "clone", "-q", "--template=", "--no-hardlinks", str(root), str(copy)], check=True
        )
        shutil.rmtree(copy / PACKAGE)
        shutil.copytree(root / PACKAGE, copy / PACKAGE, symlinks=True)
        with printed.open("wb") as output:
            status = subprocess.run(
                [*PYTEST, f"--junit-xml={report}"],
                cwd=copy,
                env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            ).returncode
        text = _TOOK.sub("", printed.read_text(encoding="utf-8", errors="replace"))[-MAX_OUTPUT:].strip()
        if not report.exists():
            return status or NOT_REPORTED, f"{text}\nthe tests ended without a report".strip()
        return status, text


def _bound_files() -> None:
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (MAX_WRITTEN, MAX_WRITTEN))


if __name__ == "__main__":
    _bound_files()
    exit_status, shown = run_suite(Path(sys.argv[1]))
    print(shown)
    sys.exit(exit_status if exit_status >= 0 else 128 - exit_status)
