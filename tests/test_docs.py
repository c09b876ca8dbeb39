"""What the documents show works as shown, and every public name is documented."""

from __future__ import annotations

import doctest
import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import interlock
from tests.readme import Block, blocks_of

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BIN = Path(sys.executable).parent
PARTS = ("graphs", "nodes", "policies", "checkpoints")


def environment() -> dict[str, str]:
    """Commands of this environment first, no keys, and the home folder as it is."""
    kept = {
        key: value for key, value in os.environ.items() if not re.search(r"API_KEY|TOKEN|^INTERLOCK_", key)
    }
    return {**kept, "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}", "PYTHONWARNINGS": "error"}


def execute(block: Block, folder: Path) -> subprocess.CompletedProcess[str]:
    if block.language == "python":
        program = folder / f"block_{block.line}.py"
        program.write_text(block.code, encoding="utf-8")
        command = [sys.executable, str(program)]
    else:
        command = ["bash", "-euo", "pipefail", "-c", block.code]
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_block_of_a_document_runs_as_shown(document: Path, tmp_path: Path) -> None:
    for block in blocks_of(document):
        if block.language not in ("python", "bash") or block.skipped:
            continue
        ended = execute(block, tmp_path)
        assert ended.returncode == block.status, f"{document.name} {block}:\n{ended.stdout}{ended.stderr}"


def unknown_commands(block: Block) -> list[str]:
    """Scripts that do not exist and commands of interlock that it does not have."""
    wrong = []
    for line in block.code.splitlines():
        if script := re.match(r"\s*(\.?\.?/?(?:scripts|\.ci)/\S+)", line):
            if not os.access(ROOT / script[1], os.X_OK):
                wrong.append(script[1])
        elif command := re.match(r"\s*(?:\w+=\S*\s+)*interlock ([a-z]+)", line):
            asked = subprocess.run([BIN / "interlock", command[1], "--help"], capture_output=True, cwd=ROOT)
            if asked.returncode != 0:
                wrong.append(f"interlock {command[1]}")
    return wrong


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_that_are_not_run_name_scripts_and_commands_that_exist(document: Path) -> None:
    skipped = [block for block in blocks_of(document) if block.skipped]
    assert [wrong for block in skipped for wrong in unknown_commands(block)] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_inside_the_project_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("name", interlock.__all__)
def test_every_public_name_loads_has_a_docstring_and_is_mentioned(name: str) -> None:
    value = getattr(interlock, name)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert (value.__doc__ or "").strip()
    mentioned = any(re.search(rf"\b{name}\b", path.read_text(encoding="utf-8")) for path in DOCUMENTS)
    assert mentioned, f"{name} is public, but neither the README nor docs/ says a word about it"


def public_methods() -> list[tuple[str, Any]]:
    """Methods that the public classes of this project define themselves."""
    classes = [getattr(interlock, name) for name in interlock.__all__]
    return [
        (f"{cls.__name__}.{name}", member)
        for cls in classes
        if inspect.isclass(cls) and cls.__module__.startswith("interlock.")
        for name, member in vars(cls).items()
        if inspect.isfunction(member) and not name.startswith("_")
    ]


def test_every_method_of_a_public_class_has_a_docstring() -> None:
    assert [name for name, member in public_methods() if not (member.__doc__ or "").strip()] == []


def has_examples(path: Path) -> bool:
    return bool(re.search(r"^\s*>>> ", path.read_text(encoding="utf-8"), re.MULTILINE))


def modules_with_examples() -> list[str]:
    found: list[str] = []
    for part in PARTS:
        paths = [path for path in (ROOT / part).rglob("*.py") if has_examples(path)]
        found += [f"interlock.{'.'.join(path.relative_to(ROOT).with_suffix('').parts)}" for path in paths]
    front = ROOT / "src" / "interlock"
    for path in front.rglob("*.py"):
        if path == path.resolve() and has_examples(path):
            found.append(".".join(path.relative_to(front.parent).with_suffix("").parts))
    return sorted(name.removesuffix(".__init__") for name in found)


def test_examples_in_docstrings_give_what_they_say() -> None:
    for name in modules_with_examples():
        tried = doctest.testmod(importlib.import_module(name))
        assert tried.attempted > 0, f"the examples of {name} stand where doctest does not look"
        assert tried.failed == 0, f"{tried.failed} examples of {name} give something else"


SAMPLE = """
<!-- not run: needs a key -->
```bash
interlock nosuchcommand
./scripts/nosuchscript
```

<!-- exits 3 -->
```bash
exit 3
```

```python
x = 1
```
<!-- continues -->
```python
print(x)
```
"""


def test_the_comments_before_a_block_say_how_it_is_treated(tmp_path: Path) -> None:
    sample = tmp_path / "sample.md"
    sample.write_text(SAMPLE, encoding="utf-8")
    skipped, exits, _, continued = blocks_of(sample)
    assert unknown_commands(skipped) == ["interlock nosuchcommand", "./scripts/nosuchscript"]
    assert execute(exits, tmp_path).returncode == exits.status == 3
    assert execute(continued, tmp_path).stdout == "1\n"


def test_a_comment_of_an_unknown_kind_is_refused_so_that_a_slip_does_not_skip_a_block(tmp_path: Path) -> None:
    sample = tmp_path / "sample.md"
    sample.write_text("<!-- not-run: oops -->\n```bash\nfalse\n```\n", encoding="utf-8")
    with pytest.raises(ValueError, match="nobody knows"):
        blocks_of(sample)
