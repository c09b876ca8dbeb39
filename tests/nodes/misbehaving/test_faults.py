"""Requests that are turned away, time out or break off: what is tried again, what ends the run, and how."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

import pytest

from interlock import Budget
from tests.nodes.misbehaving.bench import Bench, Effect
from tests.nodes.misbehaving.replies import called, reply
from tests.nodes.misbehaving.server import Answer, drops, fails, hangs, sends

ACT = reply(called("act", '{"to": "ana"}'))
HALF = json.dumps(ACT)[:60]
EFFECTS: list[Effect] = ["read", "write", "high_risk"]


@dataclass(frozen=True)
class Fault:
    """An answer that is none, and the seconds until the next attempt."""

    answer: Answer
    wait: float = 0.5
    told: str = ""
    """What is said of it when it does not go away."""


PASSING = {
    "408": Fault(fails(408, "request timed out"), told="408"),
    "429": Fault(fails(429, "slow down"), told="slow down"),
    "429 that says when": Fault(fails(429, "slow down", {"retry-after": "3"}), 3.0, "slow down"),
    "429 that says much later": Fault(fails(429, "slow down", {"retry-after": "86400"}), 30.0, "slow down"),
    "429 that says nonsense": Fault(fails(429, "slow down", {"retry-after": "soon"}), told="slow down"),
    "429 that says the past": Fault(fails(429, "slow down", {"retry-after": "-5"}), told="slow down"),
    "500": Fault(fails(500, "broken"), told="Error code: 500 - broken"),
    "502 with a page": Fault(sends(502, "<html>bad gateway</html>"), told="502"),
    "503 that says when": Fault(fails(503, "overloaded", {"retry-after": "2"}), 2.0, "overloaded"),
    "529": Fault(fails(529, "overloaded"), told="overloaded"),
    "dropped before the headers": Fault(drops(), told="Connection error"),
    "dropped in the body": Fault(drops(HALF), told="Connection error"),
    "a body that is too short and says not so": Fault(sends(200, HALF), told="JSONDecodeError"),
    "no body": Fault(sends(200, ""), told="JSONDecodeError"),
}

LASTING = {
    "400": (fails(400, "max_tokens is too large", param="max_tokens"), "max_tokens is too large"),
    "401": (fails(401, "Incorrect API key provided"), "Incorrect API key provided"),
    "402": (fails(402, "insufficient credits"), "insufficient credits"),
    "403": (fails(403, "not in your region"), "not in your region"),
    "404": (fails(404, "the model gpt-small does not exist", code="model_not_found"), "does not exist"),
    "413": (fails(413, "request too large"), "request too large"),
    "422": (fails(422, "no such field"), "no such field"),
    "400 for the context": (fails(400, "too long", code="context_length_exceeded"), "too long"),
}


@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in PASSING.items()])
def test_a_fault_of_the_way_is_tried_again_after_a_wait_and_every_attempt_counts(
    bench: Bench, fault: Fault
) -> None:
    ended = bench.run(fault.answer, ACT)
    assert ended.outcome is not None
    assert (bench.effects.count(), ended.steps, bench.waits) == (1, 2, [fault.wait])
    assert ended.outcome.usage.model_calls == len(bench.server.requests) == 3
    assert bench.step()["model"]["attempts"] == 2
    first, second = bench.server.requests[:2]
    assert first == second


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("fault", [pytest.param(fault, id=name) for name, fault in PASSING.items()])
def test_a_fault_that_does_not_go_away_ends_the_run_after_a_bounded_number_of_attempts(
    bench: Bench, fault: Fault
) -> None:
    ended = bench.run(*[fault.answer] * 3, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.status, ended.outcome.reason) == ("failed", "model_error")
    assert ended.outcome.usage.model_calls == len(bench.server.requests) == 3
    assert "after 3 attempts" in ended.outcome.message
    assert fault.told in ended.outcome.message
    assert bench.effects.count() == 0


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize(("answer", "told"), [pytest.param(*case, id=name) for name, case in LASTING.items()])
def test_a_request_that_will_never_be_taken_is_sent_once_and_the_outcome_says_why(
    bench: Bench, answer: Answer, told: str
) -> None:
    ended = bench.run(answer, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.status, ended.outcome.reason) == ("failed", "model_error")
    assert (len(bench.server.requests), bench.waits) == (1, [])
    assert told in ended.outcome.message
    assert ended.outcome.usage.input_tokens == 0


def test_a_servers_complaint_about_the_models_own_words_is_told_to_the_model_and_not_tried_again(
    bench: Bench,
) -> None:
    complaint = fails(500, "The model produced output that does not match the expected format")
    ended = bench.run(*[complaint] * 3, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, ended.outcome.usage.model_calls) == ("invalid_decisions", 3)
    assert "does not match the expected format" in str(bench.server.requests[1]["messages"])
    assert (bench.effects.count(), bench.waits) == (0, [])
    assert ended.outcome.usage.input_tokens > 900


@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_fault_after_an_effect_never_repeats_the_effect_and_the_outcome_tells_it(
    bench: Bench, effect: Effect
) -> None:
    ended = bench.run(ACT, fails(503, "overloaded"), fails(400, "no"), ends=False, effect=effect)
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.effects.count()) == ("model_error", 1)
    assert [change.tool for change in ended.outcome.changes] == (["act"] if effect == "write" else [])


@pytest.mark.parametrize("sent", [None, "", HALF, json.dumps(ACT)], ids=["nothing", "headers", "half", "all"])
def test_a_server_that_hangs_is_left_when_the_runs_time_is_up(bench: Bench, sent: str | None) -> None:
    began = time.monotonic()
    ended = bench.run(hangs(sent), ends=False, budget=Budget(max_seconds=0.3))
    assert time.monotonic() - began < 10
    assert ended.outcome is not None
    assert (ended.outcome.status, ended.outcome.reason) == ("stopped", "time_limit")
    assert (ended.outcome.usage.model_calls, bench.effects.count()) == (1, 0)
    assert ended.outcome.usage.input_tokens > 300
    assert ended.outcome.usage.estimated


def test_waits_that_the_runs_time_does_not_suffice_for_are_not_begun(bench: Bench) -> None:
    ended = bench.run(
        fails(429, "slow down", {"retry-after": "20"}), ends=False, budget=Budget(max_seconds=5)
    )
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.waits) == ("model_error", [])
