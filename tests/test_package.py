"""The wheel that users get: built once, looked into, and installed into an empty environment."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PARTS = ("graphs", "nodes", "policies", "checkpoints")
DATA = (".sql", ".patch", ".json", ".txt", ".typed")

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    """Standard output of a command that has to succeed."""
    words = [str(part) for part in command]
    ended = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, f"{command}:\n{ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the source distribution as an installer would."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_installs_one_name_and_nothing_generic(names: set[str]) -> None:
    assert {name.partition("/")[0] for name in names} == {"interlock", "interlock-0.1.0.dist-info"}


def test_the_wheel_holds_every_module_and_data_file_of_the_project(names: set[str]) -> None:
    front = ROOT / "src" / "interlock"
    wanted = {
        f"interlock/{part}/{path.relative_to(ROOT / part)}"
        for part in PARTS
        for path in (ROOT / part).rglob("*")
        if path.suffix in (".py", *DATA)
    }
    wanted |= {
        f"interlock/{path.relative_to(front)}"
        for path in front.rglob("*")
        if path.suffix in (".py", *DATA) and path == path.resolve()
    }
    assert wanted - names == set()


def test_the_wheel_is_typed_licensed_and_starts_a_command(names: set[str], wheel: Path) -> None:
    assert "interlock/py.typed" in names
    assert "interlock-0.1.0.dist-info/licenses/LICENSE" in names
    with zipfile.ZipFile(wheel) as archive:
        commands = archive.read("interlock-0.1.0.dist-info/entry_points.txt").decode()
    assert "interlock = interlock.cli:main" in commands


def test_the_wheel_passes_check_wheel_contents(wheel: Path) -> None:
    run(Path(sys.executable).parent / "check-wheel-contents", wheel, cwd=ROOT)


def test_core_dependencies_have_an_upper_bound_so_that_a_new_major_version_is_a_decision() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert [need for need in project["dependencies"] if "<" not in need] == []


def test_the_wheel_alone_imports_and_runs_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    """The installed files without this checkout; the dependencies are those of the running environment."""
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (here,) = {path for path in map(Path, sys.path) if (path / "langgraph").is_dir()}
    (site / "zz_dependencies.pth").write_text(f"{here}\n", encoding="utf-8")
    empty = tmp_path / "empty"
    empty.mkdir()
    code = "from interlock import *; import interlock; print(interlock.__file__)"
    assert run(python, "-I", "-c", code, cwd=empty).startswith(str(site))
    assert "resume" in run(python, "-I", "-m", "interlock", "--help", cwd=empty)


def test_importing_interlock_loads_neither_langgraph_nor_langchain_until_a_name_is_used(
    tmp_path: Path,
) -> None:
    code = "import sys, interlock; print([m for m in sys.modules if m.partition('.')[0] in {heavy}])"
    heavy = {"langgraph", "langchain_core", "pydantic", "sqlite_utils", "openai", "rich"}
    assert run(sys.executable, "-c", code.replace("{heavy}", repr(heavy)), cwd=tmp_path) == "[]\n"
