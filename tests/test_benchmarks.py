"""The benchmarks run and print what they promise; the figures themselves are not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
FIGURES = {"cpu_ms_per_step", "wall_ms_per_step", "peak_mb", "file_bytes", "resume_ms"}

pytestmark = pytest.mark.slow


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / "overhead.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    ended = run("--steps", "4", "--payload", "100000", "--json")
    assert ended.returncode == 0, ended.stderr
    printed: list[dict[str, Any]] = json.loads(ended.stdout)
    return printed


def test_overhead_reports_ours_beside_the_peer_in_one_json_list(rows: list[dict[str, Any]]) -> None:
    assert [row["case"] for row in rows] == ["interlock", "create_agent"]
    assert all(row.keys() == {"case", "steps"} | FIGURES and row["steps"] == 4 for row in rows)
    assert all(row[figure] > 0 for row in rows for figure in FIGURES)


def test_every_payload_is_in_the_file_of_each_case_so_that_sizes_can_be_compared(
    rows: list[dict[str, Any]],
) -> None:
    distinct = 3 * 100_000 * 0.7  # three results of base64 text, which compresses to three quarters at best
    assert all(row["file_bytes"] > distinct for row in rows)


def test_a_number_of_steps_that_makes_no_sense_is_refused_in_one_line() -> None:
    ended = run("--steps", "0")
    assert ended.returncode == 2
    assert "numbers from 1" in ended.stderr.splitlines()[-1]


def test_an_intent_and_its_completion_cost_a_small_part_of_a_step() -> None:
    ended = run("--steps", "100", "--case", "effects", "supersteps", "--json")
    assert ended.returncode == 0, ended.stderr
    effects, bare = (row["cpu_ms_per_step"] for row in json.loads(ended.stdout))
    assert effects < bare / 3, f"{effects} ms beside {bare} ms for LangGraph and the checkpointer alone"
