"""Every error as one line and an exit status, never a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn

import click

from interlock.cli.terminal import Terminal
from interlock.policies.errors import InterlockError, LoopBroken

__all__ = ["COMPLETED", "FAILED", "INTERRUPTED", "USAGE", "WAITING", "Cli", "Interrupted"]

COMPLETED, FAILED, USAGE, WAITING, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit status: completed; failed, stopped or cancelled; bad input; waiting for a person; Ctrl-C."""


class Interrupted(Exception):
    """Ctrl-C while a run was driven. Its text says how to go on."""


class Cli(click.Group):
    """A group of commands that return their exit status."""

    def main(self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run one command and leave the process."""
        words = list(sys.argv[1:] if args is None else args)
        name = prog_name or "interlock"
        terminal = Terminal(as_json="--json" in words)
        call = super().main
        extra.setdefault(
            "obj", datetime.now(UTC)
        )  # when the command began: what was asked later was not seen
        sys.exit(_status(lambda: call(words, name, standalone_mode=False, **extra), terminal))


def _status(call: Callable[[], Any], terminal: Terminal) -> int:
    """The exit status of a command; its error, if there is one, is reported."""
    try:
        return int(call() or COMPLETED)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except Exception as error:  # the outermost handler: no graph runs above it
        if os.environ.get("INTERLOCK_DEBUG") and not isinstance(error, click.ClickException):
            raise
        text, status = _told(error)
        terminal.refuse(text, type(error).__name__)
        return status


def _told(error: Exception) -> tuple[str, int]:
    match error:
        case click.Abort():
            return "interrupted", INTERRUPTED
        case Interrupted():
            return str(error), INTERRUPTED
        case click.ClickException():
            return error.format_message(), USAGE
        case InterlockError():
            return str(error), FAILED if isinstance(error, LoopBroken) else USAGE
        case _:
            text = f"{type(error).__name__}: {error}; INTERLOCK_DEBUG=1 shows where it came from"
            return text, FAILED
