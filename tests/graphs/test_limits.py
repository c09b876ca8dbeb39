"""Every limit is checked before the spending, says how to go on, and a person can raise it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage

from interlock import (
    Budget,
    ChatModel,
    Grant,
    HumanDecision,
    Loop,
    Outcome,
    Price,
    Store,
    aresume,
    astart,
    contract,
    create_loop,
    open_store,
    resume,
    start,
)
from interlock.graphs.reopening import REOPENED_BEHIND, reopened
from interlock.policies.errors import BadGrant, BadLoop, RunFinished
from interlock.testing import EffectCounter, FakeClock, ScriptedModel, answer, ask, call

START = datetime(2026, 1, 1, tzinfo=UTC)
SOON, LATER = START + timedelta(seconds=20), START + timedelta(hours=1)
PRICE = Price(input=Decimal(10), output=Decimal(10))
"""So high that a call of the tests costs a cent and more."""


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


@pytest.fixture
def effects(tmp_path: Path) -> EffectCounter:
    return EffectCounter(tmp_path / "effects.log")


@dataclass
class Desk:
    """A loop that sends one message after the other; each takes ten seconds of the clock."""

    store: Store
    effects: EffectCounter
    clock: FakeClock = field(default_factory=lambda: FakeClock(START))
    seconds: float = 10.0

    def loop(self, budget: Budget, script: Sequence[Any] | None = None) -> Loop:
        @contract(effect="write", idempotent=True, targets=[], provides={"sent": "number"})
        def send(number: int) -> dict[str, int]:
            """Send a message."""
            self.clock.advance(self.seconds)
            self.effects.hit(f"send-{number}")
            return {"number": number}

        sends = [call("send", number=number) for number in range(1, 9)]
        model = ChatModel(ScriptedModel(script or [*sends, answer("done")], usage=(900, 100)), price=PRICE)
        return create_loop(model, [send], store=self.store, budget=budget, clock=self.clock)


@pytest.fixture
def desk(store: Store, effects: EffectCounter) -> Desk:
    return Desk(store, effects)


TABLE: list[tuple[Budget, str, str, str, int, Grant]] = [
    (Budget(max_steps=3), "step_limit", "max_steps", "3", 2, Grant(steps=6)),
    (Budget(max_seconds=20), "time_limit", "max_seconds", "20", 2, Grant(seconds=100)),
    (Budget(deadline=SOON), "time_limit", "deadline", SOON.isoformat(), 2, Grant(deadline=LATER)),
    (Budget(max_tokens=4_500), "token_limit", "max_tokens", "4500", 3, Grant(tokens=20_000)),
    (Budget(max_cost=Decimal("0.045")), "cost_limit", "max_cost", "0.045", 3, Grant(cost=Decimal(1))),
    (Budget(max_calls={"send": 2}), "call_limit", "max_calls[send]", "2", 2, Grant(calls={"send": 6})),
]  # fmt: skip


@pytest.mark.parametrize(
    ("budget", "reason", "name", "value", "sent", "add"), TABLE, ids=[r[2] for r in TABLE]
)
def test_the_tool_that_would_exceed_a_limit_does_not_run_and_the_outcome_says_which_limit(
    desk: Desk, budget: Budget, reason: str, name: str, value: str, sent: int, add: Grant
) -> None:
    ended = start(desk.loop(budget), "send eight", run_id="r").outcome
    assert ended is not None
    assert (ended.status, ended.reason) == ("stopped", reason)
    assert ended.limit is not None
    assert (ended.limit.name, ended.limit.value) == (name, value)
    assert ended.limit.used
    assert desk.effects.count() == sent
    assert [change.arguments["number"] for change in ended.changes] == list(range(1, sent + 1))
    assert [fact.value for fact in ended.evidence] == [sent]
    assert any(item.what.startswith("goal") for item in ended.unfinished)
    assert ended.limit.go_on in ("steps", "seconds", "deadline", "tokens", "cost", "calls")


@pytest.mark.parametrize(
    ("budget", "reason", "name", "value", "sent", "add"), TABLE, ids=[r[2] for r in TABLE]
)
def test_a_stopped_run_goes_on_with_more_room_and_repeats_nothing(
    desk: Desk, budget: Budget, reason: str, name: str, value: str, sent: int, add: Grant
) -> None:
    loop = desk.loop(budget)
    start(loop, "send eight", run_id="r")
    ended = resume(loop, "r", add=add).outcome
    assert ended is not None
    assert (ended.status, ended.answer) == ("completed", "done")
    assert ended.limit is None
    numbers = [change.arguments["number"] for change in ended.changes]
    assert len(numbers) == len(set(numbers)) == desk.effects.count()


@pytest.mark.parametrize(
    ("budget", "reason", "name", "value", "sent", "add"), TABLE, ids=[r[2] for r in TABLE]
)
async def test_limits_and_more_room_hold_in_the_async_graph(
    desk: Desk, budget: Budget, reason: str, name: str, value: str, sent: int, add: Grant
) -> None:
    loop = desk.loop(budget)
    ended = (await astart(loop, "send eight", run_id="r")).outcome
    assert ended is not None
    assert (ended.reason, desk.effects.count()) == (reason, sent)
    assert (await aresume(loop, "r", add=add)).status == "completed"


def test_what_was_used_counts_over_all_resumes(desk: Desk) -> None:
    loop = desk.loop(Budget(max_tokens=3_500))
    first = start(loop, "send", run_id="r").outcome
    assert first is not None
    second = resume(loop, "r", add=Grant(tokens=1_000)).outcome
    assert second is not None
    assert second.limit is not None
    assert (first.usage.input_tokens, second.usage.input_tokens) == (1_800, 2_700)
    assert second.limit.value == "4500"
    assert second.usage.cost == Decimal("0.03")


@pytest.mark.parametrize(
    ("add", "told"),
    [(Grant(seconds=5), "add steps"), (Grant(), "add steps"), (Grant(calls={"send": 1}), "add steps")],
)
def test_what_does_not_lift_the_limit_is_refused_and_changes_nothing(
    desk: Desk, add: Grant, told: str
) -> None:
    loop = desk.loop(Budget(max_steps=3))
    start(loop, "send", run_id="r")
    with pytest.raises(BadGrant, match=told):
        resume(loop, "r", add=add)
    with pytest.raises(RunFinished):
        resume(loop, "r")


def test_only_a_limit_can_be_raised(desk: Desk) -> None:
    loop = desk.loop(Budget(), [answer("done")])
    start(loop, "say", run_id="r")
    with pytest.raises(BadGrant, match="not stopped by a bound"):
        resume(loop, "r", add=Grant(steps=1))
    asking = desk.loop(Budget(), [ask("which?"), answer("done")])
    start(asking, "say", run_id="q")
    with pytest.raises(BadGrant, match="has not ended"):
        resume(asking, "q", add=Grant(steps=1))
    with pytest.raises(BadGrant, match="without a decision"):
        resume(asking, "q", HumanDecision(type="respond", message="x"), add=Grant(steps=1))


def test_more_room_outlives_langgraphs_own_limit(desk: Desk) -> None:
    script = [*(call("send", number=number) for number in range(1, 60)), answer("done")]
    loop = desk.loop(Budget(max_steps=2), script)
    start(loop, "send", run_id="r")
    ended = resume(loop, "r", add=Grant(steps=80, seconds=10_000))
    assert ended.status == "completed"
    assert ended.steps == 60


def test_a_run_that_died_while_it_was_reopened_can_be_reopened_again(desk: Desk) -> None:
    loop = desk.loop(Budget(max_steps=3))
    row_before = start(loop, "send", run_id="r").outcome
    resume(loop, "r", add=Grant(steps=1))
    stored = desk.store.runs.get("r").outcome
    assert row_before is not None
    assert stored is not None
    assert stored.steps == 4
    desk.store.runs.reopen("r", START.isoformat())
    assert resume(loop, "r").outcome == stored


def test_a_run_that_died_between_its_state_and_its_row_is_reopened_once(desk: Desk) -> None:
    loop = desk.loop(Budget(max_steps=3))
    start(loop, "send", run_id="r")
    config: Any = {"configurable": {"thread_id": "r"}}
    update = reopened(loop.get_state(config), desk.store.runs.get("r"), None, Grant(steps=2))
    loop.update_state(config, update, as_node=REOPENED_BEHIND)  # and here the process dies
    with pytest.raises(RunFinished):
        resume(loop, "r")
    ended = resume(loop, "r", add=Grant(steps=2)).outcome
    assert ended is not None
    assert ended.limit is not None
    assert ended.limit.value == "5", "the grant of the dead process counts, once"
    numbers = [change.arguments["number"] for change in ended.changes]
    assert len(numbers) == len(set(numbers)) == desk.effects.count()


def test_the_bound_on_time_that_ends_first_is_the_one_that_is_named(desk: Desk) -> None:
    def slow(messages: Any) -> AIMessage:
        time.sleep(60)
        return AIMessage("late")

    soon = datetime.now(UTC) + timedelta(seconds=1)
    loop = create_loop(ScriptedModel([slow]), [], store=desk.store, budget=Budget(deadline=soon))
    ended = start(loop, "hang").outcome
    assert ended is not None
    assert ended.limit is not None
    assert (ended.reason, ended.limit.name, ended.limit.value) == ("time_limit", "deadline", soon.isoformat())


@pytest.mark.parametrize(
    "bounds",
    [
        {"max_steps": 0}, {"max_steps": -1}, {"max_steps": True}, {"max_steps": 2.5}, {"max_seconds": 0},
        {"max_seconds": float("inf")}, {"max_tokens": 0}, {"max_cost": -1}, {"max_cost": "NaN"},
        {"max_calls": {"send": -1}}, {"max_failures": 0}, {"max_repeats": 0}, {"max_stale": 0},
        {"deadline": "2026-01-01T00:00:00"}, {"verify_seconds": 0}, {"unknown": 1},
    ],
)  # fmt: skip
def test_a_bound_that_is_none_is_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(bounds))):
        Budget.load(bounds)


def test_no_default_is_unlimited() -> None:
    bounds = Budget().dump()
    for name in ("max_steps", "max_seconds", "max_tokens", "max_failures", "max_repeats", "max_stale"):
        assert 0 < bounds[name] < 10_000_000


def test_a_money_bound_with_an_unknown_price_refuses_to_start(desk: Desk) -> None:
    model = paid("nobody-prices-this")
    with pytest.raises(BadLoop, match="nobody-prices-this"):
        create_loop(model, [], store=desk.store, budget=Budget(max_cost=Decimal(1)))
    start(create_loop(model, [], store=desk.store), "say x", run_id="r")
    outcome = desk.store.runs.get("r").outcome
    assert outcome is not None
    assert (outcome.usage.cost, outcome.usage.unpriced_calls) == (Decimal(0), 1)


def test_a_money_bound_of_zero_lets_nothing_be_spent_but_a_free_model_run(desk: Desk) -> None:
    stopped = start(desk.loop(Budget(max_cost=Decimal(0))), "send").outcome
    assert stopped is not None
    assert (stopped.reason, stopped.usage.model_calls) == ("cost_limit", 0)
    free = create_loop(ScriptedModel([answer("x")]), [], store=desk.store, budget=Budget(max_cost=Decimal(0)))
    assert start(free, "say x").status == "completed"


def test_the_price_of_a_known_model_comes_from_the_table(desk: Desk) -> None:
    model = paid("gpt-4o-mini", usage=(1_000_000, 1_000_000))
    loop = create_loop(model, [], store=desk.store, budget=Budget(max_tokens=10_000_000, max_cost=Decimal(5)))
    ended = start(loop, "say x").outcome
    assert ended is not None
    assert Decimal("0.1") < ended.usage.cost < 5
    assert ended.usage.unpriced_calls == 0


def test_a_call_limit_is_said_before_a_person_is_asked(desk: Desk) -> None:
    @contract(effect="high_risk")
    def wipe(number: int) -> str:
        """Wipe something."""
        desk.effects.hit("wipe")
        return "wiped"

    loop = create_loop(
        ScriptedModel([call("wipe", number=1), answer("x")]), [wipe], store=desk.store,
        budget=Budget(max_calls={"wipe": 0}),
    )  # fmt: skip
    run = start(loop, "wipe")
    assert (run.status, run.pending) == ("stopped", [])
    assert desk.effects.count() == 0


def test_a_bound_on_a_tool_that_does_not_exist_is_refused(desk: Desk) -> None:
    with pytest.raises(BadLoop, match="sned"):
        desk.loop(Budget(max_calls={"sned": 1}))


def test_waiting_for_a_person_uses_no_active_seconds_but_the_deadline_passes(desk: Desk) -> None:
    script = [ask("which?"), call("send", number=1), answer("done")]
    loop = desk.loop(Budget(max_seconds=15), script)
    start(loop, "send", run_id="r")
    desk.clock.advance(3_600)
    assert resume(loop, "r", HumanDecision(type="respond", message="one")).status == "completed"
    late = desk.loop(Budget(deadline=START + timedelta(hours=2)), script)
    start(late, "send", run_id="q")
    desk.clock.advance(7_200)
    ended = resume(late, "q", HumanDecision(type="respond", message="one")).outcome
    assert ended is not None
    assert ended.limit is not None
    assert ended.limit.name == "deadline"
    assert desk.effects.count() == 1


def test_a_read_that_hangs_and_a_model_that_hangs_end_with_the_runs_time(store: Store) -> None:
    @contract(effect="read")
    def hang() -> str:
        """Hang."""
        time.sleep(60)
        return "late"

    began = time.monotonic()
    loop = create_loop(
        ScriptedModel([call("hang"), answer("x")]), [hang], store=store, budget=Budget(max_seconds=0.5)
    )
    assert reason_of(start(loop, "hang").outcome) == "time_limit"

    def slow(messages: Any) -> AIMessage:
        time.sleep(60)
        return AIMessage("late")

    loop = create_loop(ScriptedModel([slow]), [], store=store, budget=Budget(max_seconds=0.5))
    ended = start(loop, "hang").outcome
    assert reason_of(ended) == "time_limit"
    assert time.monotonic() - began < 10
    assert ended is not None
    assert ended.usage.input_tokens > 0, "what may have been charged is counted"
    assert ended.usage.estimated


def test_retries_stop_where_the_tokens_no_longer_suffice(store: Store) -> None:
    calls = 0

    def failing(messages: Any) -> AIMessage:
        nonlocal calls
        calls += 1
        raise ConnectionError("down")

    model = ChatModel(ScriptedModel([failing]), attempts=3, sleep=lambda _: None)
    ended = start(create_loop(model, [], store=store, budget=Budget(max_tokens=3_500)), "x").outcome
    assert ended is not None
    assert ended.reason == "model_error"
    assert calls == 1, "two attempts may take more than 3,500 tokens"


def test_ctrl_c_leaves_a_run_that_another_process_takes_up(tmp_path: Path) -> None:
    code = (
        "import os, signal\n"
        "from interlock import *\n"
        "from interlock.testing import *\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "@contract(effect='read')\n"
        "def look() -> str:\n"
        "    'Look.'\n"
        "    if not os.path.exists('seen'):\n"
        "        open('seen', 'w').close()\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        import time; time.sleep(5)\n"
        "    return 'seen'\n"
        "with open_store('runs.db') as store:\n"
        "    loop = create_loop(ScriptedModel([call('look'), answer('done')]), [look], store=store)\n"
        "    run = resume(loop, 'r') if os.path.exists('seen') else start(loop, 'look', run_id='r')\n"
        "    print(run.status)\n"
    )
    killed = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert killed.returncode != 0
    assert "KeyboardInterrupt" in killed.stderr
    again = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert again.stdout.strip() == "completed", again.stderr


def paid(name: str, **options: Any) -> ScriptedModel:
    """A scripted model that does not say of itself that it is free."""
    model = ScriptedModel([answer("x")], name=name, **options)
    model.__class__ = type("Paid", (ScriptedModel,), {"costs_nothing": False, "__module__": __name__})
    return model


def reason_of(outcome: Outcome | None) -> str | None:
    return str(outcome.reason) if outcome else None
