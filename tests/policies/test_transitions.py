"""The edges are total, legal and closed: over every phase and every kind of record."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.control import Control, Phase
from interlock.policies.observations import Observation, ToolResult
from interlock.policies.outcomes import Reason
from interlock.policies.proposals import (
    Ask,
    CannotComplete,
    Decision,
    Delegate,
    FinalAnswer,
    RequestApproval,
    ToolCall,
)
from interlock.policies.steps import InvalidDecision, StepRecord, merge_steps
from interlock.policies.tickets import Ticket
from interlock.policies.transitions import (
    LEGAL,
    IllegalTransition,
    after_authorize,
    after_execute,
    after_normalize,
    after_think,
    after_verify,
    check_transition,
    standing,
)
from interlock.policies.verdicts import Allow, Deny, NeedsApproval

proposals = st.sampled_from(
    [
        ToolCall(tool="t"),
        RequestApproval(tool="t"),
        Ask(question="q"),
        Delegate(delegate="d", goal="g"),
        FinalAnswer(answer="a"),
        CannotComplete(reason="r"),
    ]
)
ticket = Ticket(tool="t", arguments={}, digest="d", idempotency_key="k")
maybe = st.none() | st.just(True)
records = st.none() | st.builds(
    StepRecord,
    step=st.just(1),
    decision=st.none() | st.builds(Decision, proposal=proposals),
    invalid=st.none() | st.just(InvalidDecision(problem="p")),
    verdict=st.none()
    | st.sampled_from(
        [Allow(rule="r", reason=""), Deny(rule="r", reason=""), NeedsApproval(rule="r", reason="")]
    ),
    ticket=st.none() | st.just(ticket),
    result=st.none() | st.just(ToolResult(status="ok")),
    observation=st.none() | st.just(Observation(status="ok", summary="s")),
)
controls = st.builds(
    Control,
    run_id=st.just("r"),
    goal=st.just("g"),
    fingerprint=st.just("f"),
    phase=st.sampled_from([None, *get_args(Phase)]),
    stop=st.none() | st.sampled_from(list(Reason)),
    doubt=st.booleans(),
    stuck=st.booleans(),
)


states = st.builds(
    lambda control, record, outcome: {
        "control": control.dump(),
        "scratchpad": [record.dump()] if record else [],
        "outcome": outcome,
    },
    controls,
    records,
    st.none() | st.just({"status": "completed"}),
)


@given(state=states)
def test_every_edge_leads_to_a_node_that_may_follow(state: dict[str, Any]) -> None:
    now = standing(state)
    assert after_think(now) in LEGAL["think"]
    assert after_authorize(now) in LEGAL["authorize"]
    assert after_execute(now) in LEGAL["execute"]
    assert after_normalize(now) in LEGAL["normalize"]
    assert after_verify(now) in {*LEGAL["verify"], "__end__"}


@given(state=states)
def test_only_a_ticket_without_a_result_and_without_a_stop_leads_to_execute(state: dict[str, Any]) -> None:
    if after_authorize(standing(state)) == "execute":
        (record,) = state["scratchpad"]
        assert "ticket" in record
        assert "result" not in record
        assert "stop" not in state["control"]


@given(state=states)
def test_a_stop_never_leads_back_to_the_model_or_to_a_tool(state: dict[str, Any]) -> None:
    if "stop" in state["control"]:
        now = standing(state)
        assert after_think(now) == "verify"
        assert after_authorize(now) == "normalize"
        assert after_execute(now) == "normalize"
        assert after_normalize(now) == "verify"


@pytest.mark.parametrize(
    ("phase", "node"),
    [(phase, node) for phase in [None, *get_args(Phase)] for node in get_args(Phase)],
)
def test_a_node_is_entered_only_from_a_phase_that_leads_to_it(phase: Any, node: str) -> None:
    if node in LEGAL[phase]:
        check_transition(phase, node)
    else:
        with pytest.raises(IllegalTransition, match=f"{node} was entered after"):
            check_transition(phase, node)


def test_acting_twice_without_looking_is_illegal() -> None:
    with pytest.raises(IllegalTransition):
        check_transition("execute", "execute")


parts = st.lists(
    st.fixed_dictionaries(
        {"step": st.integers(1, 4)},
        optional={"decision": st.text(), "phases": st.dictionaries(st.sampled_from("abc"), st.integers())},
    ),
    max_size=8,
)


@given(known=parts, first=st.lists(parts, max_size=3), second=st.lists(parts, max_size=3))
def test_folding_the_scratchpad_does_not_depend_on_how_the_writes_are_batched(
    known: list[Any], first: list[list[Any]], second: list[list[Any]]
) -> None:
    start = merge_steps([], [known])
    assert merge_steps(merge_steps(start, first), second) == merge_steps(start, first + second)
