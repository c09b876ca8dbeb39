"""The policy commands, as a person uses them on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).parent.parent / "data"
POLICY, CASES = str(DATA / "support_desk.toml"), str(DATA / "support_desk_cases.toml")

TOOLS = '''
from interlock.nodes.tools import contract

@contract(effect="read")
def find_order(order_id: str) -> str:
    """Find an order."""
    raise RuntimeError("a tool was called")

def refund(order_id: str, amount: float, currency: str = "EUR") -> str:
    """Refund an order."""
    raise RuntimeError("a tool was called")

@contract(effect="write")
def send_mail(to: list[str], text: str) -> str:
    """Send a mail."""
    raise RuntimeError("a tool was called")

def delete_customer(customer_id: str) -> str:
    """Delete a customer."""
    raise RuntimeError("a tool was called")

ALL = [find_order, refund, send_mail, delete_customer]
TWICE = [refund, refund]
'''


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with the tools of the example in `desk.py`."""
    (tmp_path / "desk.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "broken.py").write_text("raise ValueError('two\\nlines')", encoding="utf-8")
    return tmp_path


def policy(folder: Path, *arguments: str, tools: str = "desk:ALL") -> subprocess.CompletedProcess[str]:
    program = "from interlock.cli.policy import policy; policy(prog_name='policy')"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *arguments, "--tools", tools],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def changed(folder: Path, old: str, new: str) -> str:
    text = Path(POLICY).read_text(encoding="utf-8")
    assert old in text
    (folder / "changed.toml").write_text(text.replace(old, new), encoding="utf-8")
    return "changed.toml"


def test_check_prints_what_each_tool_would_get(desk: Path) -> None:
    ended = policy(desk, "check", POLICY)
    assert (ended.returncode, ended.stderr) == (0, "")
    tools = [line for line in ended.stdout.splitlines() if not line.startswith(" ")]
    assert [line.split(": ")[:2] for line in tools] == [
        ["delete_customer (high_risk)", "deny"],
        ["find_order (read)", "allow"],
        ["refund (high_risk)", "needs_approval, by finance or shift lead, within 3600 s"],
        ["send_mail (write)", "allow"],
    ]
    assert "denied unless amount is at least 0.01 and is at most 500" in ended.stdout


def test_check_prints_one_json_document(desk: Path) -> None:
    ended = policy(desk, "check", POLICY, "--json")
    document = json.loads(ended.stdout)
    assert (document["policy"], document["problems"], ended.returncode) == ("support desk", [], 0)
    verdicts = {one["tool"]: one["verdict"]["kind"] for one in document["tools"]}
    assert verdicts["refund"] == "needs_approval"
    assert verdicts.keys() == {"delete_customer", "find_order", "refund", "send_mail"}


def test_check_refuses_a_file_with_problems_one_line_for_each(desk: Path) -> None:
    file = changed(
        desk, "[tools.find_order]", "[tools.find_orders.arguments.x]\nmaximum = 1\n[tools.find_ordr]"
    )
    ended = policy(desk, "check", file)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert [line.split(": ")[:2] for line in ended.stderr.splitlines()] == [
        [file, "tools.find_orders"],
        [file, "tools.find_ordr"],
    ]
    as_json = policy(desk, "check", file, "--json")
    assert as_json.returncode == 2
    assert len(json.loads(as_json.stdout)["problems"]) == 2


def test_check_notes_an_allow_that_the_contract_overrules(desk: Path) -> None:
    file = changed(
        desk, "[tools.find_order]", '[tools.delete_customer]\nverdict = "allow"\n[tools.find_order]'
    )
    ended = policy(desk, "check", file)
    assert ended.returncode == 0
    assert "note: allow in tools.delete_customer has no effect" in ended.stdout


def test_the_cases_of_the_example_pass(desk: Path) -> None:
    ended = policy(desk, "test", POLICY, CASES)
    assert (ended.returncode, ended.stderr) == (0, "")
    *lines, summary = ended.stdout.splitlines()
    assert all(line.startswith("pass  case ") for line in lines)
    assert summary == f"{len(lines)} passed, 0 failed"


def test_a_failing_case_is_told_and_ends_with_1(desk: Path) -> None:
    file = changed(desk, "maximum = 500", "maximum = 5000")
    ended = policy(desk, "test", file, CASES)
    assert ended.returncode == 1
    (failed,) = [line for line in ended.stdout.splitlines() if line.startswith("FAIL")]
    assert "a refund beyond the cap" in failed
    assert "expected deny [tools.refund.arguments.amount], got needs_approval" in failed
    as_json = json.loads(policy(desk, "test", file, CASES, "--json").stdout)
    assert (as_json["failed"], [one["passed"] for one in as_json["cases"]].count(False)) == (1, 1)


@pytest.mark.parametrize(
    ("file", "tools", "part"),
    [
        ("missing.toml", "desk:ALL", "missing.toml: cannot be read"),
        (".", "desk:ALL", ".: cannot be read"),
        ("desk.py", "desk:ALL", "desk.py: "),
        (POLICY, "desk", "write it as package.module:NAME"),
        (POLICY, "desk:NONE", "no attribute 'NONE'"),
        (POLICY, "nowhere:ALL", "No module named 'nowhere'"),
        (POLICY, "broken:ALL", "ValueError: two lines"),
        (POLICY, "desk:refund", "not a list of tools"),
        (POLICY, "desk:TWICE", "two tools are named 'refund'"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_ends_with_2(
    desk: Path, file: str, tools: str, part: str
) -> None:
    ended = policy(desk, "check", file, tools=tools)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert len(ended.stderr.splitlines()) == 1
    assert part in ended.stderr


def test_a_file_of_cases_that_is_not_right_ends_with_2(desk: Path) -> None:
    (desk / "cases.toml").write_text("[[case]]\ntool = 1\ntool = 2\n", encoding="utf-8")
    ended = policy(desk, "test", POLICY, "cases.toml")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "cases.toml: line 3: a key or a table stands twice" in ended.stderr


def test_importing_the_commands_is_quick_because_it_loads_no_framework() -> None:
    program = (
        "import sys, interlock.cli.policy; "
        "sys.exit(any(m.split('.')[0] in ('langchain_core', 'langgraph', 'pydantic') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
