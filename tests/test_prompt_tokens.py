"""What prompts cost stays within the bounds that the project promises."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parent.parent / "benchmarks" / "prompt_tokens.py"

pytestmark = pytest.mark.slow


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARK), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_fifty_steps_take_at_most_a_quarter_of_the_peers_tokens_and_prompts_can_be_cached() -> None:
    ended = run("--json")
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert figures.keys() == {"interlock", "create_agent", "ratio", "reusable_prefix"}
    assert figures["create_agent"] > 50 * 49 / 2 * 1_000  # every result again in every later prompt
    assert figures["interlock"] / figures["create_agent"] <= 0.25
    assert figures["ratio"] <= 0.25
    assert 0.8 <= figures["reusable_prefix"] <= 1


def test_a_number_of_steps_that_makes_no_sense_is_refused_in_one_line() -> None:
    ended = run("--steps", "1")
    assert ended.returncode == 2
    assert "numbers from 2" in ended.stderr.splitlines()[-1]
