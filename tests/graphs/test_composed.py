"""The guarantees hold without start and resume: in plain LangGraph calls and inside larger graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from interlock import HumanDecision, cancel, contract, create_loop, open_store, resume, start
from interlock.policies.errors import BadLoop, RunFinished
from interlock.policies.transitions import IllegalTransition
from interlock.testing import EffectCounter, ScriptedModel, answer, call


@pytest.fixture
def effects(tmp_path: Path) -> EffectCounter:
    return EffectCounter(tmp_path / "effects.log")


def restart_tool(effects: EffectCounter) -> Any:
    @contract(effect="high_risk")
    def restart(service: str) -> str:
        """Restart a service."""
        effects.hit("restart", service)
        return "restarted"

    return restart


def scripted() -> ScriptedModel:
    return ScriptedModel([call("restart", service="a"), answer("ok")])


def test_plain_invoke_pauses_and_resumes_by_id(tmp_path: Path, effects: EffectCounter) -> None:
    with open_store(tmp_path / "runs.db") as store:
        loop = create_loop(scripted(), [restart_tool(effects)], store=store)
        config: Any = {"configurable": {"thread_id": "t"}}
        (asked,) = loop.invoke({"goal": "restart a"}, config)["__interrupt__"]
        assert effects.count() == 0
        done = loop.invoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), config)
        assert done["outcome"]["status"] == "completed"
        assert effects.keys("restart") == ["a"]
        assert store.runs.get("t").status == "completed"


def test_a_bad_answer_is_refused_and_the_question_stays_open(tmp_path: Path, effects: EffectCounter) -> None:
    with open_store(tmp_path / "runs.db") as store:
        loop = create_loop(scripted(), [restart_tool(effects)], store=store)
        config: Any = {"configurable": {"thread_id": "t"}}
        (asked,) = loop.invoke({"goal": "restart a"}, config)["__interrupt__"]
        bad: Any
        for bad in ("yes", {"decisions": []}, {"decisions": [{"type": "allow"}]}, {"approved": True}):
            with pytest.raises(ValueError, match="validation error"):
                loop.invoke(Command(resume={asked.id: bad}), config)
        assert effects.count() == 0
        loop.invoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), config)
        assert effects.keys("restart") == ["a"]


def test_new_input_on_a_finished_thread_is_refused(tmp_path: Path, effects: EffectCounter) -> None:
    with open_store(tmp_path / "runs.db") as store:
        loop = create_loop(ScriptedModel([answer("ok")]), [], store=store)
        config: Any = {"configurable": {"thread_id": "t"}}
        loop.invoke({"goal": "one"}, config)
        with pytest.raises(RunFinished, match="a new task needs a new id"):
            loop.invoke({"goal": "two"}, config)


def test_new_input_to_a_waiting_run_is_refused_and_its_question_is_not_lost(
    tmp_path: Path, effects: EffectCounter
) -> None:
    with open_store(tmp_path / "runs.db") as store:
        loop = create_loop(scripted(), [restart_tool(effects)], store=store)
        question = start(loop, "restart a", run_id="t").pending[0]["approval_id"]
        with pytest.raises(IllegalTransition):
            loop.invoke({"goal": "something else"}, {"configurable": {"thread_id": "t"}})
        waiting = resume(loop, "t")
        assert waiting.pending[0]["approval_id"] == question
        assert resume(loop, "t", HumanDecision(type="approve")).status == "completed"
        assert loop.get_state({"configurable": {"thread_id": "t"}}).values["goal"] == "restart a"
        assert effects.keys("restart") == ["a"]


class Parent(TypedDict, total=False):
    goal: str
    outcome: dict[str, Any]


def test_a_loop_in_a_larger_graph_surfaces_its_question_and_resumes(effects: EffectCounter) -> None:
    store = open_store(":memory:")
    loop = create_loop(scripted(), [restart_tool(effects)], store=store, checkpointer=None)
    parent = StateGraph(Parent)
    parent.add_node("act", loop)
    parent.add_edge(START, "act")
    parent.add_edge("act", END)
    graph = parent.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "p"}}
    (asked,) = graph.invoke({"goal": "restart a"}, config)["__interrupt__"]
    done = graph.invoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), config)
    assert done["outcome"]["status"] == "completed"
    assert effects.keys("restart") == ["a"]


def test_a_loop_inside_a_graph_without_a_checkpointer_runs() -> None:
    for options in ({}, {"checkpointer": None}):
        loop = create_loop(ScriptedModel([answer("ok")]), [], **options)  # type: ignore[arg-type]
        parent = StateGraph(Parent)
        parent.add_node("act", loop)
        parent.add_edge(START, "act")
        assert parent.compile().invoke({"goal": "go"})["outcome"]["answer"] == "ok"


def test_a_run_inside_a_larger_graph_is_resumed_and_cancelled_through_its_parent(
    effects: EffectCounter,
) -> None:
    store = open_store(":memory:")
    loop = create_loop(scripted(), [restart_tool(effects)], store=store)
    parent = StateGraph(Parent)
    parent.add_node("act", loop)
    parent.add_edge(START, "act")
    graph = parent.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "p"}}
    (asked,) = graph.invoke({"goal": "restart a"}, config)["__interrupt__"]
    (row,) = store.runs.list()
    with pytest.raises(BadLoop, match="resume the parent"):
        resume(loop, row.run_id, HumanDecision(type="approve"))
    assert cancel(store, row.run_id, loop=loop).status == "waiting"
    done = graph.invoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), config)
    assert done["outcome"]["status"] == "cancelled"
    assert effects.count() == 0
    assert store.runs.get(row.run_id).status == "cancelled"


def test_durability_is_sync_unless_the_caller_says_otherwise(tmp_path: Path) -> None:
    with open_store(tmp_path / "runs.db") as store:
        loop = create_loop(ScriptedModel([answer("ok")]), [], store=store)
        assert loop.durable(None, {}) == {"durability": "sync"}
        assert loop.durable(None, {"durability": "exit"}) == {"durability": "exit"}
        assert loop.with_config(tags=["x"]).durable(None, {}) == {"durability": "sync"}


def test_the_graph_has_five_nodes_and_is_drawn_without_the_network() -> None:
    drawn = create_loop(ScriptedModel([]), []).get_graph()
    assert set(drawn.nodes) == {
        "__start__",
        "think",
        "authorize",
        "execute",
        "normalize",
        "verify",
        "__end__",
    }
    assert "think -.-> authorize" in drawn.draw_mermaid().replace("&nbsp;", " ").replace(";", "")
