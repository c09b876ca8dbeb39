"""What all benchmarks share: payloads, figures of a process, fresh processes, medians, a table."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["file_bytes", "in_fresh_process", "median_of", "payload_of", "peak_mb", "table_of"]


def payload_of(number: int, size: int) -> str:
    """Text of `size` characters that differs with every number and that hardly compresses."""
    return base64.b64encode(hashlib.shake_256(str(number).encode()).digest(size)).decode()[:size]


def peak_mb() -> float:
    """Largest resident memory of this process so far, MB, libraries included."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss also remembers the process that this one was forked from
        found = re.search(r"^VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"), re.MULTILINE)
        if found:
            return int(found[1]) / 1024
    scale = 1024**2 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale


def file_bytes(path: Path) -> int:
    """Size of a database with whatever still lies beside it (`-wal`), bytes."""
    return sum(
        part.stat().st_size for part in path.parent.glob(f"{path.name}*") if not part.name.endswith("-shm")
    )


def in_fresh_process(script: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The JSON object that a script prints last, run in a process of its own. Raises CalledProcessError."""
    quiet = {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false", "PYTHONHASHSEED": "0"}
    command = [sys.executable, script, *arguments]
    ended = subprocess.run(
        command, env={**os.environ, **quiet}, stdout=subprocess.PIPE, text=True, check=True
    )
    printed: dict[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return printed


def median_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The median of each figure; what is not a number is taken from the first row."""
    return {
        key: statistics.median(row[key] for row in rows) if isinstance(value, float) else value
        for key, value in rows[0].items()
    }


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as aligned text, keys as headings."""
    if not rows:
        return "nothing was measured"
    cells = [list(rows[0]), *([_shown(value) for value in row.values()] for row in rows)]
    widths = [max(len(cell) for cell in column) for column in zip(*cells, strict=True)]
    return "\n".join(_aligned(row, widths) for row in cells)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(row, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)])


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
