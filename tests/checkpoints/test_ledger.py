"""The ledger: an intent before each effect, and never two permissions for one key."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.checkpoints import Store, open_store
from interlock.policies.effects import EffectRow
from interlock.policies.errors import StoreError
from interlock.policies.observations import ToolResult

from .helpers import AT, LATER, at_once, intent, workers  # noqa: TID251 (not the folder at the root)

OK = ToolResult(status="ok", raw_ref="a" * 64, size=3)


def only(store: Store) -> EffectRow:
    (row,) = store.ledger.of_run("r1")
    return row


def test_the_first_intent_may_run_and_the_second_is_told_what_is_known(store_path: Path) -> None:
    with open_store(store_path) as store:
        assert store.ledger.begin(intent()) is None
        assert store.ledger.begin(intent(started_at=LATER)) == intent()


def test_a_finished_effect_gives_its_first_result_for_ever(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.ledger.begin(intent())
        store.ledger.finish("k1", OK, "rolled back", AT)
        store.ledger.finish("k1", ToolResult(status="tool_error", error="again"), "again", LATER)
        store.ledger.doubt("k1", LATER)
        store.ledger.clear("k1", LATER)
        store.ledger.retry("k1", LATER)
        known = store.ledger.begin(intent())
        assert known is not None
        assert (known.state, known.result, known.summary, known.finished_at) == (
            "done",
            OK,
            "rolled back",
            AT,
        )
        assert known.attempts == 1


def test_a_cleared_effect_may_run_once_more_and_counts_the_attempt(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.ledger.begin(intent())
        store.ledger.doubt("k1", AT)
        assert only(store).state == "unknown"
        store.ledger.clear("k1", AT)
        assert store.ledger.begin(intent(approved_by="alice")) is None
        assert (only(store).state, only(store).attempts, only(store).approved_by) == ("in_flight", 2, "alice")
        assert store.ledger.begin(intent()) == only(store)


def test_a_retry_of_an_idempotent_action_is_counted_under_the_same_key(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.ledger.begin(intent())
        store.ledger.retry("k1", AT)
        assert only(store).attempts == 2


def test_what_a_timed_out_call_returned_later_is_kept_and_decides_nothing(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.ledger.begin(intent())
        store.ledger.doubt("k1", AT)
        store.ledger.late("k1", "it worked after all", LATER)
        assert (only(store).state, only(store).late_result) == ("unknown", "it worked after all")


def test_effects_of_a_run_come_in_the_order_in_which_they_started(store_path: Path) -> None:
    with open_store(store_path) as store:
        for key in ("z", "a", "m"):
            store.ledger.begin(intent(key))
        store.ledger.begin(intent("other", run_id="r2"))
        store.ledger.clear("z", AT)
        store.ledger.begin(intent("z"))
        assert [row.key for row in store.ledger.of_run("r1")] == ["z", "a", "m"]


def test_a_key_of_another_action_is_refused(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.ledger.begin(intent())
        with pytest.raises(StoreError, match="belongs to another action"):
            store.ledger.begin(intent(digest="d2"))


def test_an_unknown_key_is_refused(store_path: Path) -> None:
    with open_store(store_path) as store, pytest.raises(StoreError, match="no effect with the key k9"):
        store.ledger.finish("k9", OK, "", AT)


@given(st.lists(st.sampled_from(["begin", "retry", "finish", "doubt", "clear", "late"]), max_size=20))
def test_between_two_permissions_there_is_always_a_clear(calls: list[str]) -> None:
    with open_store() as store:
        assert store.ledger.begin(intent()) is None
        cleared = False
        for call in calls:
            state = only(store).state
            match call:
                case "begin":
                    granted = store.ledger.begin(intent()) is None
                    assert granted == cleared
                    cleared = False
                case "finish":
                    store.ledger.finish("k1", OK, "", AT)
                    cleared = False
                case "late":
                    store.ledger.late("k1", "text", AT)
                case "clear":
                    store.ledger.clear("k1", AT)
                    cleared = state != "done"
                case "retry":
                    store.ledger.retry("k1", AT)
                    cleared = False
                case _:
                    store.ledger.doubt("k1", AT)


BEGIN = """
import sys
from interlock.checkpoints import open_store
from interlock.policies.effects import EffectRow
store = open_store(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    known = {"run_id": "r1", "step": 1, "tool": "t", "arguments": {}, "digest": "d", "started_at": "now"}
    row = EffectRow.load({"key": line.strip(), **known})
    print("runs" if store.ledger.begin(row) is None else "known", flush=True)
"""


def test_of_processes_that_begin_the_same_effect_at_once_exactly_one_may_run_it(store_path: Path) -> None:
    open_store(store_path).close()
    with workers(3, BEGIN, str(store_path)) as started:
        for number in range(60):
            assert sorted(at_once(started, f"key-{number}")) == ["known", "known", "runs"]


def test_an_intent_survives_the_death_of_its_process(store_path: Path) -> None:
    open_store(store_path).close()
    with workers(1, BEGIN, str(store_path)) as (process,):
        assert at_once([process], "k") == ["runs"]
        process.kill()
    with open_store(store_path, must_exist=True) as store:
        assert [(row.key, row.state) for row in store.ledger.of_run("r1")] == [("k", "in_flight")]
