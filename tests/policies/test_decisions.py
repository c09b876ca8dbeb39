"""Decisions that contradict themselves are rejected; thin ones are not."""

from __future__ import annotations

import pytest

from interlock.policies.decisions import inconsistencies
from interlock.policies.proposals import Ask, CannotComplete, Decision, Delegate, FinalAnswer, ToolCall


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        (Decision(proposal=FinalAnswer(answer="done"), missing_info=["who is on call"]), "who is on call"),
        (Decision(proposal=FinalAnswer(answer="  ")), "empty"),
        (Decision(proposal=FinalAnswer(answer=None)), "empty"),
        (Decision(proposal=Ask(question=" \n")), "question"),
        (Decision(proposal=CannotComplete(reason=" ")), "reason"),
        (Decision(proposal=Delegate(delegate="scout", goal="")), "goal"),
    ],
)
def test_a_contradiction_is_named_so_that_the_model_can_correct_it(decision: Decision, told: str) -> None:
    problem = inconsistencies(decision)
    assert problem is not None
    assert told in problem


@pytest.mark.parametrize(
    "decision",
    [
        Decision(proposal=ToolCall(tool="look")),
        Decision(proposal=ToolCall(tool="look"), missing_info=["the owner"]),
        Decision(proposal=FinalAnswer(answer="done"), missing_info=["None.", "n/a", ""]),
        Decision(proposal=FinalAnswer(answer=[])),
        Decision(proposal=FinalAnswer(answer=0)),
        Decision(proposal=FinalAnswer(answer=False)),
        Decision(proposal=CannotComplete(reason="no access"), missing_info=["the password"]),
        Decision(proposal=Ask(question="Which account?")),
    ],
)
def test_a_thin_decision_is_no_contradiction(decision: Decision) -> None:
    assert inconsistencies(decision) is None
