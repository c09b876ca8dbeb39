"""The command line in this process: quick, with everything real but the process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from interlock.cli import cli

Invoke = Callable[..., Result]

MODULE = '''
from interlock import contract
from interlock.testing import ScriptedModel, answer, ask, call

@contract(effect="read", untrusted=False)
def look(where: str) -> str:
    """Look somewhere."""
    print("a tool that prints")
    return "seen \\x1b[31m\\u202e" + where

@contract(effect="high_risk", untrusted=False)
def act(where: str) -> str:
    """Act somewhere."""
    return "acted on " + where

TOOLS = [look, act]
NOT_A_LIST = look

def model():
    return ScriptedModel([call("look", where="here"), answer("done")])

def asks():
    return ScriptedModel([ask("which region?"), answer("done")])

def loops():
    return ScriptedModel([call("look", where=str(n)) for n in range(9)])

def fails():
    raise RuntimeError("no licence")
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to work in, without settings from outside; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    for name in ("INTERLOCK_STORE", "INTERLOCK_DEBUG", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def call(folder: Path) -> Invoke:
    """Run one command in the folder."""
    return lambda *words: CliRunner().invoke(cli, list(words), catch_exceptions=False)


@pytest.fixture
def mine(folder: Path) -> Path:
    """A user's module with tools and models."""
    path = folder / "mine.py"
    path.write_text(MODULE, encoding="utf-8")
    return path


def document(result: Result) -> Any:
    """The one JSON document on standard output."""
    return json.loads(result.stdout)
