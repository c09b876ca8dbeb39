"""Streamed replies: the same decision, the same words to the model, the same tokens as without a stream."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from interlock import Thought, create_loop, open_store, start
from interlock.nodes.model import ChatModel
from tests.nodes.misbehaving.bench import GOAL, Bench, act_of
from tests.nodes.misbehaving.replies import called, chunks_of, gives_up, reply
from tests.nodes.misbehaving.server import Answer, Exchange, drops_in_stream, says

pytestmark = pytest.mark.parametrize("streaming", [False])

STREAM = {"stream": True}
ANA = '{"to": "ana"}'
REPLIES: dict[str, dict[str, Any]] = {
    "a call": reply(called("act", ANA), content="Ana is due."),
    "a call cut off": reply(called("act", '{"to": "ana", "urg'), finish="length"),
    "a call cut off that says it is whole": reply(called("act", '{"to": "ana", "urg')),
    "a duplicate key": reply(called("act", '{"to": "ana", "to": "bo"}')),
    "null": reply(called("act", "null")),
    "no arguments": reply(called("act", "")),
    "a string in a string": reply(called("act", json.dumps(ANA))),
    "several calls": reply(called("act", ANA, id="a"), called("act", '{"to": "bo"}', id="b")),
    "several calls with one id": reply(called("act", ANA), called("act", '{"to": "bo"}')),
    "no id": reply(called("act", ANA, id=None)),
    "text only": reply(content="Paid!"),
    "nothing": reply(content=""),
    "a refusal": reply(refusal="I will not."),
    "a filter": reply(content="half", finish="content_filter"),
    "reasoning": reply(called("act", ANA), reasoning_content="Ana first."),
}


def first(bench: Bench, body: dict[str, Any], **chat: Any) -> dict[str, Any]:
    bench.run(body, ends=body not in (REPLIES["a refusal"], REPLIES["a filter"]), chat=chat)
    record = bench.step()
    return {key: value for key, value in record.items() if key not in ("phases", "ticket", "verdict")}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in REPLIES.items()])
def test_a_stream_comes_to_the_same_step_as_the_whole_reply(bench: Bench, body: dict[str, Any]) -> None:
    whole = first(bench, body)
    bench.path = bench.path.with_name("streamed.db")
    streamed = first(bench, body, **STREAM)
    assert bench.server.requests[-1].get("stream") is True
    assert streamed == whole


def streams(*chunks: Any, done: bool = True) -> Answer:
    """Chunks as they stand, some of them with fields of their own."""

    def answer(exchange: Exchange) -> None:
        exchange.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for chunk in chunks:
            exchange.chunk(f"data: {json.dumps(chunk)}\n\n".encode())
        exchange.chunk(b"data: [DONE]\n\n" if done else b"")
        exchange.chunk(b"")

    return answer


def delta(finish: str | None = None, usage: tuple[int, int] | None = None, **fields: Any) -> dict[str, Any]:
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-small-2"}
    counted = (
        {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
        if usage
        else None
    )
    return {**chunk, "choices": [{"index": 0, "delta": fields, "finish_reason": finish}], "usage": counted}


def part(arguments: Any, index: Any = 0, **more: Any) -> dict[str, Any]:
    place = {} if index is None else {"index": index}
    return {
        **place,
        **({"id": more.pop("id")} if "id" in more else {}),
        "function": {"arguments": arguments, **more},
    }


def test_usage_that_is_a_running_total_is_not_added_up(bench: Bench) -> None:
    begun, gone_on = part(ANA[:5], id="c", name="act"), part(ANA[5:])
    chunks = [delta(usage=(50, 1), tool_calls=[begun]), delta(usage=(50, 5), tool_calls=[gone_on])]
    bench.run(streams(*chunks, delta("tool_calls", usage=(50, 9))), chat=STREAM)
    model = bench.step()["model"]
    assert (model["input_tokens"], model["output_tokens"], "estimated" in model) == (50, 9, False)
    assert bench.effects.keys() == ["ana"]


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")  # the client's, for what is no text
@pytest.mark.parametrize(
    ("parts", "ran"),
    [
        ([part(ANA[:4], id="a", name="act"), part(ANA[4:], id="b")], ["ana"]),
        ([part(ANA[:4], id="a", name="act"), part(ANA[4:], id="a", name="act")], ["ana"]),
        ([part(ANA[:4], None, id="a", name="act"), part(ANA[4:], None)], ["ana"]),
        ([part(ANA, None, name="act"), part('{"to": "bo"}', None, name="act")], ["ana"]),
        ([part(ANA, id="a", name="act"), part('{"to": "bo"}', id="b", name="act")], ["ana"]),
        ([part({"to": "ana"}, id="a", name="act")], ["ana"]),
        ([part(["ana"], id="a", name="act")], []),
        ([part(None, id="a", name="act")], []),
        ([part(ANA, id="a", name="act"), part('{"to": "bo"}')], []),
    ],
)
def test_calls_are_told_apart_by_place_and_name_and_never_mixed(
    bench: Bench, parts: list[Any], ran: list[str]
) -> None:
    bench.run(streams(*[delta(tool_calls=[one]) for one in parts], delta("tool_calls")), chat=STREAM)
    assert bench.effects.keys() == ran


@pytest.mark.parametrize("chunks", [0, 1, 3, 4])
@pytest.mark.parametrize("politely", [False, True])
def test_a_stream_that_breaks_off_is_asked_for_again(bench: Bench, chunks: int, politely: bool) -> None:
    body = reply(called("act", ANA))
    ended = bench.run(drops_in_stream(body, chunks=chunks, politely=politely), body, chat=STREAM)
    assert ended.outcome is not None
    assert bench.effects.keys() == ["ana"], ended.outcome.message
    assert (bench.step()["model"]["attempts"], bench.waits) == (2, [0.5])


def test_an_error_inside_a_stream_is_tried_again_where_it_says_that_the_server_is_busy(bench: Bench) -> None:
    busy = {"error": {"message": "overloaded", "type": "overloaded_error"}}
    bench.run(streams(delta(content="Ana "), busy), chat=STREAM)
    assert bench.waits == [0.5]


def test_a_structured_reply_can_be_streamed(bench: Bench) -> None:
    said = json.dumps(
        {"thought": "Ana.", "proposal": {"kind": "tool_call", "tool": "act", "arguments": {"to": "ana"}}}
    )
    end = json.dumps({"proposal": {"kind": "cannot_complete", "reason": "done"}})
    bench.run(reply(content=said), reply(content=end), ends=False, chat={**STREAM, "protocol": "json_schema"})
    assert bench.effects.keys() == ["ana"]
    assert bench.server.requests[0]["response_format"]["type"] == "json_schema"


def loop_of(bench: Bench, store: Any, **chat: Any) -> Any:
    return create_loop(ChatModel(bench.client(), **chat), [act_of(bench.effects, "write")], store=store)


def test_langgraphs_stream_of_messages_gets_the_tokens_and_a_plain_call_does_not_stream(bench: Bench) -> None:
    bodies = [reply(called("act", ANA), content="Ana is due."), gives_up()]
    bench.server.answers += [says(body) for body in [*bodies, *bodies]]
    with open_store(bench.path) as store:
        loop = loop_of(bench, store)
        config = {"configurable": {"thread_id": "m"}}
        pieces = [message for message, _ in loop.stream({"goal": GOAL}, config, stream_mode="messages")]
        assert "".join(piece.text for piece in pieces) == "Ana is due."
        assert len(pieces) > 3
        loop.invoke({"goal": GOAL}, {"configurable": {"thread_id": "plain"}})
    assert [bool(one.get("stream")) for one in bench.server.requests] == [True, True, False, False]


def test_the_async_stream_gets_them_too(bench: Bench) -> None:
    bench.server.answers += [says(reply(called("act", ANA), content="Ana is due.")), says(gives_up())]

    async def texts() -> list[str]:
        with open_store(bench.path) as store:
            stream = loop_of(bench, store).astream(
                {"goal": GOAL}, {"configurable": {"thread_id": "m"}}, stream_mode="messages"
            )
            return [message.text async for message, _ in stream]

    assert "".join(asyncio.run(texts())) == "Ana is due."
    assert bench.effects.keys() == ["ana"]


def test_what_comes_after_the_end_of_a_reply_does_not_matter(bench: Bench) -> None:
    """The usage is lost with the connection; the decision is not."""
    body = reply(called("act", ANA))
    bench.run(drops_in_stream(body, chunks=len(chunks_of(body)) - 1, politely=True), chat=STREAM)
    assert bench.effects.keys() == ["ana"]
    assert bench.step()["model"]["estimated"] is True


def test_a_thought_of_a_reply_that_broke_off_is_told_anew_under_a_higher_number(bench: Bench) -> None:
    body, told = reply(called("act", ANA), content="Ana is due, and nobody else."), list[Thought]()
    bench.server.answers += [drops_in_stream(body, chunks=4), says(body), says(gives_up())]
    with open_store(bench.path) as store:
        start(loop_of(bench, store, sleep=bench.waits.append), GOAL, run_id="r1", on_thought=told.append)
    texts = {number: "".join(one.text for one in told if one.attempt == number) for number in (1, 2)}
    assert texts[2] == "Ana is due, and nobody else."
    assert texts[1] in ("Ana ", "Ana is ", "Ana is due, ", "Ana is due, and ")
    assert {one.step for one in told} == {1}
