"""Two loops in one graph, one after the other and side by side: each has its own run, question and ledger."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Send

from interlock import contract, create_loop, open_store
from interlock.testing import EffectCounter, ScriptedModel, answer, call

CONFIG: Any = {"configurable": {"thread_id": "p"}}


@pytest.fixture
def effects(tmp_path: Path) -> EffectCounter:
    return EffectCounter(tmp_path / "effects.log")


def loop_for(target: str, effects: EffectCounter, store: Any) -> Any:
    @contract(effect="high_risk")
    def act(target: str) -> str:
        """Act."""
        effects.hit("act", target)
        return f"acted on {target}"

    model = ScriptedModel([call("act", target=target), answer(target)])
    return create_loop(model, [act], store=store, checkpointer=None, name=target)


class State(TypedDict, total=False):
    goal: str
    outcome: dict[str, Any]
    answers: Annotated[list[Any], operator.add]


def approve(graph: Any) -> int:
    asked = graph.get_state(CONFIG, subgraphs=True).interrupts
    answers = {one.id: {"decisions": [{"type": "approve"}]} for one in asked}
    graph.invoke(Command(resume=answers), CONFIG)
    return len(asked)


def test_one_loop_after_another_keeps_its_own_run(effects: EffectCounter) -> None:
    store = open_store(":memory:")
    parent = StateGraph(State)
    parent.add_node("first", loop_for("a", effects, store))
    parent.add_node("second", loop_for("b", effects, store))
    parent.add_edge(START, "first")
    parent.add_edge("first", "second")
    graph = parent.compile(checkpointer=InMemorySaver())
    graph.invoke({"goal": "both"}, CONFIG)
    assert approve(graph) == 1
    assert effects.keys("act") == ["a"]
    assert approve(graph) == 1
    assert effects.keys("act") == ["a", "b"]
    assert {row.status for row in store.runs.list()} == {"completed"}
    assert len(store.runs.list()) == 2


def test_loops_side_by_side_ask_one_question_each_and_act_once(effects: EffectCounter) -> None:
    store = open_store(":memory:")
    loops = {name: loop_for(name, effects, store) for name in ("a", "b", "c")}

    def worker(state: Any) -> dict[str, Any]:
        done = loops[state["name"]].invoke({"goal": f"act on {state['name']}"})
        return {"answers": [done["outcome"]["answer"]]}

    parent = StateGraph(State)
    parent.add_node("worker", worker)
    parent.add_conditional_edges(
        START, lambda state: [Send("worker", {"name": name}) for name in loops], ["worker"]
    )
    graph = parent.compile(checkpointer=InMemorySaver())
    graph.invoke({"goal": "all"}, CONFIG)
    assert effects.count() == 0
    assert approve(graph) == 3
    assert sorted(effects.keys("act")) == ["a", "b", "c"]
    assert sorted(graph.get_state(CONFIG).values["answers"]) == ["a", "b", "c"]


async def test_an_async_parent_runs_an_async_loop(effects: EffectCounter) -> None:
    store = open_store(":memory:")
    parent = StateGraph(State)
    parent.add_node("act", loop_for("a", effects, store))
    parent.add_edge(START, "act")
    graph = parent.compile(checkpointer=InMemorySaver())
    (asked,) = (await graph.ainvoke({"goal": "go"}, CONFIG))["__interrupt__"]
    done = await graph.ainvoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), CONFIG)
    assert done["outcome"]["answer"] == "a"
    assert effects.keys("act") == ["a"]
