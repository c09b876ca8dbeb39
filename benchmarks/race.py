"""Let two processes go at one run at once, again and again, and count what went wrong in the world.

In turn: two people answer one approval (approve and reject, approve and approve, edit and approve), through
`resume` and through LangGraph's own Command, which takes no lease; and two processes continue one run whose
process was killed. In every other turn the second process is a few milliseconds late, so that it comes into
each part of the first one's run. What counts:

    double_effects   more than one effect, however the race went
    two_winners      the two processes, the store and the world do not agree on one winner: both were refused
                     or none, both drove the run, or the world is not as the recorded decision says
    stuck_runs       a process failed with anything but a refusal by name, or the run then has no outcome

    python benchmarks/race.py [--races N] [--json]

Ends with 1 when any of them is not 0, and says on the error output what happened where.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from _measure import table_of
from _races import COUNTED, RACES, Race, Raced, race

COUNT = 200
LATE_S = 0.007
LATEST_S = 0.06
"""In every other turn the second process starts later, by more from turn to turn: up to a whole run later."""
Pair = tuple[Race, Raced]


def raced(count: int) -> list[Pair]:
    """So many races, the kinds in turn."""
    pairs: list[Pair] = []
    gc.freeze()  # a child that collects garbage would copy every page of its parent
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            one = RACES[number % len(RACES)]
            turn = number // len(RACES)
            late_s = turn * LATE_S % LATEST_S if turn % 2 else 0.0
            result = race(one, Path(folder) / f"race{number}", late_s)
            pairs.append((one, result))
            for name, text in result.faults:
                print(f"{name}: {text}: {one.name}", file=sys.stderr)
    return pairs


def counted(pairs: Iterable[Pair]) -> dict[str, int]:
    """The figures."""
    results = [result for _, result in pairs]
    faults = Counter(name for result in results for name in {name for name, _ in result.faults})
    return {"races": len(results), **{name: faults[name] for name in COUNTED}}


def rows_of(pairs: list[Pair]) -> list[dict[str, object]]:
    """The figures by kind of race, with what the processes that came second were told."""
    rows: list[dict[str, object]] = []
    for name in [*dict.fromkeys(one.name for one, _ in pairs), "all"]:
        some = [pair for pair in pairs if name in (pair[0].name, "all")]
        told = Counter(note["refused"] for _, result in some for note in result.notes if note["refused"])
        refusals = ", ".join(f"{word} {times}" for word, times in sorted(told.items()))
        rows.append({"race": name, **counted(some), "refused": refusals})
    return rows


def main() -> int:
    """Exit status: 1 when something went wrong."""
    parser = argparse.ArgumentParser(description="Race two processes and count what went wrong in the world.")
    parser.add_argument("--races", type=int, metavar="N", default=COUNT, help=f"{COUNT}")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.races < 1:
        parser.error("--races takes numbers from 1")
    pairs = raced(options.races)
    figures = counted(pairs)
    print(json.dumps(figures) if options.json else table_of(rows_of(pairs)))
    return int(any(figures[name] for name in COUNTED))


if __name__ == "__main__":
    raise SystemExit(main())
