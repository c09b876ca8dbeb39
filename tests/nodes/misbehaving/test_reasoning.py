"""A server that wants its own reasoning back with every reply of the history, also from another process."""

from __future__ import annotations

from typing import Any

import pytest

from interlock import HumanDecision
from tests.nodes.misbehaving.bench import Bench
from tests.nodes.misbehaving.replies import called, reply


def thinks(name: str, arguments: str, why: str) -> dict[str, Any]:
    return reply(called(name, arguments), reasoning_content=why)


DONE = thinks("final_answer", '{"answer": "paid"}', "Nothing is left.")


def forgets(request: dict[str, Any]) -> str | None:
    """Why the server refuses: a reply of its own came back without its reasoning."""
    said = [message for message in request["messages"] if message["role"] == "assistant"]
    lost = [message for message in said if not message.get("reasoning_content")]
    return "reasoning_content of every assistant message must be passed back" if lost else None


def echoed(bench: Bench) -> list[str]:
    return [m["reasoning_content"] for m in bench.server.requests[-1]["messages"] if m["role"] == "assistant"]


def test_reasoning_goes_back_with_the_step_that_it_came_with(bench: Bench) -> None:
    bench.server.refuses = forgets
    ended = bench.run(
        thinks("act", '{"to": "ana"}', "Ana first."),
        thinks("act", '{"to": "bo"}', "Then Bo."),
        DONE,
        ends=False,
    )
    assert ended.status == "completed", ended.outcome
    assert echoed(bench) == ["Ana first.", "Then Bo."]
    assert bench.effects.keys() == ["ana", "bo"]


@pytest.mark.parametrize(
    "decision",
    [
        HumanDecision(type="approve", by="ops"),
        HumanDecision(type="edit", by="ops", arguments={"to": "bo"}),
        HumanDecision(type="reject", by="ops", reason="not today"),
    ],
)
def test_reasoning_survives_a_pause_a_new_store_and_whatever_a_person_decides(
    bench: Bench, decision: HumanDecision
) -> None:
    bench.server.refuses = forgets
    waiting = bench.run(thinks("act", '{"to": "ana"}', "Ana first."), ends=False, effect="high_risk")
    assert waiting.status == "waiting"
    ended = bench.resume(
        decision, thinks("cannot_complete", '{"reason": "enough"}', "So."), effect="high_risk"
    )
    assert ended.outcome is not None
    assert ended.outcome.reason == "cannot_complete", ended.outcome.message
    assert echoed(bench) == ["Ana first."]


def test_reasoning_of_a_reply_that_was_no_decision_goes_back_as_well(bench: Bench) -> None:
    bench.server.refuses = forgets
    ended = bench.run(thinks("act", "not JSON", "Ana first."), DONE, ends=False)
    assert ended.status == "completed", ended.outcome
    assert echoed(bench) == ["Ana first."]
