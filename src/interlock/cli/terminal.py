"""Where people and programs read: one document for programs, safe and cut lines for people."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Generator
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any

import click

from interlock.policies.text import visible

__all__ = ["Terminal"]

PIPED_WIDTH = 160
"""Columns of a line when nobody sees a terminal."""


class Terminal:
    """Standard output and error of one command. A reader that goes away does not end the run."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self._out = sys.stdout
        terminal = self._out.isatty()
        self.live = terminal and not as_json
        """Somebody may be watching."""
        self._room = -1
        """Columns left in a line that goes on; -1 when none does."""
        self._colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.width = max(40, shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if terminal else PIPED_WIDTH)
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, ValueError):  # a stream of a test, or one that is closed
                stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]

    def line(self, text: str = "", tone: str | None = None, *, label: str = "", whole: bool = False) -> None:
        """One line for a person, cut to the width; with `whole`, all lines of the text. Silent in JSON.

        Args:
            tone: colour, or "bold" or "dim".
        """
        if self.as_json:
            return
        self._close()
        head = f"  {label:<10}" if label else ""
        lines = visible(text).expandtabs(4).splitlines() or [""]
        if not whole:
            lines = [self._cut(" ".join(one.strip() for one in lines).strip(), len(head))]
        for number, one in enumerate(lines):
            start = head if number == 0 else " " * len(head)
            self._write(f"{self._style(start, 'dim')}{self._style(one, tone)}")

    def piece(self, text: str, tone: str | None = None, *, label: str = "") -> None:
        """Part of a line that goes on with the next piece, up to the width. A label begins another line."""
        if label:
            self._close()
            head = f"  {label:<10}"
            self._room = self.width - len(head)
            self._write(self._style(head, "dim"), end="")
        shown = " ".join(visible(text).expandtabs(4).splitlines())
        if len(shown) >= self._room > 0:
            shown = f"{shown[: self._room - 1]}…"
        self._write(self._style(shown[: max(0, self._room)], tone), end="")
        self._room = max(0, self._room - len(shown))

    def _close(self) -> None:
        if self._room >= 0:
            self._room = -1
            self._write("")

    def document(self, value: Any) -> None:
        """The one JSON document of this command."""
        self._write(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))

    def refuse(self, text: str, kind: str) -> None:
        """One line on standard error, and in JSON the document that stands for it."""
        told = " ".join(visible(text).split())
        if self.as_json:
            self.document({"error": told, "kind": kind})
        with suppress(OSError):
            click.echo(f"error: {told}", err=True)

    @contextmanager
    def kept_clean(self) -> Generator[None]:
        """In JSON, what tools print goes to standard error: standard output holds the document only."""
        if not self.as_json:
            yield
            return
        with redirect_stdout(sys.stderr):
            yield

    def _write(self, text: str, end: str = "\n") -> None:
        try:
            click.echo(f"{text}{end}", file=self._out, nl=False, color=self._colour)
        except BrokenPipeError:
            # The interpreter flushes once more at its end, which must find a place to write to.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())

    def _cut(self, text: str, used: int) -> str:
        room = self.width - used
        return text if len(text) <= room else f"{text[: room - 1]}…"

    def _style(self, text: str, tone: str | None) -> str:
        if not self._colour or tone is None:
            return text
        return click.style(text, **{tone: True}) if tone in ("bold", "dim") else click.style(text, fg=tone)
