"""The world of the example: a scratch git repository with a small package, its tests, and a bug."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from interlock.policies.errors import BadLoop
from interlock.policies.tool_errors import InvalidInput, NotFound, PermissionDenied

__all__ = ["World", "git", "make_world"]

TEMPLATE = Path(__file__).with_name("repository")
MARK = "interlock-example"
"""A file inside .git that marks the repository as this example's, so that no other one is overwritten."""
MAX_BYTES = 100_000
"""Largest file that is read or written."""
AUTHOR = ("-c", "user.name=Interlock example", "-c", "user.email=example@localhost")


def make_world(path: Path) -> None:
    """Write the repository anew, with one commit.

    Raises:
        BadLoop: something else has this name, which is left alone, or git is not installed.
    """
    if path.exists() and not (path / ".git" / MARK).is_file():
        raise BadLoop(f"{path.name} is not a repository of this example; move it, or give another --store")
    fresh = path.with_name(f"{path.name}.{os.getpid()}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    for source in sorted(TEMPLATE.rglob("*.txt")):
        target = fresh / source.relative_to(TEMPLATE).with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    git(fresh, "init", "-q", "--template=", "--initial-branch=main")
    git(fresh, "add", ".")
    git(fresh, *AUTHOR, "commit", "-q", "-m", "Prices with discounts")
    (fresh / ".git" / MARK).touch()
    shutil.rmtree(path, ignore_errors=True)
    fresh.rename(path)


def git(root: Path, *arguments: str) -> str:
    """What a git command prints, with no settings but the repository's own. Raises BadLoop without git."""
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    outside = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        ended = subprocess.run(
            ["git", *arguments], cwd=root, env={**outside, **own}, capture_output=True, text=True, check=True
        )
    except FileNotFoundError:
        raise BadLoop("this example needs git; install it first") from None
    return ended.stdout


class World:
    """The files of the repository. No path leads out of it, whatever it is made of."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self) -> list[str]:
        """Paths of all files, in order, without links and without those of git."""
        plain = (path for path in self._root.rglob("*") if path.is_file() and not path.is_symlink())
        found = (path.relative_to(self._root) for path in plain)
        return sorted(path.as_posix() for path in found if path.parts[0] != ".git")

    def read(self, path: str) -> str:
        """The text of a file.

        Raises:
            NotFound: there is no such file.
            PermissionDenied: the path leads elsewhere.
            InvalidInput: it is no text, or too large.
        """
        place = self._place(path)
        if not place.is_file():
            raise NotFound(f"there is no file {path!r}")
        if place.stat().st_size > MAX_BYTES:
            raise InvalidInput(f"{path} is larger than {MAX_BYTES} bytes")
        try:
            return place.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise InvalidInput(f"{path} is not a text file") from None

    def write(self, path: str, content: str) -> int:
        """Put a text into a file, all of it or none. Returns its size in bytes.

        Raises:
            PermissionDenied: the path leads elsewhere.
            InvalidInput: the text is too large, or its folder does not exist.
        """
        place, data = self._place(path), content.encode()
        if len(data) > MAX_BYTES:
            raise InvalidInput(f"content has {len(data)} bytes; at most {MAX_BYTES} are allowed")
        if not place.parent.is_dir() or place.is_dir():
            raise InvalidInput(f"{path} is a folder, or its folder does not exist")
        fresh = place.with_name(f".{place.name}.{os.getpid()}.new")
        fresh.write_bytes(data)
        os.replace(fresh, place)
        return len(data)

    def diff(self) -> str:
        """What differs from the last commit, as a unified diff."""
        return git(self._root, "diff", "--no-ext-diff", "--no-textconv", "HEAD")

    def _place(self, path: str) -> Path:
        """Where a path inside the repository leads. Links are not followed: they may point anywhere."""
        parts = path.split("/")
        if "\\" in path or "\0" in path or any(part in ("", ".", "..", ".git") for part in parts):
            raise PermissionDenied(f"{path!r} is not a plain path inside the repository")
        place = self._root
        for part in parts:
            place = place / part
            if place.is_symlink():
                raise PermissionDenied(f"{path!r} leads through a link")
        return place
