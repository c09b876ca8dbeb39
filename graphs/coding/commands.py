"""Running a command for a tool: no shell, no secrets, a time limit, and its whole process group killed."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from interlock.policies.tool_errors import ToolFailure

__all__ = ["run_bounded"]

KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
"""Variables of this process that a command gets. Nothing else, so no key and no token."""


def run_bounded(argv: Sequence[str], timeout_s: float) -> tuple[int, str]:
    """Run a command and return its exit status and its output as text.

    Args:
        timeout_s: seconds after which it is killed, with everything that it started in its group.

    Raises:
        ToolFailure: it was killed at the time limit.
    """
    with subprocess.Popen(
        argv,
        env={name: os.environ[name] for name in KEPT if name in os.environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            raise ToolFailure(
                "tool_error", f"it was killed: it had not ended after {timeout_s:g} s"
            ) from None
        finally:
            with suppress(ProcessLookupError, PermissionError):  # nothing is left of the group
                os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, output.decode("utf-8", "replace")
