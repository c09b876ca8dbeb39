"""Which actions are open: denied, rejected, expired or failed, and nothing took their place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.open_actions import open_actions

EFFECTS = {"refund", "label"}


def step(number: int, how: str, tool: str = "refund", **arguments: Any) -> dict[str, Any]:
    """A step record in which an action ended in some way."""
    action = {"kind": "tool_call", "tool": tool, "arguments": arguments}
    record: dict[str, Any] = {"step": number, "decision": {"proposal": action}}
    approval = {"kind": "approval", "outcome": "decided", "approval_id": "a"}
    match how:
        case "ok" | "conflict" | "tool_error" | "unknown_outcome":
            return {**record, "result": {"status": how}, "ticket": {"tool": tool, "arguments": arguments}}
        case "denied":
            return {**record, "verdict": {"kind": "deny", "rule": "scope", "reason": "too much"}}
        case "reject" | "respond":
            return {**record, "answers": [{**approval, "decision": {"type": how, "by": "ops"}}]}
        case "expired" | "abandoned":
            return {**record, "answers": [{**approval, "outcome": how}]}
        case _:
            raise ValueError(how)


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("denied", "refund in step 4 was denied by rule scope"),
        ("reject", "refund in step 4 was rejected by ops"),
        ("expired", "its approval was expired"),
        ("abandoned", "its approval was abandoned"),
        ("conflict", "refund in step 4 failed (conflict)"),
        ("tool_error", "refund in step 4 failed (tool_error)"),
    ],
)
def test_an_action_that_did_not_happen_is_named_with_its_step_and_a_way_out(how: str, told: str) -> None:
    (reason,) = open_actions([step(4, how)], EFFECTS)
    assert told in reason
    assert "cannot_complete" in reason


def test_a_later_success_of_the_same_tool_settles_it_and_one_of_another_tool_does_not() -> None:
    assert open_actions([step(1, "denied", amount=9), step(2, "ok", amount=5)], EFFECTS) == []
    assert len(open_actions([step(1, "denied"), step(2, "ok", "label")], EFFECTS)) == 1


def test_an_earlier_success_of_another_action_settles_nothing_but_exactly_the_same_action_does() -> None:
    assert len(open_actions([step(1, "ok", amount=5), step(2, "reject", amount=6)], EFFECTS)) == 1
    assert open_actions([step(1, "ok", amount=5), step(2, "reject", amount=5)], EFFECTS) == []
    assert open_actions([step(1, "ok", amount=5), step(2, "reject", amount=5.0)], EFFECTS) == []


def test_a_person_who_answers_instead_of_letting_it_run_settles_it() -> None:
    assert open_actions([step(1, "respond")], EFFECTS) == []


def test_advice_for_a_stuck_run_does_not_settle_what_was_denied_in_that_step() -> None:
    stuck = {"kind": "stuck", "outcome": "decided", "approval_id": "s", "decision": {"type": "respond"}}
    assert len(open_actions([{**step(1, "denied"), "answers": [stuck]}], EFFECTS)) == 1


def test_an_edit_counts_as_what_the_person_wrote() -> None:
    edited = {**step(1, "ok", amount=9), "ticket": {"tool": "refund", "arguments": {"amount": 5}}}
    assert open_actions([edited, step(2, "reject", amount=5)], EFFECTS) == []
    assert len(open_actions([edited, step(2, "reject", amount=9)], EFFECTS)) == 1


def test_a_read_that_failed_and_a_step_without_an_action_leave_nothing_open() -> None:
    invalid = {"step": 3, "invalid": {"problem": "no decision"}}
    final = {"step": 4, "decision": {"proposal": {"kind": "final_answer", "answer": "x"}}}
    assert open_actions([step(1, "conflict", "lookup"), invalid, final], EFFECTS) == []


HOW = st.sampled_from(["ok", "conflict", "denied", "reject", "respond", "expired", "unknown_outcome"])


@given(st.lists(st.tuples(HOW, st.sampled_from(["refund", "label", "lookup"]))))
def test_what_happened_to_each_tool_last_decides_whatever_lies_between(events: list[tuple[str, str]]) -> None:
    """Every action has arguments of its own, so none is exactly like an earlier one."""
    steps = [step(number, how, tool, n=number) for number, (how, tool) in enumerate(events, 1)]
    last = {tool: how for how, tool in events if tool in EFFECTS}
    open_ones = {tool for tool, how in last.items() if how not in ("ok", "respond")}
    assert {reason.split()[0] for reason in open_actions(steps, EFFECTS)} == open_ones
