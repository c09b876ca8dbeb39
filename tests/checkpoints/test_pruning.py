"""Pruning: ended runs go, what anybody still needs stays."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import Checkpoint, empty_checkpoint

from interlock.checkpoints import Store, open_store
from interlock.policies.observations import ToolResult

from .helpers import AT, NOON, SetClock, intent, outcome, question  # noqa: TID251 (not the folder at the root)

TOMORROW = NOON + timedelta(days=1)


def add(store: Store, run_id: str, *payloads: str, ended: bool = True, recorded: bool = True) -> list[str]:
    """A run with payloads that its steps, or else only its checkpoint, refer to."""
    store.runs.create(run_id, "goal", "f", at=AT)
    refs = [store.payloads.put(payload)[0] for payload in payloads]
    if recorded:
        store.traces.record(run_id, 1, {"refs": refs})
    where: RunnableConfig = {"configurable": {"thread_id": run_id, "checkpoint_ns": ""}}
    checkpoint = cast(Checkpoint, {**empty_checkpoint(), "channel_values": {"refs": refs}})
    store.checkpointer.put(where, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})
    if ended:
        store.runs.finish(run_id, outcome(), AT)
    return refs


def left(store: Store, refs: list[str]) -> list[bool]:
    found = []
    for ref in refs:
        try:
            store.payloads.get(ref)
            found.append(True)
        except KeyError:
            found.append(False)
    return found


def threads(store: Store) -> set[str]:
    return {found.config.get("configurable", {})["thread_id"] for found in store.checkpointer.list(None)}


def prune(store: Store, clock: SetClock, before: datetime = TOMORROW) -> int:
    clock.time = max(clock.time, TOMORROW)
    return store.prune(before)


def test_an_ended_run_goes_with_everything_that_is_only_its_own(store_path: Path) -> None:
    clock = SetClock()
    with open_store(store_path, clock=clock) as store:
        refs = add(store, "old", "of the old run", "shared")
        add(store, "live", "shared", ended=False)
        store.ledger.begin(intent(run_id="old"))
        assert prune(store, clock) == 1
        assert [run.run_id for run in store.runs.list()] == ["live"]
        assert (store.traces.steps("old"), store.ledger.of_run("old"), threads(store)) == ([], [], {"live"})
        assert left(store, refs) == [False, True]
        assert prune(store, clock) == 0


def test_a_run_that_has_not_ended_or_waits_for_a_person_stays(store_path: Path) -> None:
    clock = SetClock()
    with open_store(store_path, clock=clock) as store:
        add(store, "open", ended=False)
        add(store, "asking")
        store.approvals.open(question(run_id="asking"))
        assert prune(store, clock) == 0
        assert len(store.approvals.pending()) == 1
        assert threads(store) == {"open", "asking"}


def test_a_run_that_ended_at_the_bound_or_later_stays(store_path: Path) -> None:
    clock = SetClock()
    with open_store(store_path, clock=clock) as store:
        add(store, "r")
        assert prune(store, clock, NOON) == 0
        assert prune(store, clock, NOON + timedelta(seconds=1)) == 1


def test_a_payload_stays_while_only_a_checkpoint_or_the_ledger_of_a_live_run_refers_to_it(
    store_path: Path,
) -> None:
    clock = SetClock()
    with open_store(store_path, clock=clock) as store:
        add(store, "old")
        in_checkpoint = add(store, "live", "result of the step that runs now", ended=False, recorded=False)
        in_ledger, _ = store.payloads.put("result of the effect")
        store.ledger.begin(intent(run_id="live"))
        store.ledger.finish("k1", ToolResult(status="ok", raw_ref=in_ledger), "", AT)
        assert prune(store, clock) == 1
        assert left(store, [*in_checkpoint, in_ledger]) == [True, True]


def test_a_payload_stored_just_now_stays_because_its_run_may_not_have_saved_the_reference(
    store_path: Path,
) -> None:
    clock = SetClock()
    with open_store(store_path, clock=clock) as store:
        refs = add(store, "old", "also stored by a run that is about to save it")
        clock.time = TOMORROW
        store.payloads.put("also stored by a run that is about to save it")
        assert prune(store, clock) == 1
        assert left(store, refs) == [True]


def test_vacuum_gives_the_room_of_pruned_runs_back(store_path: Path) -> None:
    clock = SetClock()
    payloads = [f"{number} " + "".join(map(str, range(number, number + 700))) for number in range(200)]
    with open_store(store_path, clock=clock) as store:
        add(store, "old", *payloads)
    before = store_path.stat().st_size
    with open_store(store_path, clock=clock) as store:
        assert prune(store, clock) == 1
        store.vacuum()
        assert store_path.stat().st_size < before / 2


def test_a_bound_without_a_timezone_is_refused() -> None:
    with open_store() as store, pytest.raises(ValueError, match="timezone"):
        store.prune(datetime(2026, 1, 1))
