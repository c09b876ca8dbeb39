"""What was shown is what runs: whatever is changed in a checkpoint after the question, it does not run."""

from __future__ import annotations

import copy
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import Command

from interlock import HumanDecision, LoopChanged, Policy, contract, create_loop, open_store, resume, start
from interlock.graphs.loop import deps_of
from interlock.policies.canonical import action_digest
from interlock.testing import ScriptedModel, answer, call

CONFIG: Any = {"configurable": {"thread_id": "r"}}


def make_tools(seen: list[Any]) -> list[Any]:
    @contract(effect="high_risk")
    def send(to: str, amount: int) -> str:
        """Send money."""
        seen.append((to, amount))
        return "sent"

    @contract(effect="read")
    def look(at: str) -> str:
        """Look."""
        return "seen"

    return [send, look]


def swap_proposal(record: dict[str, Any]) -> None:
    record["decision"]["proposal"]["arguments"] = {"to": "mallory", "amount": 9}


def forge_ticket(record: dict[str, Any]) -> None:
    record["verdict"] = {"kind": "allow", "rule": "forged", "reason": ""}
    record["ticket"] = {
        "tool": "send",
        "arguments": {"to": "mallory", "amount": 9},
        "digest": "0" * 64,
        "idempotency_key": "k",
    }


def tamper(loop: Any, change: Callable[[dict[str, Any]], None], as_node: str) -> None:
    state = loop.get_state(CONFIG).values
    record = copy.deepcopy(state["scratchpad"][-1])
    change(record)
    control = {**state["control"], "phase": as_node}
    loop.update_state(CONFIG, {"scratchpad": [record], "control": control}, as_node=as_node)


@pytest.mark.parametrize("decide", ["by id map", "by resume"])
def test_a_swapped_recipient_is_not_sent_to_under_the_old_approval(tmp_path: Path, decide: str) -> None:
    seen: list[Any] = []
    with open_store(tmp_path / "runs.db") as store:
        model = ScriptedModel([call("send", to="alice", amount=5), answer("done")])
        loop = create_loop(model, make_tools(seen), store=store)
        start(loop, "pay alice", run_id="r")
        tamper(loop, swap_proposal, "think")
        if decide == "by resume":
            resume(loop, "r")
        else:
            for asked in loop.get_state(CONFIG).interrupts:
                loop.invoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), CONFIG)
            loop.invoke(None, CONFIG)
        assert seen == []
        assert store.traces.steps("r")[0]["verdict"]["rule"] == "changed_after_approval"


def test_a_forged_ticket_runs_nothing(tmp_path: Path) -> None:
    seen: list[Any] = []
    with open_store(tmp_path / "runs.db") as store:
        model = ScriptedModel([call("send", to="alice", amount=5), answer("done")])
        loop = create_loop(model, make_tools(seen), store=store)
        start(loop, "pay alice", run_id="r")
        tamper(loop, forge_ticket, "authorize")
        loop.invoke(None, CONFIG)
        assert seen == []


def test_a_ticket_with_a_true_digest_but_no_approval_runs_nothing(tmp_path: Path) -> None:
    seen: list[Any] = []
    with open_store(tmp_path / "runs.db") as store:
        model = ScriptedModel([call("send", to="alice", amount=5), answer("done")])
        loop = create_loop(model, make_tools(seen), store=store)
        waiting = start(loop, "pay alice", run_id="r")
        question = waiting.pending[0]

        def forge(record: dict[str, Any]) -> None:
            record["ticket"] = {
                "tool": "send",
                "arguments": question["arguments"],
                "digest": question["digest"],
                "idempotency_key": "k",
                "approval_id": question["approval_id"],
                "approver": "mallory",
            }

        tamper(loop, forge, "authorize")
        loop.invoke(None, CONFIG)
        assert seen == []


def test_a_policy_or_a_tool_that_changed_while_waiting_is_refused_by_name(tmp_path: Path) -> None:
    seen: list[Any] = []
    with open_store(tmp_path / "runs.db") as store:
        steps = [call("send", to="alice", amount=5), answer("done")]
        start(create_loop(ScriptedModel(steps), make_tools(seen), store=store), "pay alice", run_id="r")
        changed = [
            create_loop(ScriptedModel(steps), make_tools(seen), store=store, policy=Policy(name="new")),
            create_loop(ScriptedModel(steps), make_tools(seen)[:1], store=store),
        ]
        for loop in changed:
            with pytest.raises(LoopChanged):
                resume(loop, "r", HumanDecision(type="approve"))
            (asked,) = loop.get_state(CONFIG).interrupts
            with pytest.raises(LoopChanged):
                loop.invoke(Command(resume={asked.id: {"decisions": [{"type": "approve"}]}}), CONFIG)
        assert seen == []
        loop = create_loop(ScriptedModel(steps), make_tools(seen), store=store)
        assert resume(loop, "r", HumanDecision(type="approve")).status == "completed"
        assert seen == [("alice", 5)]


def test_a_question_that_was_rewritten_in_the_store_with_its_digest_runs_nothing(tmp_path: Path) -> None:
    seen: list[Any] = []
    path = tmp_path / "runs.db"
    with open_store(path) as store:
        model = ScriptedModel([call("send", to="alice", amount=5), answer("done")])
        loop = create_loop(model, make_tools(seen), store=store)
        start(loop, "pay alice", run_id="r")
        deps = deps_of(loop)
        forged = {"to": "mallory", "amount": 9}
        digest = action_digest("send", forged, deps.tools["send"].schema_hash, deps.policy.version)
        (asked,) = store.approvals.pending()
        question = asked.question.model_copy(update={"arguments": forged, "digest": digest})
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("UPDATE approvals SET question = ?", (question.model_dump_json(),))
        resume(loop, "r", HumanDecision(type="approve"))
        assert seen == []
        assert store.traces.steps("r")[0]["verdict"]["rule"] == "changed_after_approval"
