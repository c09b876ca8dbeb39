"""A list of models: who takes over when one is down, what that costs, and who is asked afterwards."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from interlock import Budget, HumanDecision, Run, create_loop, open_store, resume, start
from interlock.nodes.model import ChatModel
from interlock.policies.errors import BadLoop
from interlock.policies.prices import Price
from interlock.testing import ScriptedModel
from tests.nodes.misbehaving.bench import GOAL, Bench, Effect, act_of
from tests.nodes.misbehaving.replies import called, gives_up, reply
from tests.nodes.misbehaving.server import Answer, Server, fails, says, serving
from tests.nodes.misbehaving.test_downgrades import ACT as ACT_IN_WORDS
from tests.nodes.misbehaving.test_downgrades import END as END_IN_WORDS
from tests.nodes.misbehaving.test_downgrades import NO_TOOLS

ACT = reply(called("act", '{"to": "ana"}'), reasoning_content="Ana first.")
NOW, THEN = Price(input=Decimal(1), output=Decimal(1)), Price(input=Decimal(100), output=Decimal(100))


@pytest.fixture
def streaming() -> bool:
    return False


@pytest.fixture
def second() -> Any:
    with serving() as running:
        yield running
        assert running.answers == [], "the second server was asked less often than the test expects"


def chats(bench: Bench, second: Server, **options: Any) -> list[ChatModel]:
    other = bench.client().model_copy()
    other = type(other)(model="gpt-large", base_url=second.url, api_key=other.openai_api_key)
    first = ChatModel(bench.client(), sleep=bench.waits.append, price=NOW, **options)
    return [first, ChatModel(other, sleep=bench.waits.append, price=THEN)]


def run(bench: Bench, second: Server, *, effect: Effect = "write", budget: Budget | None = None,
        decision: HumanDecision | None = None) -> Run:  # fmt: skip
    with open_store(bench.path) as store:
        tools = [act_of(bench.effects, effect)]
        loop = create_loop(chats(bench, second), tools, store=store, budget=budget)
        return resume(loop, "r1", decision) if decision else start(loop, GOAL, run_id="r1")


DOWN: dict[str, list[Answer]] = {
    "transport faults": [fails(503, "overloaded")] * 3,
    "no key": [fails(401, "Incorrect API key provided")],
    "no such model": [fails(404, "the model gpt-small does not exist")],
    "no quota": [fails(429, "quota", code="insufficient_quota")],
}


@pytest.mark.parametrize("faults", [pytest.param(faults, id=name) for name, faults in DOWN.items()])
def test_the_second_model_takes_over_for_this_step_and_the_rest_of_the_run(
    bench: Bench, second: Server, faults: list[Answer]
) -> None:
    bench.server.answers += faults
    second.answers += [says(ACT), says(gives_up())]
    ended = run(bench, second)
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.effects.keys()) == ("cannot_complete", ["ana"])
    first, then = bench.step(1)["model"], bench.step(2)["model"]
    assert first["attempts"] == len(faults) + 1
    assert first["switched"][0].startswith("gpt-small is down, gpt-large from now on: ")
    assert (first["asked"], then["asked"], "switched" in then) == ("gpt-large", "gpt-large", False)
    assert ended.outcome.usage.model_calls == len(faults) + 2


def test_tokens_and_money_of_both_models_count_each_at_its_own_price(bench: Bench, second: Server) -> None:
    bench.server.answers += [fails(503, "overloaded")] * 3
    second.answers += [says(gives_up())]
    ended = run(bench, second)
    assert ended.outcome is not None
    model, usage = bench.step(1)["model"], ended.outcome.usage
    lost = model["input_tokens"] - 50
    assert lost > 900
    assert usage.cost == (lost * NOW.input + 50 * THEN.input + 9 * THEN.output) / 1_000_000
    assert model["estimated"] is True


def test_the_model_that_took_over_is_asked_first_by_a_new_process(bench: Bench, second: Server) -> None:
    bench.server.answers += [fails(401, "no key")]
    second.answers += [says(ACT), says(gives_up())]
    assert run(bench, second, effect="high_risk").status == "waiting"
    ended = run(bench, second, effect="high_risk", decision=HumanDecision(type="approve", by="ops"))
    assert ended.outcome is not None
    assert bench.effects.keys() == ["ana"]
    assert (len(bench.server.requests), len(second.requests)) == (1, 2)


def test_when_the_second_is_down_later_the_list_goes_round(bench: Bench, second: Server) -> None:
    bench.server.answers += [fails(401, "no key"), says(gives_up())]
    second.answers += [says(ACT), fails(401, "no key")]
    ended = run(bench, second)
    assert ended.outcome is not None
    assert ended.outcome.reason == "cannot_complete"
    assert "gpt-large is down, gpt-small from now on" in bench.step(2)["model"]["switched"][0]
    history = bench.server.requests[-1]["messages"]
    assert not any("reasoning_content" in message for message in history), (
        "the other model's reasoning was sent"
    )


def test_when_all_are_down_the_run_ends_with_every_reason_and_each_was_asked_once(
    bench: Bench, second: Server
) -> None:
    bench.server.answers += [fails(401, "no key here")]
    second.answers += [fails(401, "no key there")]
    ended = run(bench, second)
    assert ended.outcome is not None
    assert ended.outcome.reason == "model_error"
    assert "no key here" in ended.outcome.message
    assert "no key there" in ended.outcome.message


@pytest.mark.parametrize(
    "fault", [fails(400, "too long", code="context_length_exceeded"), fails(413, "too large")]
)
def test_a_request_that_is_at_fault_itself_goes_to_no_other_model(
    bench: Bench, second: Server, fault: Answer
) -> None:
    bench.server.answers += [fault]
    assert run(bench, second).status == "failed"
    assert second.requests == []


def test_a_model_that_the_money_left_does_not_suffice_for_is_not_asked(bench: Bench, second: Server) -> None:
    bench.server.answers += [fails(401, "no key")]
    ended = run(bench, second, budget=Budget(max_cost=Decimal("0.01")))
    assert ended.outcome is not None
    assert (ended.outcome.reason, second.requests) == ("model_error", [])
    assert "does not suffice" in ended.outcome.message


def test_each_model_has_its_own_protocol(bench: Bench, second: Server) -> None:
    bench.server.answers += [NO_TOOLS["Ollama"], says(ACT_IN_WORDS), fails(401, "no key"), says(END_IN_WORDS)]
    second.answers += [says(reply(called("act", '{"to": "bo"}'))), fails(401, "no key")]
    ended = run(bench, second)
    assert ended.outcome is not None
    protocols = [bench.step(number)["model"]["protocol"] for number in (1, 2, 3)]
    assert protocols == ["json_schema", "tools", "json_schema"]
    assert len(bench.server.requests) == 4


def test_a_list_that_cannot_work_is_refused() -> None:
    with pytest.raises(BadLoop, match="the list is empty"):
        create_loop([], [])
    with pytest.raises(BadLoop, match="two models are named scripted"):
        create_loop([ScriptedModel([]), ScriptedModel([])], [])
    with pytest.raises(BadLoop, match="model has to be a LangChain chat model, not str"):
        create_loop(["gpt"], [])  # type: ignore[list-item]
    create_loop([ChatModel(ScriptedModel([]), name="a"), ScriptedModel([])], [])
