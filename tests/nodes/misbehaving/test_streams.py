"""Replies in pieces: what breaks off, what is counted twice, and what comes in an order of its own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock import Budget
from tests.nodes.misbehaving.bench import Bench
from tests.nodes.misbehaving.replies import called, chunks_of, reply
from tests.nodes.misbehaving.server import Answer, drops_in_stream, fails, streams

ACT = reply(called("act", '{"to": "ana", "urgent": true}'), content="Ana is waiting.")
CHUNKS = chunks_of(ACT)


@pytest.fixture
def streaming() -> bool:
    return True


def with_usage(*usages: Any) -> list[dict[str, Any]]:
    """The chunks with usage on the last ones, as some servers report it with every chunk."""
    chunks = [dict(chunk) for chunk in CHUNKS if chunk["choices"]]
    for chunk, (prompt, completion) in zip(chunks[-len(usages) :], usages, strict=True):
        total = prompt + completion
        chunk["usage"] = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": total}
    return chunks


@pytest.mark.parametrize("politely", [False, True], ids=["the connection breaks", "as if that were all"])
@pytest.mark.parametrize("chunks", [2, 9, len(CHUNKS) - 2])
def test_a_call_whose_stream_ends_before_the_model_was_done_does_not_run(
    bench: Bench, chunks: int, politely: bool
) -> None:
    ended = bench.run(drops_in_stream(ACT, chunks=chunks, politely=politely))
    assert (ended.steps, bench.effects.count(), bench.waits) == (1, 0, [0.5])
    assert ended.outcome is not None
    assert (ended.outcome.usage.model_calls, ended.outcome.usage.estimated) == (2, True)


def test_streams_that_always_break_off_end_the_run_after_a_bounded_number_of_attempts(bench: Bench) -> None:
    ended = bench.run(*[drops_in_stream(ACT, chunks=9)] * 3, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, len(bench.server.requests)) == ("model_error", 3)
    assert bench.effects.count() == 0


def test_a_stream_that_hangs_is_left_when_the_runs_time_is_up(bench: Bench) -> None:
    answer = streams(CHUNKS[:4], hangs=True)
    ended = bench.run(answer, ends=False, budget=Budget(max_seconds=0.3))
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.effects.count()) == ("time_limit", 0)


def test_arguments_that_a_stream_was_cut_in_are_not_completed(bench: Bench) -> None:
    """The finish says so; the arguments would parse once a lenient parser has closed them."""
    bench.run(reply(called("act", '{"to": "ana", "urgent": true'), finish="length"))
    assert bench.effects.count() == 0
    assert "cut off" in bench.told()


@pytest.mark.parametrize(
    "chunks",
    [
        with_usage((50, 3), (50, 6), (50, 9)),
        with_usage((50, 1), (50, 9), (50, 9)),
        with_usage((0, 3), (0, 6), (50, 9)),
        with_usage((50, 9)),
    ],
    ids=["growing", "repeated", "input at the end", "with the last chunk"],
)
def test_usage_that_is_a_running_total_is_not_added_up(bench: Bench, chunks: list[dict[str, Any]]) -> None:
    bench.run(streams(chunks))
    model = bench.step()["model"]
    assert (model["input_tokens"], model["output_tokens"]) == (50, 9)


def test_a_stream_without_usage_is_estimated_and_marked(bench: Bench) -> None:
    bench.run(streams([chunk for chunk in CHUNKS if chunk["choices"]]))
    model = bench.step()["model"]
    assert (model["input_tokens"] > 300, model["output_tokens"] > 5, model["estimated"]) == (True, True, True)


def delta(**fields: Any) -> dict[str, Any]:
    head = {key: value for key, value in CHUNKS[0].items() if key != "choices"}
    return {**head, "choices": [{"index": 0, "delta": fields, "finish_reason": None}]}


def part(arguments: str | None, **fields: Any) -> dict[str, Any]:
    name = {"name": fields.pop("name")} if "name" in fields else {}
    return delta(tool_calls=[{**fields, "function": {**name, "arguments": arguments}}])


ENDS = [chunk for chunk in CHUNKS if chunk["choices"] and chunk["choices"][0]["finish_reason"]]
ODD = {
    "another id with each piece": [
        part("", index=0, id="a", name="act"),
        part('{"to":', index=0, id="b"),
        part(' "ana"}', index=0, id="c"),
    ],
    "the whole call at once": [part('{"to": "ana"}', index=0, id="a", name="act")],
    "the name with each piece": [
        part('{"to":', index=0, id="a", name="act"),
        part(' "ana"}', index=0, id="a", name="act"),
    ],
    "null before the arguments": [
        part(None, index=0, id="a", name="act"),
        part('{"to": "ana"}', index=0),
    ],
    "empty ids behind the first": [
        part("", index=0, id="a", name="act"),
        part('{"to": "ana"}', index=0, id=""),
    ],
    "no role and empty deltas": [delta(), part('{"to": "ana"}', index=0, id="a", name="act"), delta()],
    "two calls by index": [
        part("", index=0, id="a", name="act"),
        part("", index=1, id="b", name="act"),
        part('{"to": "bo"}', index=1),
        part('{"to": "ana"}', index=0),
    ],
    "two calls of one id": [
        part('{"to": "ana"}', index=0, id="a", name="act"),
        part('{"to": "bo"}', index=1, id="a", name="act"),
    ],
    "two calls of one index": [
        part('{"to": "ana"}', index=0, id="a", name="act"),
        part('{"to": "bo"}', index=0, id="b", name="act"),
    ],
}


@pytest.mark.parametrize("pieces", [pytest.param(pieces, id=name) for name, pieces in ODD.items()])
def test_pieces_in_an_odd_order_are_the_call_that_was_meant(
    bench: Bench, pieces: list[dict[str, Any]]
) -> None:
    bench.run(streams([*pieces, *ENDS]))
    assert bench.effects.keys() == ["ana"]


def test_an_error_inside_a_stream_is_no_reply(bench: Bench) -> None:
    error = {"error": {"message": "the server is overloaded", "type": "server_error", "code": None}}
    ended = bench.run(streams([*CHUNKS[:3], error]))
    assert (ended.steps, bench.effects.count(), bench.waits) == (1, 0, [0.5])


def test_chunks_without_choices_say_nothing(bench: Bench) -> None:
    silent = {**CHUNKS[0], "choices": []}
    bench.run(streams([silent, *CHUNKS[:2], silent, *CHUNKS[2:], silent]))
    assert bench.effects.keys() == ["ana"]


@pytest.mark.parametrize("answer", [fails(429, "slow down"), fails(503, "overloaded")], ids=["429", "503"])
def test_a_stream_that_is_turned_away_is_tried_again(bench: Bench, answer: Answer) -> None:
    bench.run(answer, ACT)
    assert (bench.effects.count(), bench.waits) == (1, [0.5])


def test_the_trace_keeps_what_came_in_pieces_as_it_came(bench: Bench) -> None:
    sent = '{"to": "ana", "amount": 1.50}'
    bench.run(reply(called("act", sent)))
    assert json.loads(sent)["amount"] == 1.5
    assert bench.step()["invalid"]["raw"] == f"act({sent})"
