"""Replies without a proposal, and replies that are none: empty, refused, filtered, out of shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.nodes.misbehaving.bench import Bench, Effect
from tests.nodes.misbehaving.replies import called, reply
from tests.nodes.misbehaving.server import sends

ANA = '{"to": "ana"}'
ACT = reply(called("act", ANA))


def with_choice(**fields: Any) -> dict[str, Any]:
    """The reply with other fields of its choice."""
    return {**ACT, "choices": [{"index": 0, "finish_reason": "stop", **fields}]}


EMPTY = {
    "no content": reply(),
    "an empty text": reply(content=""),
    "spaces": reply(content=" \n\t"),
    "only reasoning": reply(content="", reasoning_content="Let me think about ana."),
}
MISSHAPEN = {
    "no blocks": reply(content=[]),
    "an empty block": reply(content=[{"type": "text", "text": ""}]),
    "no choices": {**ACT, "choices": []},
    "null for choices": {**ACT, "choices": None},
    "no field of choices": {key: value for key, value in ACT.items() if key != "choices"},
    "null for the message": with_choice(message=None),
    "no message": with_choice(),
    "a choice that is a text": {**ACT, "choices": ["act"]},
}
SILENT = [
    *(pytest.param(body, False, id=name) for name, body in {**EMPTY, **MISSHAPEN}.items()),
    *(pytest.param(body, True, id=f"{name} (in pieces)") for name, body in EMPTY.items()),
]


@pytest.mark.parametrize(("body", "streaming"), SILENT)
def test_an_empty_reply_is_no_answer_and_the_model_is_asked_again(bench: Bench, body: dict[str, Any]) -> None:
    ended = bench.run(body)
    assert "Nothing ran: the reply was empty" in bench.told()
    assert (ended.steps, bench.effects.count()) == (2, 0)


def test_a_model_that_stays_silent_after_an_effect_never_completes_and_the_effect_is_told(
    bench: Bench,
) -> None:
    ended = bench.run(ACT, *[reply(content="") for _ in range(3)], ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.status, ended.outcome.reason) == ("failed", "invalid_decisions")
    assert ended.outcome.answer is None
    assert [(change.tool, change.status) for change in ended.outcome.changes] == [("act", "done")]
    assert ended.outcome.usage.model_calls == 4


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize(
    "content",
    [
        "Paid! Everything is done.",
        [{"type": "text", "text": "Paid! "}, {"type": "text", "text": "Everything is done."}],
        ["Paid! ", "Everything is done."],
    ],
)
def test_text_that_claims_success_is_no_answer_and_is_kept(bench: Bench, content: Any) -> None:
    ended = bench.run(reply(content=content))
    assert (ended.status, bench.effects.count()) == ("failed", 0)
    assert "the reply proposes nothing; call exactly one tool" in bench.told()
    assert bench.step()["invalid"]["raw"] == "Paid! Everything is done."
    shown = bench.server.requests[1]["messages"][-3]
    assert (shown["role"], shown["content"]) == ("assistant", "Paid! Everything is done.")


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("content", [5, {"text": "paid"}, [5], [[]], True])
def test_content_of_no_known_shape_is_no_answer(bench: Bench, content: Any) -> None:
    ended = bench.run(reply(content=content))
    assert (ended.steps, bench.effects.count()) == (2, 0)
    assert bench.told().startswith("Nothing ran: ")


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("calls", [{"name": "act"}, "act", ["act"], [None], [[]], 5])
def test_calls_of_no_known_shape_run_nothing(bench: Bench, calls: Any) -> None:
    ended = bench.run(reply(content="Pay.", tool_calls=calls))
    assert (ended.steps, bench.effects.count()) == (2, 0)
    assert bench.told().startswith("Nothing ran: ")
    assert ended.outcome is not None
    assert ended.outcome.usage.input_tokens == 100


@pytest.mark.parametrize("streaming", [False])
def test_blocks_beside_a_call_are_its_thought_without_the_reasoning(bench: Bench) -> None:
    thinking = {"type": "thinking", "thinking": "Ana or Bo?"}
    bench.run(reply(called("act", ANA), content=[thinking, {"type": "text", "text": "Ana it is."}]))
    assert bench.effects.keys() == ["ana"]
    assert bench.step()["decision"]["thought"] == "Ana it is."


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("finish", ["stop", "tool_calls", "function_call", "eos", "", "null"])
def test_a_whole_call_runs_whatever_a_server_calls_the_end(bench: Bench, finish: str) -> None:
    ended = with_choice(finish_reason=None if finish == "null" else finish, message=_message(ACT))
    bench.run(ended)
    assert bench.effects.keys() == ["ana"]


REFUSALS = {
    "a refusal": (reply(refusal="I will not pay."), "I will not pay."),
    "a refusal beside a call": (reply(called("act", ANA), refusal="I will not pay."), "I will not pay."),
    "a refusal in a block": (reply(content=[{"type": "refusal", "refusal": "I won't."}]), "I won't."),
    "a filter": (reply(content="Paying is", finish="content_filter"), "content_filter"),
    "a filter behind a whole call": (reply(called("act", ANA), finish="content_filter"), "content_filter"),
    "a filter without text": (reply(finish="content_filter"), "content_filter"),
}


REFUSED = [
    pytest.param(*case, streaming, id=f"{name} ({'in pieces' if streaming else 'whole'})")
    for name, case in REFUSALS.items()
    for streaming in (False, True)
    if not (streaming and "block" in name)
]


@pytest.mark.parametrize("effect", ["read", "high_risk"])
@pytest.mark.parametrize(("body", "told", "streaming"), REFUSED)
def test_a_refusal_ends_the_run_as_one_is_asked_once_and_its_tokens_count(
    bench: Bench, body: dict[str, Any], told: str, effect: Effect
) -> None:
    ended = bench.run(body, ends=False, effect=effect)
    assert ended.outcome is not None
    outcome = ended.outcome
    assert (outcome.status, outcome.reason, outcome.answer) == ("failed", "refused", None)
    assert told in outcome.message
    assert (outcome.usage.model_calls, outcome.usage.input_tokens, outcome.usage.output_tokens) == (1, 50, 9)
    assert (len(bench.server.requests), bench.effects.count(), outcome.changes) == (1, 0, [])


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("<html><title>Sign in</title></html>", "check its address. It begins: '<html>"),
        ("[]", "no chat completion"),
        ("null", "no chat completion"),
        ('{"error": {"message": "no such deployment", "code": "missing"}}', "no such deployment"),
        ('{"error": "no such deployment"}', "no such deployment"),
    ],
)
def test_what_is_no_completion_ends_the_run_with_words_and_is_asked_once(
    bench: Bench, text: str, told: str
) -> None:
    kind = "text/html" if text.startswith("<") else "application/json"
    ended = bench.run(sends(200, text, {"content-type": kind}), ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, len(bench.server.requests)) == ("model_error", 1)
    assert told in ended.outcome.message


@pytest.mark.parametrize("streaming", [False])
def test_an_error_that_came_as_a_success_is_tried_again_where_its_code_says_so(bench: Bench) -> None:
    body = {"error": {"message": "overloaded", "code": 503}}
    ended = bench.run(sends(200, json.dumps(body)))
    assert ended.outcome is not None
    assert (ended.outcome.usage.model_calls, ended.steps, bench.waits) == (2, 1, [0.5])


def _message(body: dict[str, Any]) -> dict[str, Any]:
    return dict(body["choices"][0]["message"])
