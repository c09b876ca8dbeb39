"""Run a benchmark as its user does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

__all__ = ["figures_of", "run"]


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(BENCHMARKS / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=400)


def figures_of(script: str, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit status, and the one JSON object that was printed. What went wrong is shown with a failing test."""
    ended = run(script, *arguments, "--json")
    print(ended.stderr, file=sys.stderr)
    figures: dict[str, Any] = json.loads(ended.stdout)
    return ended.returncode, figures
