"""Ways around the promises that were tried, and do not work."""

from __future__ import annotations

import asyncio
import time
import uuid
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic import AfterValidator, BaseModel, Field

from interlock import (
    Action,
    Contract,
    Deny,
    HumanDecision,
    LoopChanged,
    NothingToDecide,
    Policy,
    Retryable,
    RunFinished,
    Store,
    contract,
    create_loop,
    open_store,
    resume,
    start,
)
from interlock.testing import EffectCounter, FakeClock, ScriptedModel, answer, call

CONFIG: Any = {"configurable": {"thread_id": "r"}}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def effects(tmp_path: Path) -> EffectCounter:
    return EffectCounter(tmp_path / "effects.log")


def test_a_waiting_action_does_not_run_when_contract_or_policy_were_loosened_meanwhile(store: Store) -> None:
    seen: list[str] = []

    @contract(effect="high_risk")
    def deploy(version: str) -> str:
        """Deploy."""
        seen.append(version)
        return "live"

    steps = [call("deploy", version="1"), answer("x")]
    start(create_loop(ScriptedModel(steps), [deploy], store=store), "deploy", run_id="r")
    loose = create_loop(
        ScriptedModel(steps), [deploy], store=store, contracts={"deploy": Contract(effect="write")}
    )
    (asked,) = loose.get_state(CONFIG).interrupts
    entry: Any
    for entry in (None, Command(resume={asked.id: {"decisions": [{"type": "approve"}]}})):
        with pytest.raises(LoopChanged):
            loose.invoke(entry, CONFIG)
    assert seen == []


def test_a_tool_that_changes_its_arguments_gets_them_anew_on_a_retry(store: Store) -> None:
    seen: list[list[str]] = []

    @contract(effect="write", idempotent=True)
    def send(to: list[str]) -> str:
        """Send."""
        seen.append(list(to))
        to.append("mallory")
        if len(seen) == 1:
            raise Retryable("busy")
        return "sent"

    start(create_loop(ScriptedModel([call("send", to=["a"]), answer("x")]), [send], store=store), "send")
    assert seen == [["a"], ["a"]]


def test_a_schema_that_changes_values_on_each_look_is_refused_for_a_write(store: Store) -> None:
    seen: list[int] = []

    @contract(effect="write")
    def pay(amount: Annotated[int, AfterValidator(lambda value: value * 10)]) -> str:
        """Pay."""
        seen.append(amount)
        return "paid"

    model = ScriptedModel([call("pay", amount=5), answer("x")])
    start(create_loop(model, [pay], store=store), "pay", run_id="r")
    assert seen == []
    assert "validators have to leave valid values alone" in str(model.prompts[-1])


def test_a_drawn_default_is_shown_and_run_as_it_was_drawn(store: Store) -> None:
    from langchain_core.tools import StructuredTool

    seen: list[str] = []

    class Args(BaseModel):
        nonce: str = Field(default_factory=lambda: uuid.uuid4().hex)

    def go(nonce: str) -> str:
        seen.append(nonce)
        return "went"

    tool = StructuredTool.from_function(go, name="go", description="Go.", args_schema=Args)
    steps = [call("go"), answer("x")]
    loop = create_loop(ScriptedModel(steps), [tool], store=store)
    shown = start(loop, "go", run_id="r").pending[0]["arguments"]
    again = create_loop(ScriptedModel(steps), [tool], store=store)
    assert resume(again, "r", HumanDecision(type="approve")).status == "completed"
    assert [{"nonce": one} for one in seen] == [shown]


def test_a_late_result_is_shown_before_anybody_says_run_it_again(
    store: Store, effects: EffectCounter
) -> None:
    @contract(effect="write", timeout_s=0.1)
    def write(line: str) -> str:
        """Write, slowly."""
        time.sleep(0.3)
        effects.hit("write")
        return "written"

    loop = create_loop(ScriptedModel([call("write", line="a"), answer("x")]), [write], store=store)
    start(loop, "write", run_id="r")
    deadline = time.monotonic() + 5
    while not store.ledger.of_run("r")[0].late_result and time.monotonic() < deadline:
        time.sleep(0.02)
    asked = resume(loop, "r", HumanDecision(type="approve"))
    assert asked.status == "waiting"
    assert "written" in str(asked.pending[0]["text"])
    assert effects.count() == 1


@pytest.mark.parametrize("forged", ["key", "arguments"])
def test_a_forged_ticket_of_a_plain_write_runs_nothing(store: Store, forged: str) -> None:
    seen: list[int] = []

    def only_five(action: Action) -> Any:
        return Deny(rule="only_five", reason="5 only") if action.arguments["number"] != 5 else None

    @contract(effect="write")
    def write(number: int) -> str:
        """Write."""
        seen.append(number)
        return "ok"

    policy = Policy(rules=[only_five])
    loop = create_loop(
        ScriptedModel([call("write", number=5), answer("x")]), [write], store=store, policy=policy
    )
    loop.invoke({"goal": "write"}, CONFIG, interrupt_before=["execute"])
    state = loop.get_state(CONFIG).values
    record = dict(state["scratchpad"][-1])
    if forged == "key":
        record["ticket"] = {**record["ticket"], "idempotency_key": "other"}
    else:
        from interlock.graphs.loop import deps_of
        from interlock.policies.canonical import action_digest

        bound = deps_of(loop).tools["write"]
        digest = action_digest("write", {"number": 6}, bound.schema_hash, policy.version)
        record["ticket"] = {**record["ticket"], "arguments": {"number": 6}, "digest": digest}
    loop.update_state(CONFIG, {"scratchpad": [record]}, as_node="authorize")
    loop.invoke(None, CONFIG)
    assert seen == []


def test_a_thread_that_is_used_again_with_another_saver_is_refused(store: Store) -> None:
    seen: list[str] = []

    @contract(effect="write")
    def write(line: str) -> str:
        """Write."""
        seen.append(line)
        return "ok"

    def loop() -> Any:
        steps = [call("write", line="a"), answer("x")]
        return create_loop(ScriptedModel(steps), [write], store=store, checkpointer=InMemorySaver())

    assert loop().invoke({"goal": "one"}, CONFIG)["outcome"]["status"] == "completed"
    with pytest.raises(RunFinished):
        loop().invoke({"goal": "two"}, CONFIG)
    assert seen == ["a"]


def test_run_it_holds_although_the_first_approval_has_expired_meanwhile(
    store: Store, effects: EffectCounter
) -> None:
    clock = FakeClock()

    @contract(effect="high_risk", timeout_s=0.1)
    def act(name: str) -> str:
        """Act; the first time nothing happens and nothing is said."""
        if not effects.count("tried"):
            effects.hit("tried")
            time.sleep(0.3)
            raise RuntimeError("nothing happened")
        effects.hit("acted")
        return "acted"

    loop = create_loop(
        ScriptedModel([call("act", name="a"), answer("x")]),
        [act],
        store=store,
        clock=clock,
        approval_ttl_s=60.0,
    )
    start(loop, "act", run_id="r")
    clock.advance(50.0)
    assert resume(loop, "r", HumanDecision(type="approve")).pending[0]["kind"] == "in_doubt"
    time.sleep(0.4)
    clock.advance(50.0)
    again = resume(loop, "r", HumanDecision(type="approve"))
    if again.status == "waiting":  # the late answer is shown first
        again = resume(loop, "r", HumanDecision(type="approve"))
    assert again.status == "completed"
    assert effects.count("acted") == 1


@pytest.mark.parametrize(
    "error", [SystemExit(0), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]
)
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_tool_cannot_end_the_process(store: Store, error: BaseException, kind: str) -> None:
    def leave(now: bool) -> str:
        """Leave."""
        raise error

    async def leave_async(now: bool) -> str:
        """Leave."""
        raise error

    tool: Any = contract(effect="read")(leave if kind == "sync" else leave_async)
    ended = start(
        create_loop(ScriptedModel([call(tool.__name__, now=True), answer("x")]), [tool], store=store), "go"
    )
    assert ended.status == "completed"
    assert type(error).__name__ in str(store.traces.steps(ended.run_id)[0]["observation"]["summary"])


def test_a_tool_that_pauses_by_itself_is_named(store: Store) -> None:
    @contract(effect="read")
    def pausing(now: bool) -> str:
        """Pause."""
        return str(interrupt("hello"))

    loop = create_loop(ScriptedModel([call("pausing", now=True)]), [pausing], store=store)
    assert start(loop, "go", run_id="r").status == "waiting"
    with pytest.raises(NothingToDecide, match="paused by a tool"):
        resume(loop, "r", HumanDecision(type="approve"))


def test_a_callers_recursion_limit_does_not_end_a_run_early(store: Store) -> None:
    @contract(effect="read", untrusted=False)
    def look(number: int) -> int:
        """Look."""
        return number

    steps = [*(call("look", number=n) for n in range(15)), answer("x")]
    loop = create_loop(ScriptedModel(steps), [look], store=store)
    config: Any = {**CONFIG, "recursion_limit": 10}
    done = loop.invoke({"goal": "look"}, config)
    assert done["outcome"]["status"] == "completed"


@pytest.mark.parametrize(
    "nonsense",
    [
        AIMessage("", additional_kwargs={"tool_calls": 5}),
        AIMessage("", response_metadata={"incomplete_details": "text", "finish_reason": 3}),
        AIMessage("", additional_kwargs={"tool_calls": [{"function": "x"}]}),
    ],
)
def test_nonsense_of_any_shape_is_an_invalid_decision(store: Store, nonsense: AIMessage) -> None:
    ended = start(create_loop(ScriptedModel([nonsense, answer("x")]), [], store=store), "go")
    assert ended.status == "completed"
    assert ended.steps == 2


def test_an_async_tool_that_blocks_is_bounded_in_the_sync_graph(store: Store) -> None:
    @contract(effect="read", timeout_s=0.1)
    async def block(now: bool) -> str:
        """Block the loop."""
        time.sleep(1.5)
        return "late"

    began = time.monotonic()
    start(
        create_loop(ScriptedModel([call("block", now=True), answer("x")]), [block], store=store),
        "go",
        run_id="r",
    )
    assert store.traces.steps("r")[0]["observation"]["status"] == "retryable_error"
    assert time.monotonic() - began < 4


def test_rules_with_other_settings_are_another_policy() -> None:
    def cap(limit: int) -> Any:
        return lambda action: Deny(rule="cap", reason="too much") if action.arguments["n"] > limit else None

    assert Policy(rules=[cap(1)]).version != Policy(rules=[cap(10)]).version
    assert Policy(rules=[cap(1)]).version == Policy(rules=[cap(1)]).version
