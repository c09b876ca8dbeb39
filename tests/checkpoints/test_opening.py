"""Opening a store: what is refused, in which words, and what a file keeps."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from interlock.checkpoints import open_store
from interlock.checkpoints.schema import VERSIONS
from interlock.nodes.ports import Ports
from interlock.policies.errors import StoreError

from .helpers import AT, at_once, intent, outcome, question, workers  # noqa: TID251 (not the folder at the root)


def refusal(path: Path, *, must_exist: bool = False) -> str:
    with pytest.raises(StoreError) as caught:
        open_store(path, must_exist=must_exist)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_a_store_is_what_the_nodes_expect(store_path: Path) -> None:
    with open_store(store_path) as store:
        ports: Ports = store
        assert ports.runs.cancel_requested("nobody") is False


def test_a_file_written_and_opened_again_still_holds_everything(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.runs.create("r1", "find the cause", "f", loop="oncall", spec={"tools": ["a"]}, at=AT)
        store.runs.finish("r1", outcome(), AT)
        store.approvals.open(question())
        store.ledger.begin(intent())
        ref, _ = store.payloads.put({"rows": [1, 2]})
        store.traces.record("r1", 1, {"step": 1})
    with open_store(store_path, must_exist=True) as store:
        run = store.runs.get("r1")
        assert (run.goal, run.loop, run.spec, run.outcome) == (
            "find the cause", "oncall", {"tools": ["a"]}, outcome(),
        )  # fmt: skip
        assert [known.question for known in store.approvals.pending()] == [question()]
        assert store.ledger.of_run("r1") == [intent()]
        assert store.payloads.get(ref) == {"rows": [1, 2]}
        assert store.traces.steps("r1") == [{"step": 1}]


def test_a_closed_store_leaves_one_file(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.traces.record("r1", 1, {})
    assert [path.name for path in store_path.parent.iterdir()] == [store_path.name]


def test_a_store_in_memory_works_like_one_in_a_file() -> None:
    with open_store() as store:
        store.runs.create("r1", "goal", "f", at=AT)
        assert store.ledger.begin(intent()) is None
        assert [row.run_id for row in store.runs.list()] == ["r1"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert "the folder" in (text := refusal(tmp_path / "nowhere" / "runs.db"))
    assert str(tmp_path / "nowhere") in text


def test_a_folder_is_refused_with_an_example(tmp_path: Path) -> None:
    assert str(tmp_path / "runs.db") in refusal(tmp_path)


def test_a_missing_file_is_refused_when_it_has_to_exist_and_none_is_made(store_path: Path) -> None:
    assert "there is no store" in refusal(store_path, must_exist=True)
    assert not store_path.exists()


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(store_path: Path) -> None:
    store_path.write_text("the minutes of the meeting\n" * 100)
    assert "not an SQLite database" in refusal(store_path)
    assert store_path.read_text() == "the minutes of the meeting\n" * 100


def test_the_database_of_another_program_is_refused_and_left_as_it_was(store_path: Path) -> None:
    other = sqlite3.connect(store_path)
    other.execute("CREATE TABLE incidents (id INTEGER)")
    other.close()
    before = store_path.read_bytes()
    assert "another program" in refusal(store_path)
    assert store_path.read_bytes() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_refused(store_path: Path) -> None:
    open_store(store_path).close()
    store_path.chmod(0)
    assert "permission" in refusal(store_path)


def test_a_file_of_a_newer_version_is_refused_with_both_versions(store_path: Path) -> None:
    open_store(store_path).close()
    newer = sqlite3.connect(store_path)
    newer.execute(
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at) VALUES ('interlock', '99', '')"
    )
    newer.commit()
    newer.close()
    text = refusal(store_path)
    assert "99" in text
    assert max(VERSIONS, key=int) in text
    assert "upgrade" in text


def test_a_locked_file_is_an_error_with_a_hint_and_the_store_works_afterwards(store_path: Path) -> None:
    with open_store(store_path, busy_timeout_s=0.05) as store:
        other = sqlite3.connect(store_path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="stayed locked: another process holds it"):
            store.ledger.begin(intent())
        other.execute("ROLLBACK")
        other.close()
        assert store.ledger.begin(intent()) is None


def test_a_closed_store_says_so(store_path: Path) -> None:
    store = open_store(store_path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.runs.list()


def test_records_are_synced_at_every_commit_and_checkpoints_are_not(store_path: Path) -> None:
    full, normal = 2, 1
    with open_store(store_path) as store:
        for part, wanted in ((store.ledger, full), (store.approvals, full), (store.checkpointer, normal)):
            with part._database.single() as connection:  # pyright: ignore[reportPrivateUsage]
                assert connection.execute("PRAGMA synchronous").fetchone()[0] == wanted
                assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"


OPEN = """
import sys
from interlock.checkpoints import open_store
print("ready", flush=True)
for line in sys.stdin:
    try:
        with open_store(line.strip()) as store:
            store.runs.ensure("r", "goal", "f", "2026-01-01T00:00:00+00:00")
        print("opened", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
"""


def test_processes_that_create_the_same_file_at_once_all_succeed(tmp_path: Path) -> None:
    with workers(3, OPEN) as started:
        for number in range(15):
            assert at_once(started, str(tmp_path / f"{number}.db")) == ["opened"] * 3
