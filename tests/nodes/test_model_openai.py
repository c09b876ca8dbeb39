"""langchain-openai against a real server on the loopback: what a provider sends is what is judged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from langchain_openai import ChatOpenAI

from interlock.nodes.model import ChatModel
from interlock.policies.contracts import Contract
from interlock.policies.observations import Observation
from interlock.policies.prompt import Prompt, ToolCard
from interlock.policies.proposals import ToolCall
from interlock.policies.replies import Reply
from interlock.policies.steps import StepRecord
from interlock.testing import FakeClock, call
from tests.nodes.misbehaving.replies import called, reply
from tests.nodes.misbehaving.server import Server, serving

PAY = ToolCard("pay", "Pay.", {"type": "object", "properties": {"to": {"type": "string"}}}, Contract())


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


def client(server: Server, **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model="gpt-small", base_url=server.url, api_key=cast(Any, "none"), **options)


def decided(server: Server, *steps: StepRecord, waits: list[float] | None = None, **options: Any) -> Reply:
    dumped = [step.dump() for step in steps]
    prompt = Prompt("", [PAY], "", "pay the bill", dumped, {}, len(steps) + 1, 5)
    sleep = FakeClock().advance if waits is None else waits.append
    return ChatModel(client(server, **options), sleep=sleep).decide(prompt)


def message(finish: str = "stop", **fields: Any) -> dict[str, Any]:
    return reply(finish=finish, **fields)


def calls(*arguments: Any, finish: str = "tool_calls", **fields: Any) -> dict[str, Any]:
    return reply(*(called("pay", one) for one in arguments), finish=finish, **fields)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_call_becomes_a_decision_with_usage_and_the_name_of_the_model(
    server: Server, streaming: bool
) -> None:
    server.says(**calls('{"to": "ana"}', content="The bill is due."))
    reply = decided(server, streaming=streaming)
    assert reply.decision == call("pay", "The bill is due.", to="ana")
    assert (reply.tokens.input, reply.tokens.output, reply.tokens.estimated) == (50, 9, False)
    assert (reply.model, reply.protocol) == ("gpt-small-2", "tools")
    [asked] = server.requests
    assert [tool["function"]["name"] for tool in asked["tools"]][:3] == ["pay", "ask", "request_approval"]
    assert not asked.get("stream")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"to": "ana", "to": "bo"}', "'to' twice"),
        ("null", "missing"),
        ("", "missing"),
        ("[]", "not list"),
        ('["ana"]', "not list"),
        ("0", "not int"),
        ('"{\\"to\\": \\"ana\\"}"', "not a string"),
        ('{"to": NaN}', "NaN"),
        ('{"to": "an', "not valid JSON"),
    ],
)
def test_arguments_that_the_client_would_bend_are_refused_as_they_were_sent(
    server: Server, arguments: str, told: str
) -> None:
    server.says(**calls(arguments))
    reply = decided(server)
    assert reply.invalid is not None
    assert told in reply.invalid.problem


def test_of_several_calls_the_order_of_the_provider_decides_which_is_first(server: Server) -> None:
    server.says(**calls('{"to": "an', '{"to": "bo"}'))
    reply = decided(server)
    assert reply.decision is None
    assert reply.invalid is not None
    assert "not run: 'pay'" in reply.invalid.problem


def test_only_the_loop_retries_and_it_honours_what_the_server_asks_for(server: Server) -> None:
    server.says(429, {"retry-after": "3"}, error={"message": "slow down"})
    server.says(503, error={"message": "overloaded"})
    server.says(**calls('{"to": "ana"}'))
    waits: list[float] = []
    reply = decided(server, waits=waits, max_retries=5)
    assert reply.decision is not None
    assert reply.attempts == len(server.requests) == 3
    assert waits == [3.0, 1.0]


def test_a_server_that_stays_down_is_a_failure_after_a_bounded_number_of_calls(server: Server) -> None:
    for _ in range(3):
        server.says(500, error={"message": "broken"})
    reply = decided(server)
    assert reply.failure is not None
    assert "Error code: 500 - broken" in reply.failure.text
    assert len(server.requests) == 3


def test_a_connection_that_is_refused_is_tried_again_and_told(server: Server) -> None:
    server.server_close()
    reply = decided(server)
    assert reply.failure is not None
    assert "after 3 attempts" in reply.failure.text
    assert "Connection error" in reply.failure.text
    assert reply.tokens.input == 0


def test_the_async_client_does_not_retry_on_its_own_either(server: Server) -> None:
    server.says(503, error={"message": "overloaded"})
    server.says(**calls('{"to": "a", "to": "b"}'))
    prompt = Prompt("", [PAY], "", "pay", [], {}, 1, 5)

    async def run() -> Reply:
        async def asleep(_: float) -> None:
            return None

        chat = ChatModel(client(server, max_retries=5), asleep=asleep)
        return await chat.adecide(prompt)

    reply = asyncio.run(run())
    assert reply.invalid is not None
    assert "'to' twice" in reply.invalid.problem
    assert reply.attempts == len(server.requests) == 2


def test_a_bad_request_is_not_sent_again(server: Server) -> None:
    server.says(400, error={"message": "the context is too long", "param": "messages"})
    reply = decided(server)
    assert reply.failure is not None
    assert "the context is too long" in reply.failure.text
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("body", "failed"),
    [
        (message(refusal="I will not."), True),
        (message("content_filter", content="half"), True),
        (calls('{"to": "ana"}', finish="length"), False),
        (message(content=""), False),
        (message(content="Paid!"), False),
    ],
)
def test_refusals_cuts_and_silence_are_told_apart(server: Server, body: dict[str, Any], failed: bool) -> None:
    server.says(**body)
    reply = decided(server)
    assert reply.decision is None
    assert (reply.failure is not None) is failed
    assert (reply.invalid is not None) is not failed


def test_a_cut_that_the_server_reports_as_a_normal_end_is_seen_by_the_tokens(server: Server) -> None:
    server.says(**calls('{"to": "ana"}', usage=(50, 64)))
    reply = decided(server, max_tokens=64)
    assert reply.invalid is not None
    assert "cut off" in reply.invalid.problem


def test_a_server_without_usage_gets_an_estimate(server: Server) -> None:
    server.says(**calls('{"to": "ana"}', usage=None))
    tokens = decided(server).tokens
    assert tokens.estimated
    assert tokens.input > 100
    assert tokens.output > 0


def test_history_is_sent_in_pairs_that_the_provider_accepts(server: Server) -> None:
    server.says(**calls('{"to": "ana"}'))
    seen = Observation(status="ok", summary="paid", trust="untrusted")
    decided(server, StepRecord(step=1, decision=call("pay", "First.", to="bo"), observation=seen))
    system, goal, said, result, last = server.requests[0]["messages"]
    assert [m["role"] for m in (system, goal, said, result, last)] == [
        "system", "user", "assistant", "tool", "user",
    ]  # fmt: skip
    assert json.loads(said["tool_calls"][0]["function"]["arguments"]) == {"to": "bo"}
    assert said["tool_calls"][0]["id"] == result["tool_call_id"] == "step00001"
    assert last["content"] == "Step 2 of at most 5."


def test_reasoning_that_the_provider_wants_back_is_kept(server: Server) -> None:
    server.says(**calls('{"to": "ana"}', reasoning_content="The bill is due."))
    reply = decided(server)
    assert reply.decision is not None
    assert reply.decision.proposal == ToolCall(tool="pay", arguments={"to": "ana"})
    assert reply.provider == {"reasoning_content": "The bill is due."}
