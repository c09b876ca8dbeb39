"""A small model that is confused for real works on the incident: whatever it does, the loop keeps its word.

Nothing here says that an answer is right. INTERLOCK_LOCAL_RUNS says how many runs; 20 take some minutes.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from interlock import Budget, HumanDecision, Run, Store, inspect, open_store, resume, start
from interlock.cli import cli
from interlock.graphs import oncall
from interlock.local import local_model

RUNS = int(os.environ.get("INTERLOCK_LOCAL_RUNS", "3"))
BUDGET = Budget(max_steps=5, max_seconds=180, max_tokens=40_000, max_repeats=2, max_invalid=2)
ROLL_BACK = f"{oncall.GOAL} Roll it back."

pytestmark = [pytest.mark.slow, pytest.mark.local]


def rows(world: Path, table: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(world) as connection:
        return connection.execute(f"SELECT * FROM {table}").fetchall()


def answer_to(question: dict[str, Any], number: int) -> HumanDecision:
    """A person who approves in every other run and knows nothing more than the model."""
    if "approve" in json.dumps(question["review_configs"]):
        return HumanDecision(type="approve" if number % 2 else "reject", by="ops", reason="as planned")
    return HumanDecision(type="respond", by="ops", message="Nobody knows.")


def worked(store: Store, world: Path, number: int) -> Run:
    """One run to its outcome, with a person who answers."""
    goal = ROLL_BACK if number % 4 == 3 else oncall.GOAL
    loop = oncall.build(local_model(), store, world=world, budget=BUDGET)
    run = start(loop, goal)
    for _ in range(BUDGET.max_steps + 1):
        if run.outcome is not None:
            break
        run = resume(loop, run.run_id, answer_to(run.pending[0], number))
    return run


def check(run: Run, store: Store, world: Path) -> None:
    """What holds for every run, whatever the model says."""
    assert run.outcome is not None
    usage = run.outcome.usage
    assert 1 <= run.outcome.steps <= BUDGET.max_steps
    assert usage.input_tokens + usage.output_tokens <= BUDGET.max_tokens
    assert (str(usage.cost), usage.unpriced_calls) == ("0", 0)
    approved = {one.question.digest for one in store.approvals.of_run(run.run_id) if one.decision
                and one.decision.type in ("approve", "edit")}  # fmt: skip
    happened = rows(world, "rollbacks")
    assert len(happened) <= len(approved)
    assert len({row[0] for row in happened}) == len(happened)
    assert all(change.approved_by == "ops" for change in run.outcome.changes)
    if run.outcome.status == "completed":
        assert "deploy" in {fact.key for fact in run.outcome.evidence}
    assert inspect(store, run.run_id) == run


def test_every_run_ends_in_an_outcome_within_its_budget_and_nothing_happens_unapproved(
    weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reasons: Counter[str] = Counter()
    for number in range(RUNS):
        world = tmp_path / f"world{number}.db"
        oncall.make_world(world)
        with open_store(tmp_path / "runs.db") as store:
            run = worked(store, world, number)
            check(run, store, world)
        reasons[str(run.outcome.reason) if run.outcome else "none"] += 1
    with capsys.disabled():
        print(
            f"\n{RUNS} runs of {weights.stem}:", *(f"{name} {count}" for name, count in reasons.most_common())
        )
    assert sum(reasons.values()) == RUNS


def test_the_command_line_runs_the_example_on_a_model_that_nobody_scripted(
    weights: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "runs.db"
    words = ["run", "oncall", "--model", "local", "--store", str(path), "--max-steps", "2", "--json"]
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    printed = json.loads(capsys.readouterr().out)
    assert ended.value.code in (0, 1, 3)
    assert printed["status"] in ("completed", "failed", "stopped", "waiting")
    with open_store(path) as store:
        steps = store.traces.steps(printed["run_id"])
    assert all(step["model"]["protocol"] == "json_schema" for step in steps)
