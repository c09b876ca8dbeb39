"""The shape of the code, checked on its syntax trees: which part may know which, and what no file may do."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("policies", "nodes", "checkpoints", "graphs")
FRONT = "src/interlock"
MAX_LINES = 300

STDLIB = frozenset(sys.stdlib_module_names)
IMPURE = frozenset({"time", "random", "secrets", "uuid", "socket", "subprocess", "threading", "asyncio"})

MAY_IMPORT = {
    "policies": ("interlock.policies", "pydantic", "jmespath"),
    "nodes": ("interlock.nodes", "interlock.policies"),
    "checkpoints": ("interlock.checkpoints", "interlock.policies"),
    "graphs": ("interlock.graphs", "interlock.nodes", "interlock.policies", "interlock.checkpoints"),
}
"""What each part may import of this project; for policies, of anything beyond the standard library."""

MAY_NOT_IMPORT = {
    "nodes": ("sqlite3", "sqlite_utils", "langgraph.checkpoint", "langgraph.graph", "langgraph.pregel"),
    "checkpoints": ("langgraph.graph", "langgraph.pregel", "langchain", "langchain_openai", "jmespath"),
    "graphs": ("sqlite3", "sqlite_utils", "click", "rich"),
}
"""What would tie a part to something that is another part's concern. A ready-made loop is a folder below
graphs/; its tools are somebody's world, so this says nothing about them."""

PLACES = re.compile(r"(?<![\w.~-])/(?:work|root|tmp|home|Users)/\w")
"""Absolute paths of somebody's machine. (Only this line may spell them out.)"""


def files_of(*folders: str) -> list[Path]:
    """Python files of folders, each once: the links below src/interlock lead to the folders at the root."""
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return sorted(path for path in found if path == path.resolve())


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


SHIPPED = files_of(*PARTS, FRONT)
EVERYTHING = files_of(*PARTS, FRONT, "tests", "benchmarks", ".ci")


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, at the top or inside a function; relative imports as `.name`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield module
            if module in ("interlock", "langgraph"):  # `from interlock import graphs` names the part last
                yield from (f"{module}.{alias.name}" for alias in node.names)


def within(module: str, roots: tuple[str, ...]) -> bool:
    return any(module == root or module.startswith(f"{root}.") for root in roots)


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def calls_of(tree: ast.AST) -> Iterator[str]:
    """Dotted names of everything that is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_the_parts_are_there_so_that_the_other_rules_judge_something() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in SHIPPED} >= {"policies", "nodes", "graphs", "src"}


def banned(part: str, path: Path) -> tuple[str, ...]:
    ready_made = part == "graphs" and path.parent != ROOT / part
    return () if ready_made else MAY_NOT_IMPORT.get(part, ())


@pytest.mark.parametrize("part", PARTS)
def test_imports_follow_the_arrows(part: str) -> None:
    wrong = [
        f"{named(path)} imports {module}"
        for path in files_of(part)
        for module in imports_of(tree_of(path))
        if (module.partition(".")[0] in ("interlock", "") and not within(module, MAY_IMPORT[part]))
        or within(module, banned(part, path))
    ]
    assert wrong == []


def test_policies_know_nothing_but_themselves_the_standard_library_pydantic_and_jmespath() -> None:
    wrong = [
        f"{named(path)} imports {module}"
        for path in files_of("policies")
        for module in imports_of(tree_of(path))
        if module.partition(".")[0] not in STDLIB and not within(module, MAY_IMPORT["policies"])
    ]
    assert wrong == []


def test_policies_have_no_clock_no_chance_and_no_input_or_output() -> None:
    wrong = []
    for path in files_of("policies"):
        tree = tree_of(path)
        wrong += [f"{named(path)} imports {m}" for m in imports_of(tree) if m.partition(".")[0] in IMPURE]
        wrong += [
            f"{named(path)} calls {call}"
            for call in calls_of(tree)
            if call in ("open", "print", "input", "exec", "eval")
            or re.search(r"\b(now|utcnow|today)$|\.(read|write)_(text|bytes)$|^os\.", call)
        ]
    assert wrong == []


def test_shipped_code_never_asserts_because_python_may_be_run_without_assertions() -> None:
    wrong = [
        f"{named(path)}:{node.lineno}"
        for path in SHIPPED
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Assert)
    ]
    assert wrong == []


def broad_handlers(tree: ast.AST) -> Iterator[ast.ExceptHandler]:
    """Handlers that would also catch LangGraph's control flow, which is how an interrupt travels."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = ast.unparse(node.type) if node.type else "BaseException"
            if re.search(r"\b(Base)?Exception\b", caught):
                yield node


def lets_control_flow_pass(handler: ast.ExceptHandler, lines: list[str]) -> bool:
    """It raises again what it has caught, or a comment on its first line says why it need not."""
    body = ast.unparse(handler)
    return bool(re.search(r"^\s*raise$", body, re.MULTILINE)) or "#" in lines[handler.lineno - 1]


def guarded_by_an_earlier_handler(tree: ast.AST, handler: ast.ExceptHandler) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and handler in node.handlers:
            earlier = node.handlers[: node.handlers.index(handler)]
            return any(one.type and "GraphBubbleUp" in ast.unparse(one.type) for one in earlier)
    return False


@pytest.mark.parametrize("path", files_of("policies", "nodes", "graphs"), ids=named)
def test_no_handler_swallows_an_interrupt(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    wrong = [
        f"{named(path)}:{handler.lineno}"
        for handler in broad_handlers(tree)
        if not lets_control_flow_pass(handler, lines) and not guarded_by_an_earlier_handler(tree, handler)
    ]
    assert wrong == []


def test_only_authorize_pauses_and_it_does_so_at_one_place() -> None:
    pauses = [
        named(path)
        for path in SHIPPED
        for call in calls_of(tree_of(path))
        if call.rpartition(".")[2] == "interrupt"
    ]
    assert pauses == ["nodes/authorize.py"]


def test_shipped_files_stay_short_enough_to_read() -> None:
    lengths = {named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SHIPPED}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    if listed.returncode != 0:
        pytest.skip("not a git checkout: the files of the project cannot be told from others")
    wrong = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path == Path(__file__).resolve() or path.is_symlink() or not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        wrong += [f"{name}: {found.group()}" for found in PLACES.finditer(text)]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "passes"),
    [
        ("try:\n    f()\nexcept Exception:\n    pass", False),
        ("try:\n    f()\nexcept:\n    pass", False),
        ("try:\n    f()\nexcept (ValueError, Exception) as e:\n    raise Wrapped(e) from e", False),
        ("try:\n    f()\nexcept Exception as e:\n    if is_control_flow(e):\n        raise\n    g(e)", True),
        ("try:\n    f()\nexcept GraphBubbleUp:\n    raise\nexcept Exception:\n    pass", True),
        ("try:\n    f()\nexcept Exception:  # pure code, nothing pauses in here\n    pass", True),
    ],
)
def test_the_rule_on_handlers_tells_good_from_bad(source: str, passes: bool) -> None:
    tree, lines = ast.parse(source), source.splitlines()
    judged = [
        lets_control_flow_pass(handler, lines) or guarded_by_an_earlier_handler(tree, handler)
        for handler in broad_handlers(tree)
    ]
    assert judged == [passes]


def test_the_rule_on_imports_sees_every_way_to_write_one() -> None:
    source = "import interlock.nodes.x\nfrom interlock import graphs\ndef f():\n    from ..nodes import y\n"
    assert set(imports_of(ast.parse(source))) == {
        "interlock.nodes.x",
        "interlock",
        "interlock.graphs",
        "..nodes",
    }


def test_the_rule_on_places_finds_paths_but_not_addresses() -> None:
    home = "/home/" + "someone"
    assert PLACES.search(f"open('{home}/x')")
    assert not PLACES.search(f"https://example.org{home}")
