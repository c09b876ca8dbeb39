"""Code blocks of a Markdown file, with the comments in front of them that say how to treat them.

A block runs unless the line before it is one of these comments:

    <!-- not run: REASON -->   only checked: the scripts and commands that it names must exist
    <!-- exits N -->           runs, and has to end with status N
    <!-- continues -->         runs after the code of the block before it, in one program
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Block", "blocks_of"]

_BLOCK = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n+)?^```(?P<language>[\w-]*)[^\n]*\n(?P<code>.*?)^```[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block."""

    line: int
    """Line of its fence, from 1."""
    language: str
    code: str
    skipped: str | None
    """Why it is not run; None when it is."""
    status: int
    """Exit status that it has to end with."""

    def __str__(self) -> str:
        return f"line {self.line}, {self.language}"


def blocks_of(path: Path) -> list[Block]:
    """The fenced blocks of a file, in order. Raises ValueError for a comment of a kind that is not known."""
    text = path.read_text(encoding="utf-8")
    blocks: list[Block] = []
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("language")) + 1
        blocks.append(_block(found, line, blocks[-1] if blocks else None))
    return blocks


def _block(found: re.Match[str], line: int, before: Block | None) -> Block:
    note, code, language = found["note"] or "", found["code"], found["language"]
    skipped, status = None, 0
    if note.startswith("not run: "):
        skipped = note.removeprefix("not run: ")
    elif note == "continues" and before is not None and before.language == language:
        code = before.code + code
    elif exits := re.fullmatch(r"exits (\d+)", note):
        status = int(exits[1])
    elif note and not note.startswith("note: "):
        raise ValueError(f"line {line}: nobody knows what the comment {note!r} means for this block")
    return Block(line, language, code, skipped, status)
