"""SIGKILL at every point of a run, then resume: no effect twice, no effect lost, no approval lost."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from interlock import (
    Budget,
    HumanDecision,
    Loop,
    Run,
    contract,
    create_loop,
    inspect,
    open_store,
    resume,
    start,
)
from interlock.policies.errors import RunFinished
from interlock.testing import EffectCounter, ScriptedModel, answer, call

from .harness import Killer, arm, in_child

KINDS: dict[str, dict[str, Any]] = {
    "read": {"effect": "read"},
    "idempotent write": {"effect": "write", "idempotent": True},
    "plain write": {"effect": "write"},
    "high risk": {"effect": "high_risk"},
}


def build(folder: Path, kind: str) -> tuple[Any, Loop, ScriptedModel]:
    effects = EffectCounter(folder / "effects.log")

    @contract(untrusted=False, **KINDS[kind])
    @tool
    def act(target: str) -> str:
        """Act on a target."""
        if kind != "idempotent write" or target not in effects.keys("act"):
            effects.hit("act", target)
        return f"acted on {target}"

    model = ScriptedModel([call("act", target="a"), call("act", target="b"), answer("done")])
    store = open_store(folder / "runs.db")
    return store, create_loop(model, [act], store=store, budget=Budget(max_steps=6)), model


def go(folder: Path, kind: str, killer: Killer | None = None) -> None:
    """Start or take up the run, and play the person: who looks at the world before answering."""
    store, loop, _ = build(folder, kind)
    if killer is not None:
        arm(loop, killer)
    known = any(row.run_id == "r" for row in store.runs.list())
    run = take_up(store, loop) if known else start(loop, "act on a and b", run_id="r")
    for _ in range(12):
        if run.status != "waiting":
            break
        run = resume(loop, "r", person(run, folder))
    if killer is not None and killer.at is None:
        (folder / "points.json").write_text(json.dumps(killer.points), encoding="utf-8")
    (folder / "run.json").write_text(run.model_dump_json(), encoding="utf-8")
    store.close()


def take_up(store: Any, loop: Loop) -> Run:
    """The outcome counts as soon as it is in the store, even when the last checkpoint is missing."""
    try:
        return resume(loop, "r")
    except RunFinished:
        return inspect(store, "r")


def person(run: Run, folder: Path) -> HumanDecision:
    (question,) = run.pending
    if question["kind"] == "approval":
        return HumanDecision(type="approve", by="ops")
    arguments: Any = question["arguments"]
    done = arguments["target"] in EffectCounter(folder / "effects.log").keys("act")
    return (
        HumanDecision(type="respond", message="it happened")
        if done
        else HumanDecision(type="approve", by="ops")
    )


def points_of(folder: Path, kind: str) -> list[str]:
    folder.mkdir()
    if in_child(lambda: go(folder, kind, Killer(None))) != 0:
        raise RuntimeError("the undisturbed run failed")
    points: list[str] = json.loads((folder / "points.json").read_text(encoding="utf-8"))
    return points


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_kill_at_any_point_changes_nothing_in_the_world(tmp_path: Path, kind: str) -> None:
    points = points_of(tmp_path / "undisturbed", kind)
    assert len(points) > 20
    for at in range(1, len(points) + 1):
        folder = tmp_path / f"kill{at}"
        folder.mkdir()
        where = f"killed at point {at}, {points[at - 1]}"
        assert in_child(partial(go, folder, kind, Killer(at))) == -9, where
        assert in_child(partial(go, folder, kind)) == 0, where
        check(folder, kind, where)


def check(folder: Path, kind: str, where: str) -> None:
    run = Run.model_validate_json((folder / "run.json").read_text(encoding="utf-8"))
    assert run.status == "completed", f"{where}: {run}"
    counts = Counter(EffectCounter(folder / "effects.log").keys("act"))
    assert set(counts) == {"a", "b"}, f"{where}: an effect was lost: {counts}"
    if kind != "read":
        assert set(counts.values()) == {1}, f"{where}: an effect happened twice: {counts}"
        assert run.outcome is not None
        assert [change.status for change in run.outcome.changes] == ["done", "done"], where
    with open_store(folder / "runs.db") as store:
        records = store.traces.steps("r")
        assert [record["step"] for record in records] == [1, 2, 3], where
        assert all("observation" in record for record in records[:2]), where


def test_a_killed_run_keeps_its_question(tmp_path: Path) -> None:
    def wait() -> None:
        _, loop, _ = build(tmp_path, "high risk")
        start(loop, "act on a and b", run_id="r")
        Killer(1).point("while waiting")

    assert in_child(wait) == -9
    store, loop, model = build(tmp_path, "high risk")
    with store:
        assert resume(loop, "r").status == "waiting"
        assert model.prompts == []
        resume(loop, "r", HumanDecision(type="approve"))
    assert EffectCounter(tmp_path / "effects.log").keys("act") == ["a"]
