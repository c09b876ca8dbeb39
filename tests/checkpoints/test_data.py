"""Payloads and step records: what goes in comes out."""

from __future__ import annotations

import hashlib
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.checkpoints import open_store
from interlock.policies.errors import StoreError

from .helpers import at_once, workers  # noqa: TID251 (not the folder at the root)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=20,
)


@given(JSON)
def test_every_json_value_comes_back_under_the_hash_of_its_canonical_form(value: Any) -> None:
    with open_store() as store:
        ref, size = store.payloads.put(value)
        assert store.payloads.get(ref) == value
        assert (len(ref), size > 0) == (64, True)


def test_equal_values_have_one_reference_and_one_row(store_path: Path) -> None:
    with open_store(store_path) as store:
        first = store.payloads.put({"a": 1, "b": [True, "ü"]})
        assert store.payloads.put({"b": [True, "ü"], "a": 1}) == first
        body = '{"a":1,"b":[true,"ü"]}'.encode()
        assert first == (hashlib.sha256(body).hexdigest(), len(body))
        rows = sqlite3.connect(store_path)
        assert rows.execute("SELECT count(*) FROM payloads").fetchone() == (1,)
        rows.close()


def test_large_values_take_less_room_and_keep_their_size(store_path: Path) -> None:
    with open_store(store_path) as store:
        ref, size = store.payloads.put(["the same line"] * 10_000)
        assert size == 160_001
        assert store.payloads.get(ref) == ["the same line"] * 10_000
    assert store_path.stat().st_size < 160_001


def test_text_that_is_half_a_character_survives(store_path: Path) -> None:
    with open_store(store_path) as store:
        assert store.payloads.get(store.payloads.put("\ud800" * 600)[0]) == "\ud800" * 600


def test_an_unknown_reference_is_a_key_error(store_path: Path) -> None:
    with open_store(store_path) as store, pytest.raises(KeyError):
        store.payloads.get("0" * 64)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, object()])
def test_what_is_not_json_is_refused_and_not_stored(store_path: Path, value: object) -> None:
    with open_store(store_path) as store, pytest.raises((TypeError, ValueError)):
        store.payloads.put(value)


def test_a_damaged_payload_is_an_error_with_its_name(store_path: Path) -> None:
    with open_store(store_path) as store:
        ref, _ = store.payloads.put("x" * 1000)
        other = sqlite3.connect(store_path, isolation_level=None)
        other.execute("UPDATE payloads SET body = x'00'")
        other.close()
        with pytest.raises(StoreError, match=ref):
            store.payloads.get(ref)


def test_step_records_come_by_step_and_a_step_is_replaced(store_path: Path) -> None:
    with open_store(store_path) as store:
        for step in (2, 10, 1):
            store.traces.record("r1", step, {"step": step, "try": 1})
        store.traces.record("r1", 2, {"step": 2, "try": 2})
        store.traces.record("r2", 1, {})
        assert [(row["step"], row["try"]) for row in store.traces.steps("r1")] == [(1, 1), (2, 2), (10, 1)]


def test_threads_may_share_a_store(store_path: Path) -> None:
    def work(number: int) -> int:
        ref, _ = store.payloads.put({"number": number})
        store.runs.ensure(f"r{number}", "goal", "f", "2026-01-01T00:00:00+00:00")
        store.traces.record("r", number, {"ref": ref})
        found: int = store.payloads.get(ref)["number"]
        return found

    with open_store(store_path) as store, ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(200))) == list(range(200))
        assert len(store.runs.list(limit=1000)) == len(store.traces.steps("r")) == 200


RECORD = """
import sys
from interlock.checkpoints import open_store
store = open_store(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    store.traces.record("r1", int(line), {"step": int(line)})
    print("recorded", flush=True)
"""


def test_what_was_stored_survives_the_death_of_its_process(store_path: Path) -> None:
    with workers(1, RECORD, str(store_path)) as (process,):
        for step in range(1, 30):
            assert at_once([process], str(step)) == ["recorded"]
        process.kill()
    with open_store(store_path, must_exist=True) as store:
        assert [row["step"] for row in store.traces.steps("r1")] == list(range(1, 30))
