"""What a patch changed: files, lines, and one setting's old and new value. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["FileChange", "Setting", "read_patch", "setting_change"]

_NUMBER = re.compile(r"\d[\d_]*")
_MILLISECONDS = re.compile(r"\d\s*ms\b|ms\b\s*[=:]|millis", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of a unified diff."""

    path: str
    removed: list[str] = field(default_factory=list[str])
    added: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting that changed from one value to one other, in seconds."""

    name: str
    old_s: float
    new_s: float
    files: int
    """Files in which it changed."""


def read_patch(text: str) -> list[FileChange]:
    """The files of a unified diff, in its order. Raises ValueError when the text is not one."""
    files: list[FileChange] = []
    for line in text.splitlines():
        if line.startswith("+++ "):
            files.append(FileChange(line[4:].removeprefix("b/")))
        elif line.startswith(("diff ", "index ", "--- ", "@@ ")):
            continue
        elif files and line.startswith("-"):
            files[-1].removed.append(line[1:])
        elif files and line.startswith("+"):
            files[-1].added.append(line[1:])
    if not files:
        raise ValueError("the text is not a unified diff: it names no file")
    return files


def setting_change(files: Sequence[FileChange], name: str) -> Setting | None:
    """How a duration changed, however each file spells its name; None unless all files agree.

    Args:
        name: the setting's name in words, for example "retry budget".
    """
    spelled = re.compile(r"[\s_.-]*".join(map(re.escape, name.split())), re.IGNORECASE)
    pairs = [
        (before, after)
        for one in files
        if (before := _seconds(one.removed, spelled)) is not None
        and (after := _seconds(one.added, spelled)) is not None
    ]
    if len(set(pairs)) != 1:
        return None
    return Setting(name, *pairs[0], files=len(pairs))


def _seconds(lines: Sequence[str], spelled: re.Pattern[str]) -> float | None:
    """The value of the setting in these lines, in seconds."""
    for line in lines:
        found = spelled.search(line)
        rest = line[found.end() :] if found else ""
        if number := _NUMBER.search(rest):
            value = int(number.group().replace("_", ""))
            return value / 1000 if _MILLISECONDS.search(rest) else float(value)
    return None
