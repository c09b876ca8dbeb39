"""Servers that refuse what a protocol sends: asked again in a lesser one, and never more in the refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock import HumanDecision
from tests.nodes.misbehaving.bench import Bench
from tests.nodes.misbehaving.replies import reply
from tests.nodes.misbehaving.server import Answer, Server, fails, sends

pytestmark = pytest.mark.parametrize("streaming", [False])

FORBIDDEN = {
    "detail": [{"type": "extra_forbidden", "loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]
}
NO_TOOLS: dict[str, Answer] = {
    "vLLM": fails(
        400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    ),
    "llama.cpp": fails(500, "tools param requires --jinja flag"),
    "Ollama": fails(400, "registry.ollama.ai/library/gemma:latest does not support tools"),
    "OpenRouter": fails(404, "No endpoints found that support tool use"),
    "by its parameter": fails(400, "bad value", param="tools"),
    "tool_choice": fails(400, "this model does not support this", param="tool_choice"),
    "FastAPI": sends(422, json.dumps(FORBIDDEN)),
}
NOT_THE_PROTOCOL: dict[str, Answer] = {
    "a schema of a tool": fails(
        400, "Invalid schema for function 'act'", param="tools[0].function.parameters"
    ),
    "the history": fails(400, "messages with role 'tool' must be a response", param="messages.[3].role"),
    "the context": fails(
        400, "This model's maximum context length is 8192 tokens", code="context_length_exceeded"
    ),
    "another field": fails(400, "Unsupported value: 'temperature'", param="temperature"),
}


def says_json(kind: str, **fields: Any) -> dict[str, Any]:
    return reply(content=json.dumps({"thought": "So.", "proposal": {"kind": kind, **fields}}))


ACT = says_json("tool_call", tool="act", arguments={"to": "ana"})
END = says_json("cannot_complete", reason="that is all")


def protocols(server: Server) -> list[str]:
    """What each request asked for."""
    return [
        "tools" if "tools" in one else one.get("response_format", {}).get("type", "json")
        for one in server.requests
    ]


@pytest.mark.parametrize("refusal", [pytest.param(one, id=name) for name, one in NO_TOOLS.items()])
def test_a_server_without_tools_is_asked_for_structured_output_from_then_on(
    bench: Bench, refusal: Answer
) -> None:
    ended = bench.run(refusal, ACT, END, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.effects.keys()) == ("cannot_complete", ["ana"]), ended.outcome.message
    assert protocols(bench.server) == ["tools", "json_schema", "json_schema"]
    first, second = bench.step(1)["model"], bench.step(2)["model"]
    assert (first["protocol"], second["protocol"], first["attempts"]) == ("json_schema", "json_schema", 2)
    assert first["switched"][0].startswith("gpt-small refuses the protocol tools, json_schema from now on: ")
    assert "switched" not in second
    assert bench.waits == []


@pytest.mark.parametrize(
    "refusal",
    [
        fails(400, "This response_format type is unavailable now"),
        fails(400, "'response_format' of type 'json_schema' is not supported with this model"),
        fails(400, "Invalid schema for response_format 'decision': 'maxLength' is not permitted.",
              param="response_format"),
    ],
)  # fmt: skip
def test_a_server_with_neither_is_asked_in_words(bench: Bench, refusal: Answer) -> None:
    ended = bench.run(NO_TOOLS["Ollama"], refusal, ACT, END, ends=False)
    assert bench.effects.keys() == ["ana"], ended.outcome
    assert protocols(bench.server) == ["tools", "json_schema", "json", "json"]
    assert len(bench.step(1)["model"]["switched"]) == 2


def test_the_protocol_is_remembered_by_a_new_process(bench: Bench) -> None:
    waiting = bench.run(NO_TOOLS["Ollama"], ACT, ends=False, effect="high_risk")
    assert waiting.status == "waiting"
    bench.resume(HumanDecision(type="approve", by="ops"), END, effect="high_risk")
    assert protocols(bench.server) == ["tools", "json_schema", "json_schema"]
    assert bench.effects.keys() == ["ana"]


def test_a_protocol_that_was_asked_for_is_only_where_it_begins(bench: Bench) -> None:
    bench.run(
        fails(400, "no", param="response_format"), ACT, END, ends=False, chat={"protocol": "json_schema"}
    )
    assert protocols(bench.server) == ["json_schema", "json", "json"]


@pytest.mark.parametrize("fault", [pytest.param(one, id=name) for name, one in NOT_THE_PROTOCOL.items()])
def test_another_bad_request_is_no_refusal_of_the_protocol(bench: Bench, fault: Answer) -> None:
    ended = bench.run(fault, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, protocols(bench.server)) == ("model_error", ["tools"])


def test_a_refusal_in_the_last_protocol_ends_the_run_with_all_reasons(bench: Bench) -> None:
    no_format, nothing = fails(400, "no", param="response_format"), fails(400, "no words either")
    ended = bench.run(NO_TOOLS["Ollama"], no_format, nothing, ends=False)
    assert ended.outcome is not None
    assert ended.outcome.reason == "model_error"
    assert "no words either" in ended.outcome.message
    assert "refuses the protocol tools" in ended.outcome.message
    assert ended.outcome.usage.model_calls == 3


@pytest.mark.parametrize(
    "spoilt",
    [
        fails(400, "Failed to call a function. See 'failed_generation'", code="tool_use_failed",
              failed_generation='<function=act>{"to": "ana"'),
        fails(500, "The model produced output that does not match the expected peg-native format"),
    ],
)  # fmt: skip
def test_output_that_the_server_could_not_read_is_the_models_mistake(bench: Bench, spoilt: Answer) -> None:
    ended = bench.run(spoilt)
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.effects.keys(), bench.waits) == ("cannot_complete", [], [])
    assert "the reply could not be read" in bench.step(1)["invalid"]["problem"]


def test_a_structured_reply_that_was_cut_off_keeps_its_text_and_its_tokens(bench: Bench) -> None:
    cut = reply(content='{"thought": "Ana is', finish="length", usage=(70, 40))
    bench.run(cut, END, ends=False, chat={"protocol": "json_schema"})
    first = bench.step(1)
    assert "cut off" in first["invalid"]["problem"]
    assert first["invalid"]["raw"] == '{"thought": "Ana is'
    assert (first["model"]["input_tokens"], first["model"]["output_tokens"]) == (70, 40)


def test_the_users_own_json_mode_may_be_cut_off_as_well(bench: Bench) -> None:
    """The client's parser raises here, and the text and the tokens are in the error only."""
    mode = {"model_kwargs": {"response_format": {"type": "json_object"}}}
    bench.run(
        reply(content='{"a": 1', finish="length"), END, ends=False, chat={"protocol": "json"}, client=mode
    )
    assert "cut off" in bench.step(1)["invalid"]["problem"]
    assert bench.step(1)["invalid"]["raw"] == '{"a": 1'


def test_a_null_leaves_an_optional_argument_out_and_a_needed_one_is_still_missed(bench: Bench) -> None:
    left_out = says_json("tool_call", tool="act", arguments={"to": "ana", "amount": None, "tags": None})
    missing = says_json("tool_call", tool="act", arguments={"to": None})
    bench.run(left_out, missing, END, ends=False, chat={"protocol": "json_schema"})
    assert bench.effects.keys() == ["ana"]
    assert bench.step(1)["decision"]["proposal"]["arguments"]["amount"] == 1
    assert "the arguments of act do not fit" in bench.step(2)["invalid"]["problem"]


def test_a_text_that_fills_its_cap_may_have_been_cut_so_nothing_runs(bench: Bench) -> None:
    full = says_json("tool_call", tool="act", arguments={"to": "a" * 1000})
    bench.run(full, END, ends=False, chat={"protocol": "json_schema"}, client={"max_tokens": 1200})
    schema = bench.server.requests[0]["response_format"]["json_schema"]["schema"]
    cap = schema["$defs"]["arguments0"]["properties"]["to"]["maxLength"]
    assert cap <= 1000
    assert bench.effects.keys() == []
    assert "may have been cut" in bench.step(1)["invalid"]["problem"]


def test_a_quota_that_is_used_up_is_not_waited_for_and_a_rate_is(bench: Bench) -> None:
    used_up = fails(429, "You exceeded your current quota, please check your plan", code="insufficient_quota")
    ended = bench.run(used_up, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.waits, len(bench.server.requests)) == ("model_error", [], 1)


def test_a_quota_that_the_server_asks_to_wait_for_is_a_rate(bench: Bench) -> None:
    bench.run(fails(429, "You exceeded your current quota", {"retry-after": "4"}))
    assert bench.waits == [4.0]


@pytest.mark.parametrize(
    ("until", "waits"),
    [("Wed, 21 Oct 2026 07:28:09 GMT", 9.0), ("Wed, 21 Oct 2026 07:27:00 GMT", 0.0), ("soon", 0.5)],
)
def test_a_date_to_wait_for_is_read_on_the_servers_clock(bench: Bench, until: str, waits: float) -> None:
    headers = {"retry-after": until, "date": "Wed, 21 Oct 2026 07:28:00 GMT"}
    bench.run(Dated(503, "busy", headers))
    assert bench.waits == [waits]


def Dated(status: int, message: str, headers: dict[str, str]) -> Answer:
    """An error with a Date of the test's choice: the server's own comes first otherwise."""

    def answer(exchange: Any) -> None:
        exchange.date_time_string = lambda *_: headers["date"]
        fails(status, message, {"retry-after": headers["retry-after"]})(exchange)

    return answer
