"""Effects that were begun before: by another process, a cancelled task or with another store."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from interlock import (
    BadDecision,
    HumanDecision,
    Store,
    StoreError,
    UnknownRun,
    aresume,
    astart,
    contract,
    create_loop,
    open_store,
    parse_policy,
    resume,
    start,
)
from interlock.testing import EffectCounter, ScriptedModel, answer, call

CONFIG: Any = {"configurable": {"thread_id": "r"}}
SECRET = "hunter2-7f3a"
FINANCE = '[tools.pay]\nverdict = "needs_approval"\napprovers = ["finance"]'


@pytest.fixture
def effects(tmp_path: Path) -> EffectCounter:
    return EffectCounter(tmp_path / "effects.log")


def make_login(effects: EffectCounter, **fields: Any) -> Any:
    @contract(**{"effect": "write", **fields})
    def login(user: str, password: str) -> str:
        """Log in."""
        effects.hit("login", password)
        if os.environ.get("INTERLOCK_TEST_DIES"):
            os.kill(os.getpid(), signal.SIGKILL)
        return "ok"

    return login


def lose_completions(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(store.ledger, "finish", fail)


@pytest.mark.parametrize(("decision", "changed"), [("respond", 1), ("approve", 0)])
def test_an_effect_whose_secret_died_with_its_process_asks_a_person_whether_it_happened(
    tmp_path: Path, effects: EffectCounter, decision: Any, changed: int
) -> None:
    code = (
        "import sys; from pathlib import Path; from interlock import *; from interlock.testing import *\n"
        "sys.path.insert(0, sys.argv[2]); from test_begun import make_login\n"
        "tools, steps = [make_login(EffectCounter(Path(sys.argv[1]) / 'effects.log'))], "
        f"[call('login', user='a', password='{SECRET}')]\n"
        "store = open_store(Path(sys.argv[1]) / 'runs.db')\n"
        "start(create_loop(ScriptedModel(steps), tools, store=store), 'log in', run_id='r')\n"
    )
    argv = [sys.executable, "-c", code, str(tmp_path), str(Path(__file__).parent)]
    assert subprocess.run(argv, env={**os.environ, "INTERLOCK_TEST_DIES": "1"}, check=False).returncode == -9
    with open_store(tmp_path / "runs.db") as store:
        steps = [call("login", user="a", password=SECRET), answer("done")]
        loop = create_loop(ScriptedModel(steps), [make_login(effects)], store=store)
        assert resume(loop, "r").pending[0]["kind"] == "in_doubt"
        ended = resume(loop, "r", HumanDecision(type=decision, message="it did"))
    assert ended.status == ("completed" if decision == "respond" else "failed")
    assert ended.outcome is not None
    assert len(ended.outcome.changes) == changed
    assert effects.count("login") == 1


def test_the_world_is_asked_about_the_secret_that_was_used(
    effects: EffectCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contract(effect="read", untrusted=False)
    def find_login(user: str, password: str) -> str | None:
        """Look a login up."""
        return "there" if password in effects.keys("login") else None

    store = open_store(":memory:")
    tools = [make_login(effects, reconcile="find_login", untrusted=False), find_login]
    steps = [call("login", user="a", password=SECRET), answer("in")]
    loop = create_loop(ScriptedModel(steps), tools, store=store)
    with monkeypatch.context() as patched:
        lose_completions(store, patched)
        with pytest.raises(StoreError):
            start(loop, "log in", run_id="r")
    assert resume(loop, "r").status == "completed"
    assert effects.count("login") == 1


def test_a_store_that_does_not_know_the_run_runs_no_effect_of_it(
    effects: EffectCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    saver, first = InMemorySaver(), open_store(":memory:")
    lose_completions(first, monkeypatch)

    @contract(effect="write")
    def write(line: str) -> str:
        """Write."""
        effects.hit("write")
        return "ok"

    def loop(store: Store) -> Any:
        steps = [call("write", line="a"), answer("x")]
        return create_loop(ScriptedModel(steps), [write], store=store, checkpointer=saver)

    with pytest.raises(StoreError):
        loop(first).invoke({"goal": "write"}, CONFIG)
    with pytest.raises(UnknownRun):
        loop(open_store(":memory:")).invoke(None, CONFIG)
    assert effects.count("write") == 1


def test_a_call_that_a_cancelled_task_left_behind_is_not_made_again(effects: EffectCounter) -> None:
    @contract(effect="read", untrusted=False)
    def find_write(line: str) -> bool:
        """Look a line up."""
        return effects.count("write") > 0

    @contract(effect="write", reconcile="find_write", untrusted=False)
    def write(line: str) -> str:
        """Write, slowly."""
        effects.hit("began")
        time.sleep(0.5)
        effects.hit("write")
        return "ok"

    async def main() -> Any:
        store = open_store(":memory:")
        steps = [call("write", line="a"), answer("x")]
        loop = create_loop(ScriptedModel(steps), [find_write, write], store=store)
        task = asyncio.create_task(astart(loop, "write", run_id="r"))
        while not effects.count("began"):
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        waiting = await aresume(loop, "r")
        await asyncio.sleep(0.6)
        return waiting

    assert asyncio.run(main()).pending[0]["kind"] == "in_doubt"
    assert effects.count("began") == 1


def test_only_those_who_may_approve_an_action_say_whether_it_happened(effects: EffectCounter) -> None:
    @contract(effect="high_risk", timeout_s=0.05)
    def pay(amount: int) -> str:
        """Pay, and answer too late."""
        effects.hit("pay")
        time.sleep(0.2)
        return "paid"

    store = open_store(":memory:")
    model = ScriptedModel([call("pay", amount=5), answer("paid")])
    loop = create_loop(model, [pay], store=store, policy=parse_policy(FINANCE))
    start(loop, "pay", run_id="r")
    asked = resume(loop, "r", HumanDecision(type="approve", by="finance")).pending[0]
    assert (asked["kind"], asked["approvers"]) == ("in_doubt", ["finance"])
    with pytest.raises(BadDecision, match="bob may not decide"):
        resume(loop, "r", HumanDecision(type="approve", by="bob"))
    ended = resume(loop, "r", HumanDecision(type="respond", message="the bank shows it", by="finance"))
    assert ended.status == "completed"
    assert effects.count("pay") == 1
