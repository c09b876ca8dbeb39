"""Kill a real process again and again with SIGKILL, take its run up, and count what went wrong in the world.

One action on the world, then an answer, for each kind of tool: read, idempotent write, plain write, high
risk. First the named points: before and after the intent, in the tool before and after its effect, after the
record, before the checkpoint, while waiting. Then effects in doubt, with each answer that a person can give:
it happened, it did not and runs now, stop. Then every point at which the loop touches its store, its model or
its tool. Then any point by chance, often with a second kill during the resume. What counts:

    double_effects   a target was acted on more than once (a read may be repeated)
    lost_effects     the outcome and the world differ, or the trace lacks a step
    lost_approvals   a question or decision in the store is gone, was asked again, or was passed over
    stuck_runs       no outcome, or not the one that the answers lead to, after one more resume

    python benchmarks/crash.py [--kills N] [--seed N] [--json]

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

from _crashes import COUNTED, Crash, Crashed, crashes, play, points_of
from _measure import table_of

KILLS = 400
ANSWERS = ("happened", "run it", "stop")
Pair = tuple[Crash, Crashed]


def played(kills: int, seed: int) -> list[Pair]:
    """Crashes, until there were so many kills."""
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = crashes(points_of(folder), seed)
        gc.freeze()  # a child that collects garbage would copy every page of its parent
        while left := kills - sum(crashed.kills for _, crashed in pairs):
            crash = next(plan)
            crashed = play(crash, folder / f"crash{len(pairs)}", most=left)
            pairs.append((crash, crashed))
            _tell(crash, crashed)
    return pairs


def _tell(crash: Crash, crashed: Crashed) -> None:
    for name, text in crashed.faults:
        print(f"{name}: {text}: {crash}", file=sys.stderr)


def counted(pairs: Iterable[Pair]) -> dict[str, int]:
    """The figures."""
    results = [crashed for _, crashed in pairs]
    faults = Counter(name for crashed in results for name, _ in crashed.faults)
    return {"kills": sum(crashed.kills for crashed in results), **{name: faults[name] for name in COUNTED}}


def rows_of(pairs: list[Pair]) -> list[dict[str, object]]:
    """The figures by kind of tool, with the answers to effects in doubt."""
    rows: list[dict[str, object]] = []
    for kind in [*dict.fromkeys(crash.kind for crash, _ in pairs), "all"]:
        some = [pair for pair in pairs if kind in (pair[0].kind, "all")]
        said = Counter(word for _, crashed in some for word in crashed.answers)
        rows.append({"tool": kind, **counted(some), **{word: said[word] for word in ANSWERS}})
    return rows


def main() -> int:
    """Exit status: 1 when something went wrong."""
    parser = argparse.ArgumentParser(description="Kill processes and count what went wrong in the world.")
    parser.add_argument("--kills", type=int, metavar="N", default=KILLS, help=f"{KILLS}")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="of the choice by chance: 0")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.kills < 1:
        parser.error("--kills takes numbers from 1")
    pairs = played(options.kills, options.seed)
    figures = counted(pairs)
    print(json.dumps(figures) if options.json else table_of(rows_of(pairs)))
    return int(any(figures[name] for name in COUNTED))


if __name__ == "__main__":
    raise SystemExit(main())
