"""E9: a lookup that returns 120 KB; what matters of it reaches the model in under 2 KB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from interlock import Store, open_store, start
from interlock.graphs import crm
from interlock.graphs.crm.world import ACCOUNTS, World
from interlock.testing import ScriptedModel, answer


@pytest.fixture
def world(tmp_path: Path) -> Path:
    crm.make_world(tmp_path / "crm.db")
    return tmp_path / "crm.db"


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


def test_the_field_that_matters_of_120_kb_reaches_the_model_in_under_2_kb(world: Path, store: Store) -> None:
    model = ScriptedModel(crm.script_for(crm.GOAL))
    run = start(crm.build(model, store, world=world), crm.GOAL, run_id="r")
    assert run.outcome is not None
    assert run.outcome.status == "completed"
    assert run.outcome.answer == "Contract K-2041-2025 renews on 2026-05-30; the key accounts team owns it."
    _, looked, _ = store.traces.steps("r")
    seen = looked["observation"]
    assert seen["size_before"] > 110_000
    assert seen["size_after"] < 2_000
    shown = [str(message.content) for message in model.prompts[2]]
    (observation,) = [text for text in shown if "renews on" in text and "read_account" not in text[:4]][:1]
    assert len(observation.encode()) < 2_000
    assert sum(map(len, shown)) < 10_000, "the whole prompt is smaller than a tenth of the lookup"


def test_the_whole_document_stays_in_the_store_by_its_hash(world: Path, store: Store) -> None:
    start(crm.build(ScriptedModel(crm.script_for(crm.GOAL)), store, world=world), crm.GOAL, run_id="r")
    ref = store.traces.steps("r")[1]["result"]["raw_ref"]
    assert store.payloads.get(ref) == World(world).document("C-2041")


def test_the_world_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one.db", "two.db"):
        crm.make_world(tmp_path / name)
    one, two = World(tmp_path / "one.db"), World(tmp_path / "two.db")
    for account in ACCOUNTS:
        assert one.document(account) == two.document(account)
        assert len(json.dumps(one.document(account), separators=(",", ":"))) == pytest.approx(
            120_000, rel=0.1
        )


def test_an_answer_that_looked_at_nothing_is_not_accepted(world: Path, store: Store) -> None:
    run = start(crm.build(ScriptedModel([answer("In May.")] * 3), store, world=world), crm.GOAL)
    assert run.status == "failed"


def test_an_account_that_is_not_there_is_no_answer(world: Path, store: Store) -> None:
    goal = "When does the contract of Nobody renew?"
    run = start(crm.build(ScriptedModel(crm.script_for(goal)), store, world=world), goal)
    assert run.outcome is not None
    assert run.outcome.reason == "cannot_complete"
