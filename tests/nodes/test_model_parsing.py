"""Replies are taken as they are or refused with the reason: nothing in them is repaired."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from interlock.nodes.model import ChatModel
from interlock.policies.canonical import canonical_json
from interlock.policies.contracts import Contract
from interlock.policies.prompt import Prompt, ToolCard
from interlock.policies.proposals import (
    Ask,
    CannotComplete,
    Decision,
    Delegate,
    FinalAnswer,
    RequestApproval,
    ToolCall,
)
from interlock.policies.replies import Reply
from interlock.testing import ScriptedModel

ProtocolName = Literal["tools", "json"]

PAY = ToolCard(
    "pay",
    "Pay somebody.",
    {"type": "object", "properties": {"to": {"type": "string"}, "sum": {"type": "integer"}}},
    Contract(),
)
STATUS = ToolCard("status", "Current status.", {"type": "object", "properties": {}}, Contract(effect="read"))


def reply_to(message: Any, protocol: ProtocolName = "tools", **model: Any) -> Reply:
    prompt = Prompt("", [PAY, STATUS], "", "pay the bill", [], {}, 1, 5)
    return ChatModel(ScriptedModel([message], **model), protocol).decide(prompt)


def raw_calls(*calls: tuple[str, Any], text: str = "") -> AIMessage:
    """A message that carries the raw text of its calls, as providers send it."""
    raw = [
        {"id": "same", "type": "function", "function": {"name": name, "arguments": arguments}}
        for name, arguments in calls
    ]
    message = AIMessage(text)
    message.additional_kwargs["tool_calls"] = raw  # set late: LangChain would parse it, or fail to
    return message


def problem(reply: Reply) -> str:
    assert reply.decision is None
    assert reply.failure is None
    assert reply.invalid is not None
    return reply.invalid.problem


NAMES = st.sampled_from(["pay", "status", "Pay ", "rm_rf", "search-docs"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(st.text(), VALUES, max_size=3)
WORDS = st.lists(st.text(max_size=20), max_size=3)
PROPOSALS = st.one_of(
    st.builds(ToolCall, tool=NAMES, arguments=ARGUMENTS),
    st.builds(RequestApproval, tool=NAMES, arguments=ARGUMENTS, reason=st.text(max_size=20)),
    st.builds(Ask, question=st.text(min_size=1)),
    st.builds(Delegate, delegate=NAMES, goal=st.text(), share=st.floats(0.01, 1)),
    st.builds(FinalAnswer, answer=VALUES, cites=WORDS),
    st.builds(CannotComplete, reason=st.text(min_size=1), missing=WORDS),
)
THOUGHTS = st.text() | st.sampled_from(['{"thought": "x"}', "{", '{"goal": 1}', '{"goal": "g"}', "[]"])
DECISIONS = st.builds(
    Decision,
    proposal=PROPOSALS,
    thought=THOUGHTS,
    goal=st.text(),
    known_facts=WORDS,
    missing_info=WORDS,
    options=WORDS,
)


@given(DECISIONS)
def test_a_decision_survives_both_protocols_unchanged(decision: Decision) -> None:
    for protocol in ("tools", "json"):
        reply = reply_to(decision, protocol)
        assert reply.decision == decision
        assert reply.protocol == protocol


@pytest.mark.parametrize("protocol", ["tools", "json"])
def test_an_empty_reply_is_no_decision(protocol: ProtocolName) -> None:
    assert "empty" in problem(reply_to(AIMessage(""), protocol))


def test_text_without_a_call_is_no_completion_and_the_text_is_kept() -> None:
    reply = reply_to(AIMessage("All done, the bill is paid."))
    assert "final_answer" in problem(reply)
    assert reply.invalid is not None
    assert reply.invalid.raw == "All done, the bill is paid."


def test_of_several_calls_the_first_is_taken_and_the_others_are_named_as_not_run() -> None:
    reply = reply_to(raw_calls(("pay", '{"to": "ana"}'), ("pay", '{"to": "bo"}'), ("status", "{}")))
    assert reply.decision is not None
    assert reply.decision.proposal == ToolCall(tool="pay", arguments={"to": "ana"})
    assert reply.notes == ["not run: 'pay': one action per step", "not run: 'status': one action per step"]


def test_a_first_call_that_is_not_valid_runs_nothing_and_the_others_are_named_too() -> None:
    told = problem(reply_to(raw_calls(("pay", '{"to": '), ("status", "{}"))))
    assert "'pay' is not valid" in told
    assert "not run: 'status'" in told


def test_calls_that_the_client_could_not_parse_are_answered() -> None:
    bad = {"name": "pay", "args": '{"to": "a', "id": "1", "error": None, "type": "invalid_tool_call"}
    assert "not valid JSON" in problem(reply_to(AIMessage("", invalid_tool_calls=[bad])))
    good = {"name": "status", "args": {}, "id": "2", "type": "tool_call"}
    reply = reply_to(AIMessage("", tool_calls=[good], invalid_tool_calls=[bad]))
    assert reply.decision is not None
    assert reply.notes == ["not run: 'pay': one action per step"]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ('{"to": "ana", "to": "bo"}', "'to' twice"),
        ('{"sum": NaN}', "NaN"),
        ('{"sum": -Infinity}', "Infinity"),
        ('{"sum": 1e999}', "not finite"),
        ('"{\\"to\\": \\"ana\\"}"', "not a string"),
        ('["ana"]', "not list"),
        ("7", "not int"),
        ("false", "not bool"),
        ('{"to": "ana"', "not valid JSON"),
        ('{"to": "ana"} {"to": "bo"}', "not valid JSON"),
        ("null", "missing"),
        ("", "missing"),
        ("  ", "missing"),
        (None, "missing"),
        (["ana"], "not list"),
        ('{"to": "\\ud800"}', "surrogate"),
        ('{"to": ' * 300 + "1" + "}" * 300, "nested deeper"),
        ('{"to": ' * 30_000, "nested deeper"),
        ('{"to": ' * 100_000, "larger than"),
    ],
)
def test_arguments_that_are_no_plain_object_never_become_one(raw: Any, told: str) -> None:
    assert told in problem(reply_to(raw_calls(("pay", raw))))


@pytest.mark.parametrize("raw", ["", "null", None, "{}"])
def test_a_tool_without_parameters_may_be_called_with_nothing(raw: str | None) -> None:
    reply = reply_to(raw_calls(("status", raw)))
    assert reply.decision is not None
    assert reply.decision.proposal == ToolCall(tool="status", arguments={})


def test_numbers_that_are_not_finite_are_refused_also_where_the_client_parsed_them() -> None:
    call = {"name": "pay", "args": {"sum": float("nan")}, "id": "1", "type": "tool_call"}
    assert "not finite" in problem(reply_to(AIMessage("", tool_calls=[call])))


def test_the_raw_text_of_a_responses_message_is_judged_not_what_the_client_made_of_it() -> None:
    block = {"type": "function_call", "name": "pay", "arguments": '{"to":"a","to":"b"}', "call_id": "1"}
    call = {"name": "pay", "args": {"to": "b"}, "id": "1", "type": "tool_call"}
    assert "'to' twice" in problem(reply_to(AIMessage([block], tool_calls=[call])))


@pytest.mark.parametrize("protocol", ["tools", "json"])
@pytest.mark.parametrize(
    "meta",
    [
        {"finish_reason": "length"},
        {"finish_reason": "MAX_TOKENS"},
        {"stop_reason": "max_tokens"},
        {"done_reason": "length"},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_a_reply_that_was_cut_off_runs_nothing_however_complete_it_looks(
    meta: dict[str, Any], protocol: ProtocolName
) -> None:
    message = raw_calls(("pay", '{"to": "ana"}'))
    if protocol == "json":
        message = AIMessage('{"proposal": {"kind": "tool_call", "tool": "status"}}')
    message.response_metadata = meta
    assert "cut off" in problem(reply_to(message, protocol))


class Capped(ScriptedModel):
    """A model that says how many tokens it may write."""

    def __init__(self, message: AIMessage, used: int) -> None:
        super().__init__([message], usage=(100, used))

    @property
    def max_tokens(self) -> int:
        return 20


@pytest.mark.parametrize(("used", "cut"), [(19, False), (20, True), (21, True)])
def test_output_at_the_cap_counts_as_cut_off_whatever_the_server_calls_it(used: int, cut: bool) -> None:
    message = raw_calls(("pay", '{"to": "ana"}'))
    message.response_metadata = {"finish_reason": "tool_calls"}
    model = Capped(message, used)
    reply = ChatModel(model).decide(Prompt("", [PAY], "", "pay", [], {}, 1, 5))
    assert (reply.decision is None) is cut


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("", additional_kwargs={"refusal": "I cannot help with that."}),
        AIMessage([{"type": "refusal", "refusal": "I cannot help with that."}]),
        AIMessage("half", response_metadata={"finish_reason": "content_filter"}),
        AIMessage("", response_metadata={"stop_reason": "refusal"}),
        AIMessage("", response_metadata={"incomplete_details": {"reason": "content_filter"}}),
    ],
)
def test_a_refusal_is_an_outcome_of_its_own_and_its_tokens_count(message: AIMessage) -> None:
    reply = reply_to(message, usage=(30, 4))
    assert reply.failure is not None
    assert reply.failure.reason == "refused"
    assert reply.invalid is None
    assert (reply.tokens.input, reply.tokens.output) == (30, 4)


def test_a_refusal_wins_over_a_call_in_the_same_message() -> None:
    message = raw_calls(("pay", '{"to": "ana"}'))
    message.additional_kwargs["refusal"] = "no"
    reply = reply_to(message)
    assert reply.decision is None
    assert reply.failure is not None


def test_a_json_object_beside_the_call_gives_the_fields_of_the_decision() -> None:
    fields = {"thought": "t", "goal": "g", "known_facts": ["k"], "missing_info": ["m"], "options": ["o"]}
    reply = reply_to(raw_calls(("status", "{}"), text=json.dumps(fields)))
    assert reply.decision is not None
    assert reply.decision.model_dump(exclude={"proposal"}) == fields


@pytest.mark.parametrize(
    "text", ['{"thought": 5}', '{"thought": "a", "mood": "b"}', '{"goal": "g"', "I think"]
)
def test_any_other_text_beside_the_call_is_the_thought(text: str) -> None:
    reply = reply_to(raw_calls(("status", "{}"), text=text))
    assert reply.decision is not None
    assert reply.decision.thought == text


def test_a_thought_of_any_length_does_not_cost_the_decision() -> None:
    reply = reply_to(raw_calls(("status", "{}"), text="x" * 50_000 + "\ud800"))
    assert reply.decision is not None
    assert len(reply.decision.thought) == 8000


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Sure! I will pay.", "not valid JSON"),
        ('Here: {"proposal": {"kind": "ask", "question": "?"}}', "not valid JSON"),
        ('{"proposal": {"kind": "ask", "question": "?"}} {"proposal": {}}', "not valid JSON"),
        ('{"proposal": [{"kind": "ask", "question": "?"}]}', "proposal"),
        ('{"thought": "hm"}', "proposal: Field required"),
        ('{"proposal": {"kind": "obey"}}', "obey"),
        ('{"proposal": {"kind": "ask", "question": 5}}', "question"),
        ('{"proposal": {"kind": "ask", "question": "?"}, "mood": "fine"}', "mood"),
        ('{"proposal": {"kind": "ask", "question": "a", "question": "b"}}', "'question' twice"),
        ('{"proposal": {"kind": "tool_call", "tool": "pay", "arguments": "{}"}}', "arguments"),
        ('{"proposal": {"kind": "tool_call", "tool": "pay", "arguments": {"sum": NaN}}}', "NaN"),
        ('["proposal"]', "not list"),
    ],
)
def test_text_that_is_not_one_decision_is_refused_with_the_reason(text: str, told: str) -> None:
    assert told in problem(reply_to(AIMessage(text), "json"))


def test_a_code_block_around_the_object_is_wrapping() -> None:
    text = '```json\n{"proposal": {"kind": "ask", "question": "Who?"}}\n```\n'
    reply = reply_to(AIMessage(text), "json")
    assert reply.decision is not None
    assert reply.decision.proposal == Ask(question="Who?")


@given(st.text())
def test_whatever_text_comes_it_gives_a_reply(text: str) -> None:
    for protocol in ("tools", "json"):
        reply = reply_to(AIMessage(text), protocol)
        assert (reply.decision is None) != (reply.invalid is None)


@given(st.text() | ARGUMENTS.map(json.dumps) | st.none())
def test_whatever_arguments_come_only_an_object_passes_and_it_passes_as_it_is(raw: str | None) -> None:
    reply = reply_to(raw_calls(("pay", raw)))
    if reply.decision is None:
        assert reply.invalid is not None
        return
    assert isinstance(reply.decision.proposal, ToolCall)
    assert raw is not None
    assert canonical_json(json.loads(raw)) == canonical_json(reply.decision.proposal.arguments)


def test_what_is_kept_of_an_invalid_reply_is_bounded() -> None:
    reply = reply_to(AIMessage("x" * 100_000 + "\ud800"))
    assert reply.invalid is not None
    assert len(reply.invalid.raw) == 1000
    assert "100006 characters" in reply.invalid.raw


def test_opaque_fields_of_the_provider_are_kept_as_json() -> None:
    message = raw_calls(("status", "{}"))
    unfit = {"client": object(), "half": "\ud800", "nan": float("nan")}
    message.additional_kwargs |= {"reasoning_content": "hm", "signature": {"a": 1}, **unfit}
    assert reply_to(message).provider == {"reasoning_content": "hm", "signature": {"a": 1}}
