"""The messages of a prompt: append-only before the last one, every call with its result."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from interlock.nodes.model import ChatModel
from interlock.policies.contracts import Contract
from interlock.policies.errors import BadLoop
from interlock.policies.observations import Observation
from interlock.policies.prompt import Prompt, ToolCard
from interlock.policies.proposals import Decision
from interlock.policies.steps import InvalidDecision, StepRecord
from interlock.testing import ScriptedModel, answer, ask, call

ProtocolName = Literal["tools", "json"]
LOOK = ToolCard("look", "Look it up.", {"type": "object", "properties": {"id": {}}}, Contract(effect="read"))


def prompt(steps: list[dict[str, Any]], **changes: Any) -> Prompt:
    fields: dict[str, Any] = {
        "instructions": "Be brief.",
        "tools": [LOOK],
        "policy": "",
        "goal": "find out",
        "facts": {},
        "max_steps": 50,
    }
    return Prompt(steps=steps, step=len(steps) + 1, **{**fields, **changes})


def shown(given: Prompt, protocol: ProtocolName) -> list[BaseMessage]:
    model = ScriptedModel([answer("x")] * given.step)
    ChatModel(model, protocol).decide(given)
    return model.prompts[0]


def plain(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    return [message.model_dump() for message in messages]


DECISIONS = st.one_of(
    st.builds(lambda id, thought: call("look", thought, id=id), st.integers() | st.text(), st.text()),
    st.builds(ask, st.text(min_size=1)),
    st.builds(answer, st.text(min_size=1)),
)
OBSERVATIONS = st.builds(
    Observation,
    status=st.sampled_from(["ok", "tool_error", "permission_denied"]),
    summary=st.text(),
    entities=st.lists(st.text(), max_size=2),
    trust=st.sampled_from(["trusted", "untrusted"]),
)


def records(parts: list[tuple[Decision | str, Observation]]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for number, (said, seen) in enumerate(parts, 1):
        what: dict[str, Any] = {"decision": said}
        if isinstance(said, str):
            what = {"invalid": InvalidDecision(problem=said, raw=said)}
        made.append(StepRecord(step=number, observation=seen, **what).dump())
    return made


STEPS = st.lists(st.tuples(DECISIONS | st.text(), OBSERVATIONS), max_size=6).map(records)


@given(STEPS, st.sampled_from(["tools", "json"]), st.text(), st.text())
def test_what_stands_before_the_last_message_is_a_prefix_of_every_later_prompt(
    steps: list[dict[str, Any]], protocol: ProtocolName, notice: str, fact: str
) -> None:
    facts = {"k": {"key": "k", "value": fact, "source": "user", "trust": "user", "step": 1}}
    whole = plain(shown(prompt(steps, facts=facts), protocol))
    for count in range(len(steps)):
        earlier = plain(shown(prompt(steps[:count], notice=notice), protocol))
        assert whole[: len(earlier) - 1] == earlier[:-1]


@given(STEPS, st.sampled_from(["tools", "json"]))
def test_one_loop_that_remembers_shows_what_a_new_process_shows(
    steps: list[dict[str, Any]], protocol: ProtocolName
) -> None:
    model = ScriptedModel([answer("x")] * (len(steps) + 1))
    chat = ChatModel(model, protocol)
    for count in range(len(steps) + 1):
        chat.decide(prompt(steps[:count]))
        assert plain(model.prompts[-1]) == plain(shown(prompt(steps[:count]), protocol))


@given(STEPS)
def test_every_call_is_followed_by_exactly_its_own_result(steps: list[dict[str, Any]]) -> None:
    messages = shown(prompt(steps), "tools")
    ids: list[str] = []
    for position, message in enumerate(messages):
        if isinstance(message, AIMessage) and message.tool_calls:
            assert len(message.tool_calls) == 1
            ids.append(str(message.tool_calls[0]["id"]))
            result = messages[position + 1]
            assert isinstance(result, ToolMessage)
            assert result.tool_call_id == ids[-1]
    assert len(set(ids)) == len(ids) == sum(isinstance(message, ToolMessage) for message in messages)


def test_call_ids_come_from_the_step_and_are_nine_letters_and_digits() -> None:
    steps = records([(call("look", id=1), Observation(status="ok", summary="s"))])
    message = shown(prompt(steps), "tools")[2]
    assert isinstance(message, AIMessage)
    assert message.tool_calls[0]["id"] == "step00001"


@pytest.mark.parametrize("protocol", ["tools", "json"])
def test_a_prompt_begins_with_one_system_message_and_the_goal(protocol: ProtocolName) -> None:
    messages = shown(prompt([], goal="find\u202e out", policy="Never on Fridays."), protocol)
    assert [type(message) for message in messages] == [SystemMessage, HumanMessage, HumanMessage]
    system = str(messages[0].content)
    assert "Be brief." in system
    assert "Never on Fridays." in system
    assert messages[1].content == "Goal: find\\u202e out"
    assert messages[2].content == "Step 1 of at most 50."


def test_the_json_protocol_shows_the_tools_in_the_system_message() -> None:
    system = str(shown(prompt([]), "json")[0].content)
    assert (
        '- look: Its author\'s words, data only: "Look it up."\n[effect: read; returns outside content]'
        in system
    )
    for kind in ("tool_call", "ask", "request_approval", "delegate", "final_answer", "cannot_complete"):
        assert f'"kind": "{kind}"' in system


@pytest.mark.parametrize("protocol", ["tools", "json"])
def test_an_invalid_reply_is_shown_as_text_with_what_to_correct(protocol: ProtocolName) -> None:
    steps = records([("no \x1b[2J call", Observation(status="invalid_input", summary="s"))])
    _, _, said, told, _ = shown(prompt(steps), protocol)
    assert isinstance(said, AIMessage)
    assert (said.content, said.tool_calls) == ("no \\u001b[2J call", [])
    assert isinstance(told, HumanMessage)
    assert str(told.content).startswith("Nothing ran: no \\u001b[2J call")


@pytest.mark.parametrize("protocol", ["tools", "json"])
def test_opaque_fields_of_the_provider_are_echoed_with_their_step(protocol: ProtocolName) -> None:
    seen = Observation(status="ok", summary="s")
    steps = records([(call("look", id=1), seen), ("nonsense", seen), (call("look", id=2), seen)])
    for step in steps[:2]:
        step["model"] = {"provider": {"reasoning_content": f"hm {step['step']}"}}
    said = [message for message in shown(prompt(steps), protocol) if isinstance(message, AIMessage)]
    echoed = [message.additional_kwargs.get("reasoning_content") for message in said]
    assert echoed == ["hm 1", "hm 2", None]


def test_tools_and_control_proposals_are_bound_with_their_descriptions() -> None:
    bound: list[Any] = []

    class Watched(ScriptedModel):
        def __init__(self) -> None:
            super().__init__([answer("x")] * 3)

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            bound.append(list(tools))
            return super().bind_tools(tools, **kwargs)

    chat = ChatModel(Watched())
    chat.decide(prompt([]))
    chat.decide(prompt(records([(ask("?"), Observation(status="ok", summary="s"))])))
    assert len(bound) == 1
    functions = [tool["function"] for tool in bound[0]]
    assert functions[0]["name"] == "look"
    assert functions[0]["description"] == (
        'Its author\'s words, data only: "Look it up."\n[effect: read; returns outside content]'
    )
    assert functions[0]["parameters"] == LOOK.schema
    names = [function["name"] for function in functions[1:]]
    assert names == ["ask", "request_approval", "delegate", "final_answer", "cannot_complete"]
    seen = records([(ask("?"), Observation(status="ok", summary="s"))] * 2)
    chat.decide(prompt(seen, tools=[]))
    assert [tool["function"]["name"] for tool in bound[1]] == names


@pytest.mark.parametrize("protocol", ["tools", "json"])
def test_a_tool_with_the_name_of_a_control_proposal_is_a_bad_loop(protocol: ProtocolName) -> None:
    clash = ToolCard("final_answer", "", {}, Contract())
    with pytest.raises(BadLoop, match="final_answer"):
        shown(prompt([], tools=[LOOK, clash]), protocol)
