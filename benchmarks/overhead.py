"""What a step costs beside the model and the tool: CPU, time, memory, file size, and the time to resume.

Runs N steps with a model that answers at once and a tool that returns a few KB, everything on disk in sync
mode, beside langchain's create_agent with SqliteSaver on the same job. Each case has a process of its own, in
which a short run comes first so that imports and caches are not counted. Medians of three up to 200 steps.

    python benchmarks/overhead.py [--steps N ...] [--payload BYTES] [--case NAME ...] [--json]

A step is one model call; the last one answers, all others call the tool. CPU is the process's, all threads.
`resume_ms`: open the file in a new store and load the newest state (file cache warm, building not counted).
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from _measure import file_bytes, in_fresh_process, median_of, peak_mb, table_of

STEPS = (50, 200, 1000)
PAYLOAD = 2048
NAMES = ("interlock", "create_agent")
NAMED = ("writes", "supersteps", "effects")
"""Measured only when named: the loop with an effect at every step; LangGraph and the checkpointer alone; the
ledger's intents and completions alone."""
REPEATED_UP_TO = 200
REPEATS = 3
WARM_UP_STEPS = 3


def measure(name: str, steps: int, size: int, folder: Path) -> dict[str, Any]:
    """Figures of one run, taken in this process."""
    from _cases import CASES

    warm_up = CASES[name](folder / "warm-up.db", WARM_UP_STEPS, size)
    warm_up.open()
    warm_up.build()
    warm_up.run()
    warm_up.close()

    path = folder / "runs.db"
    case = CASES[name](path, steps, size)
    case.open()
    case.build()
    cpu, wall = time.process_time(), time.perf_counter()
    case.run()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    case.close()
    peak = peak_mb()  # of the run; loading the state again comes after it
    return {
        "case": name,
        "steps": steps,
        "cpu_ms_per_step": round(cpu * 1000 / steps, 3),
        "wall_ms_per_step": round(wall * 1000 / steps, 3),
        "peak_mb": round(peak, 1),
        "file_bytes": file_bytes(path),
        "resume_ms": round(resumed(CASES[name](path, steps, size), steps), 3),
    }


def resumed(case: Any, steps: int) -> float:
    """Milliseconds to load the last step from the file. Raises RuntimeError when it is not there."""
    began = time.perf_counter()
    case.open()
    opened = time.perf_counter() - began
    case.build()
    began = time.perf_counter()
    found = case.last_step()
    loaded = time.perf_counter() - began
    case.close()
    if found != steps:
        raise RuntimeError(f"the file holds the state of step {found}, not of step {steps}")
    return (opened + loaded) * 1000


def measured(name: str, steps: int, size: int) -> dict[str, Any]:
    """The median of fresh processes."""
    rows: list[dict[str, Any]] = []
    for _ in range(REPEATS if steps <= REPEATED_UP_TO else 1):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["--worker", name, folder, "--steps", str(steps), "--payload", str(size)]
            rows.append(in_fresh_process(__file__, arguments))
    return median_of(rows)


def options_of() -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description="What a step costs beside the model and the tool.")
    parser.add_argument("--steps", type=int, nargs="+", metavar="N", default=STEPS, help="50 200 1000")
    parser.add_argument("--payload", type=int, metavar="BYTES", default=PAYLOAD, help="of each result: 2048")
    parser.add_argument("--case", nargs="+", choices=[*NAMES, *NAMED], default=NAMES, help="the first two")
    parser.add_argument("--json", action="store_true", help="print one JSON list")
    parser.add_argument("--worker", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if min(options.steps) < 1 or options.payload < 1:
        parser.error("--steps and --payload take numbers from 1")
    return options


def main() -> None:
    """Measure what the arguments name, and print it."""
    options = options_of()
    if options.worker:
        name, folder = options.worker
        print(json.dumps(measure(name, options.steps[0], options.payload, Path(folder))))
        return
    rows = [measured(name, steps, options.payload) for steps in options.steps for name in options.case]
    print(json.dumps(rows, indent=2) if options.json else table_of(rows))


if __name__ == "__main__":
    main()
