"""The checkpointer: as LangGraph's own SQLite saver behaves, on any event loop, in a fraction of the room."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    empty_checkpoint,
)
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Interrupt, interrupt

from interlock.checkpoints import Store, open_store
from interlock.policies.errors import StoreError
from interlock.policies.questions import HumanDecision

THREAD: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


def extend(known: Any, batches: Sequence[Any]) -> list[Any]:
    return [*(known or []), *(item for batch in batches for item in batch)]


class State(TypedDict, total=False):
    control: dict[str, Any]
    log: Annotated[list[Any], DeltaChannel(extend, snapshot_frequency=5_000)]


def loop(saver: BaseCheckpointSaver[Any], rounds: int, *, asks: bool = False) -> Any:
    """Four nodes in a ring, as in the agent loop; with `asks` the second one asks a person in round 1."""

    def node(name: str) -> Any:
        def run(state: State) -> State:
            step = state.get("control", {}).get("step", 0) + (name == "a")
            told = interrupt({"step": step}) if asks and name == "b" and step == 1 else None
            control = {"step": step, "node": name, "goal": "Find out why the latency rose", "told": told}
            return {"control": control, "log": [{"step": step, "node": name, "told": told}]}

        return run

    graph = StateGraph(State)
    for name in "abcd":
        graph.add_node(name, node(name))
    graph.add_edge(START, "a")
    for here, there in ("ab", "bc", "cd"):
        graph.add_edge(here, there)

    def after(state: State) -> str:
        return "a" if state.get("control", {})["step"] < rounds else END

    graph.add_conditional_edges("d", after, ["a", END])
    return graph.compile(checkpointer=saver)


def run_of(thread: str, rounds: int = 1) -> RunnableConfig:
    return {"configurable": {"thread_id": thread}, "recursion_limit": rounds * 4 + 10}


@pytest.fixture
def store(store_path: Path) -> Generator[Store]:
    with open_store(store_path) as opened:
        yield opened


@pytest.fixture
def reference(tmp_path: Path) -> Generator[SqliteSaver]:
    connection = sqlite3.connect(tmp_path / "reference.db", check_same_thread=False)
    connection.execute("PRAGMA synchronous=NORMAL")
    yield SqliteSaver(connection)
    connection.close()


def test_a_graph_that_pauses_goes_on_in_a_store_opened_anew(store_path: Path) -> None:
    with open_store(store_path) as store:
        paused = loop(store.checkpointer, 3, asks=True).invoke({"log": ["start"]}, run_of("t", 3))
        assert [asked.value for asked in paused["__interrupt__"]] == [{"step": 1}]
    with open_store(store_path) as store:
        graph = loop(store.checkpointer, 3, asks=True)
        assert graph.get_state(run_of("t")).next == ("b",)
        ended = graph.invoke(Command(resume="go on"), run_of("t", 3))
    assert len(ended["log"]) == 13
    assert ended["log"][2] == {"step": 1, "node": "b", "told": "go on"}


def test_the_whole_history_is_the_same_as_in_langgraphs_saver(store: Store, reference: SqliteSaver) -> None:
    def history(saver: BaseCheckpointSaver[Any]) -> list[Any]:
        graph = loop(saver, 30, asks=True)
        graph.invoke({}, run_of("t", 30), durability="sync")
        graph.invoke(Command(resume={"ok": True}), run_of("t", 30), durability="sync")
        return [
            (known.values, known.next, known.metadata, [(task.name, task.result) for task in known.tasks])
            for known in graph.get_state_history(run_of("t"))
        ]

    ours = history(store.checkpointer)
    assert len(ours) == 122
    assert ours == history(reference)


def test_one_checkpointer_serves_sync_and_async_graphs_on_several_event_loops(store: Store) -> None:
    graph = loop(store.checkpointer, 3, asks=True)

    async def begin() -> Any:
        return await graph.ainvoke({}, run_of("t", 3))

    async def look() -> tuple[int, int]:
        seen = [known async for known in graph.aget_state_history(run_of("t"))]
        return len(seen), len((await graph.aget_state(run_of("t"))).values["log"])

    asyncio.run(begin())
    graph.invoke(Command(resume="go on"), run_of("t", 3))
    assert asyncio.run(look()) == (14, 12)
    asyncio.run(store.checkpointer.adelete_thread("t"))
    assert graph.get_state(run_of("t")).values == {}


def test_a_run_takes_less_than_1200_bytes_of_file_a_super_step_and_grows_evenly(tmp_path: Path) -> None:
    def size(rounds: int) -> int:
        path = tmp_path / f"{rounds}.db"
        with open_store(path) as store:
            empty = path.stat().st_size
            loop(store.checkpointer, rounds).invoke({}, run_of("t", rounds), durability="sync")
        return (path.stat().st_size - empty) // (rounds * 4)

    short, long = size(50), size(200)
    assert short < 1200
    assert long <= short * 1.1


def test_versions_of_channels_are_small_integers(store: Store) -> None:
    loop(store.checkpointer, 2).invoke({}, run_of("t", 2))
    saved = store.checkpointer.get_tuple(THREAD)
    assert saved is not None
    assert {type(version) for version in saved.checkpoint["channel_versions"].values()} == {int}


@given(st.lists(st.sampled_from(["none", "int", "text"]), max_size=1), st.integers(1, 50))
def test_versions_only_rise_and_keep_the_kind_that_a_thread_began_with(kind: list[str], count: int) -> None:
    first = {"none": None, "int": 7, "text": f"{7:032}.{0.123456:016}"}[kind[0] if kind else "none"]
    with open_store() as store:
        known = [first] if first is not None else []
        for _ in range(count):
            known.append(store.checkpointer.get_next_version(known[-1] if known else None, None))
    assert known == sorted(known)
    assert len(set(known)) == len(known)


CHANNELS = st.sampled_from(["control", "log", "branch:to:b", INTERRUPT, RESUME, ERROR])
VALUES = (
    st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=5)
    | st.none()
    | st.binary(max_size=5)
    | st.just([{"a": (1, 2)}])
)
WRITES = st.lists(
    st.tuples(
        st.sampled_from([str(uuid6()), str(uuid6()), "00000000-0000-0000-0000-000000000000"]),
        st.sampled_from(["", "~__pregel_pull, a", "~__pregel_pull, b"]),
        st.lists(st.tuples(CHANNELS, VALUES), min_size=1, max_size=4),
    ),
    max_size=6,
)


@given(WRITES)
def test_pending_writes_are_those_that_langgraphs_saver_would_give(calls: list[Any]) -> None:
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    with open_store() as store:
        found = []
        for saver in (cast("BaseCheckpointSaver[Any]", store.checkpointer), SqliteSaver(connection)):
            checkpoint = put(saver, empty_checkpoint())
            for task, path, writes in calls:
                saver.put_writes(checkpoint, writes, task, path)
            saved = saver.get_tuple(THREAD)
            assert saved is not None
            found.append(plain(saved.pending_writes))
    connection.close()
    assert found[0] == found[1]


def plain(value: Any) -> Any:
    """Tuples as lists: both come back as lists from inside a value."""
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def put(
    saver: BaseCheckpointSaver[Any],
    checkpoint: Checkpoint,
    parent: RunnableConfig = THREAD,
    metadata: CheckpointMetadata | None = None,
) -> RunnableConfig:
    return saver.put(parent, checkpoint, metadata or {"source": "loop", "step": 1, "parents": {}}, {})


def test_checkpoints_are_listed_newest_first_by_thread_filter_bound_and_limit(store: Store) -> None:
    saver = store.checkpointer
    ids: list[str] = []
    for step in range(250):
        checkpoint = {**empty_checkpoint(), "id": str(uuid6())}
        metadata: dict[str, Any] = {"source": "loop" if step else "input", "step": step, "parents": {}}
        put(saver, cast(Checkpoint, checkpoint), metadata=cast(CheckpointMetadata, metadata))
        ids.append(str(checkpoint["id"]))
    other: RunnableConfig = {"configurable": {"thread_id": "other", "checkpoint_ns": ""}}
    put(saver, empty_checkpoint(), other)

    def listed(config: RunnableConfig | None, **options: Any) -> list[str]:
        return [found.checkpoint["id"] for found in saver.list(config, **options)]

    assert listed(THREAD) == ids[::-1]
    assert len(listed(None)) == 251
    assert listed(THREAD, filter={"source": "input"}) == ids[:1]
    assert listed(THREAD, limit=3) == ids[:-4:-1]
    assert listed(THREAD, limit=0) == []
    before: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_id": ids[5]}}
    assert listed(THREAD, before=before) == ids[4::-1]
    one: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": ids[7]}}
    assert listed(one) == [ids[7]]


def test_the_store_can_be_used_while_a_listing_is_read(store: Store) -> None:
    loop(store.checkpointer, 2).invoke({}, run_of("t", 2))
    for found in store.checkpointer.list(THREAD):
        assert asyncio.run(store.checkpointer.aget_tuple(found.config)) == found


def test_a_checkpoint_saved_again_replaces_the_first(store: Store) -> None:
    checkpoint = empty_checkpoint()
    put(store.checkpointer, checkpoint)
    put(store.checkpointer, cast(Checkpoint, {**checkpoint, "channel_values": {"a": 1}}))
    (found,) = store.checkpointer.list(THREAD)
    assert found.checkpoint["channel_values"] == {"a": 1}


def test_an_interrupt_comes_back_as_one_and_a_foreign_class_as_data(store: Store) -> None:
    where = put(store.checkpointer, empty_checkpoint())
    asked = Interrupt(value={"q": 1}, id="i")
    decision = HumanDecision(type="approve", by="alice")
    store.checkpointer.put_writes(where, [(INTERRUPT, (asked,))], "task-1")
    store.checkpointer.put_writes(where, [("control", decision)], "task-2")
    saved = store.checkpointer.get_tuple(THREAD)
    assert saved is not None
    assert saved.pending_writes is not None
    values = {channel: value for _, channel, value in saved.pending_writes}
    assert values[INTERRUPT][0] == asked
    assert type(values["control"]) is dict
    assert values["control"]["by"] == "alice"


@given(
    st.recursive(
        st.integers(-(2**200), 2**200), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_integers_of_any_size_come_back_exactly(value: Any) -> None:
    with open_store() as store:
        where = put(store.checkpointer, empty_checkpoint())
        store.checkpointer.put_writes(where, [("control", value)], "task")
        saved = store.checkpointer.get_tuple(THREAD)
        assert saved is not None
        assert saved.pending_writes == [("task", "control", value)]


def test_what_cannot_be_data_is_refused_when_it_is_saved(store: Store) -> None:
    where = put(store.checkpointer, empty_checkpoint())
    with pytest.raises(TypeError):
        store.checkpointer.put_writes(where, [("control", {"call": lambda: None})], "task")


def test_deleting_a_thread_takes_its_namespaces_and_nothing_else(store: Store) -> None:
    inner: RunnableConfig = {"configurable": {"thread_id": "t", "checkpoint_ns": "inner:1"}}
    other: RunnableConfig = {"configurable": {"thread_id": "t2", "checkpoint_ns": ""}}
    for place in (THREAD, inner, other):
        put(store.checkpointer, empty_checkpoint(), place)
    store.checkpointer.delete_thread("t")
    assert [thread_of(found) for found in store.checkpointer.list(None)] == ["t2"]


def thread_of(found: CheckpointTuple) -> str:
    return str(found.config.get("configurable", {})["thread_id"])


def test_a_thread_deleted_through_another_store_is_written_anew_and_not_lost(store_path: Path) -> None:
    with open_store(store_path) as ours, open_store(store_path) as other:
        loop(ours.checkpointer, 5).invoke({}, run_of("t", 5))
        other.checkpointer.delete_thread("t")
        loop(ours.checkpointer, 5).invoke({}, run_of("t", 5))
        assert len(loop(other.checkpointer, 5).get_state(run_of("t")).values["log"]) == 20


def test_two_stores_on_one_file_read_what_the_other_one_packed(store_path: Path) -> None:
    with open_store(store_path) as ours, open_store(store_path) as other:
        for rounds in range(1, 6):
            for store in (ours, other):
                graph = loop(store.checkpointer, rounds)
                graph.invoke({}, run_of("t", rounds))
        assert len(list(other.checkpointer.list(THREAD))) == len(list(ours.checkpointer.list(THREAD)))
        assert len(loop(other.checkpointer, 5).get_state(run_of("t")).values["log"]) == 40


def test_damaged_checkpoints_are_an_error_that_names_the_thread(store: Store, store_path: Path) -> None:
    loop(store.checkpointer, 4).invoke({}, run_of("t", 4))
    other = sqlite3.connect(store_path, isolation_level=None)
    other.execute("UPDATE checkpoints SET body = x'02ffff'")
    other.close()
    with pytest.raises(StoreError, match="a checkpoint of t cannot be read"):
        store.checkpointer.get_tuple(THREAD)
