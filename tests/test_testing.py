"""The test kit: a script that is followed exactly, a clock that stands still, effects that are not lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from interlock.nodes.model import ChatModel
from interlock.nodes.ports import Clock
from interlock.policies.prompt import Prompt
from interlock.policies.proposals import (
    Ask,
    CannotComplete,
    Decision,
    Delegate,
    FinalAnswer,
    RequestApproval,
    ToolCall,
)
from interlock.testing import (
    EffectCounter,
    FakeClock,
    ScriptedModel,
    ScriptError,
    answer,
    ask,
    call,
    cannot_complete,
    delegate,
    request_approval,
)


def prompt(step: int = 1) -> Prompt:
    return Prompt("", [], "", "goal", [], {}, step, 9)


def at(step: int) -> list[BaseMessage]:
    return [SystemMessage("s"), HumanMessage(f"Step {step} of at most 9.")]


def test_helpers_build_the_decisions_that_they_are_named_for() -> None:
    assert call("pay", "due", to="ana") == Decision(
        proposal=ToolCall(tool="pay", arguments={"to": "ana"}), thought="due"
    )
    assert call("look", tool="x", name="y").proposal == ToolCall(
        tool="look", arguments={"tool": "x", "name": "y"}
    )
    wanted = RequestApproval(tool="pay", reason="big", arguments={"reason": "rent", "tool": "t"})
    assert request_approval("pay", "big", reason="rent", tool="t").proposal == wanted
    assert ask("Who?").proposal == Ask(question="Who?")
    assert delegate("scout", "look", 0.2).proposal == Delegate(delegate="scout", goal="look", share=0.2)
    assert answer({"a": 1}, ["k"]).proposal == FinalAnswer(answer={"a": 1}, cites=["k"])
    assert cannot_complete("no", ["key"]).proposal == CannotComplete(reason="no", missing=["key"])


def test_a_call_too_many_raises_and_names_the_step_and_the_length_of_the_script() -> None:
    model = ScriptedModel([answer("x")])
    model.invoke(at(1))
    with pytest.raises(ScriptError, match=r"step 2 was asked for, but the script has 1 steps"):
        model.invoke(at(2))
    with pytest.raises(ScriptError, match=r"step 1 was asked for once more"):
        model.invoke(at(1))
    with pytest.raises(ScriptError, match=r"once more"):
        model.check()


def test_a_call_too_many_inside_a_loop_is_a_failure_and_fails_the_check() -> None:
    model = ScriptedModel([])
    reply = ChatModel(model).decide(prompt())
    assert reply.failure is not None
    assert "ScriptError: step 1 was asked for" in reply.failure.text
    with pytest.raises(ScriptError, match="step 1"):
        model.check()


def test_unused_steps_fail_the_check_by_number() -> None:
    model = ScriptedModel([answer("x"), answer("y"), answer("z")])
    with pytest.raises(ScriptError, match="never used up: 1, 2, 3"):
        model.check()
    model.invoke(at(1))
    with pytest.raises(ScriptError, match="never used up: 3"), model:
        model.invoke(at(2))
    model.invoke(at(3))
    model.check()


def test_an_error_in_the_block_is_not_hidden_by_the_check() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedModel([answer("x")]):
        raise ZeroDivisionError


def test_a_new_process_goes_on_in_the_middle_and_owes_only_the_rest() -> None:
    model = ScriptedModel([answer("1"), answer("2"), answer("3"), answer("4")])
    assert ChatModel(model).decide(prompt(3)).decision == answer("3")
    with pytest.raises(ScriptError, match="never used up: 4"):
        model.check()
    assert ChatModel(model).decide(prompt(4)).decision == answer("4")
    model.check()


def test_only_the_last_message_says_which_step_it_is() -> None:
    model = ScriptedModel([answer("1"), answer("2")])
    forged = [SystemMessage("Step 2 of at most 9."), *at(1)]
    assert "1" in str(model.invoke(forged).content)


def test_without_a_step_line_the_messages_of_the_model_are_counted() -> None:
    model = ScriptedModel([AIMessage("first"), AIMessage("second")])
    history: list[BaseMessage] = [HumanMessage("hi")]
    first = model.invoke(history)
    second = model.invoke([*history, first, HumanMessage("go on")])
    assert (first.content, second.content) == ("first", "second")
    model.check()


def test_exceptions_belong_to_the_step_of_the_item_after_them() -> None:
    model = ScriptedModel([TimeoutError("slow"), TimeoutError("slower"), answer("1"), answer("2")])
    for _ in range(2):
        with pytest.raises(TimeoutError):
            model.invoke(at(1))
    with pytest.raises(ScriptError, match="never used up: 1, 2"):
        model.check()
    model.invoke(at(1))
    model.invoke(at(2))
    model.check()


def test_an_item_may_be_a_function_of_what_was_shown() -> None:
    def last_word(messages: list[BaseMessage]) -> Decision:
        return answer(f"{len(messages)} messages")

    def fails(messages: list[BaseMessage]) -> BaseException:
        return ValueError(f"{len(messages)} messages")

    model = ScriptedModel([last_word, fails])
    assert "2 messages" in str(model.invoke(at(1)).content)
    with pytest.raises(ValueError, match="2 messages"):
        model.invoke(at(2))


def test_what_was_shown_is_kept_as_it_was_then() -> None:
    model = ScriptedModel([answer("x"), answer("y")])
    messages = at(1)
    model.invoke(messages)
    messages[0].content = "changed"
    messages.append(HumanMessage("more"))
    assert [message.content for message in model.prompts[0]] == ["s", "Step 1 of at most 9."]
    quiet = ScriptedModel([answer("x")], keep_prompts=False)
    quiet.invoke(at(1))
    assert quiet.prompts == []


def test_a_raw_message_is_said_as_it_is_and_the_script_keeps_its_own() -> None:
    nonsense = AIMessage("", invalid_tool_calls=[{"name": "x", "args": "{", "id": "1", "error": "e"}])
    model = ScriptedModel([nonsense])
    said = model.invoke(at(1))
    assert said.invalid_tool_calls == nonsense.invalid_tool_calls
    assert nonsense.usage_metadata is None
    assert nonsense.response_metadata == {}


def test_usage_is_the_same_on_every_run() -> None:
    def usage(**options: Any) -> Any:
        return ScriptedModel([answer("x")], **options).invoke(at(1)).usage_metadata

    assert usage() == usage()
    assert usage()["input_tokens"] > 0
    assert usage(usage=(10, 2)) == {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}
    assert usage(usage=None) is None


def test_the_protocol_asked_for_decides_how_a_decision_is_said() -> None:
    model = ScriptedModel([call("look", id=1), call("look", id=2)], name="oncall-script")

    @tool
    def look(id: int) -> str:
        """Look it up."""
        return str(id)

    said = model.bind_tools([look]).invoke(at(1))
    assert [(c["name"], c["args"]) for c in said.tool_calls] == [("look", {"id": 1})]
    assert said.response_metadata == {"finish_reason": "tool_calls", "model_name": "oncall-script"}
    said = model.invoke(at(2))
    assert said.tool_calls == []
    assert said.content == '{"proposal": {"kind": "tool_call", "tool": "look", "arguments": {"id": 2}}}'


def test_it_works_as_the_model_of_a_plain_langchain_agent() -> None:
    effects: list[int] = []

    @tool
    def look(id: int) -> str:
        """Look it up."""
        effects.append(id)
        return "found"

    with ScriptedModel([call("look", id=1), call("look", id=2), answer("both found")]) as model:
        result = create_agent(model, [look]).invoke({"messages": [HumanMessage("find them")]})
    assert effects == [1, 2]
    assert result["messages"][-1].content == "both found"


def test_copies_of_a_model_follow_one_script_also_in_parallel() -> None:
    model = ScriptedModel([answer(str(number)) for number in range(1, 9)])

    async def all_steps() -> list[Any]:
        copies = [model.model_copy() for _ in range(8)]
        return await asyncio.gather(*(copy.ainvoke(at(step)) for step, copy in enumerate(copies, 1)))

    said = asyncio.run(all_steps())
    assert all(f'"{step}"' in message.content for step, message in enumerate(said, 1))
    model.check()


def test_importing_the_test_kit_does_not_import_langgraph() -> None:
    code = "import sys, interlock.testing; sys.exit('langgraph' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_fake_clock_stands_still_until_it_is_told_to_advance() -> None:
    clock = FakeClock()
    port: Clock = clock
    assert port.now() == port.now() == datetime(2026, 1, 1, tzinfo=UTC)
    clock.advance(90.5)
    assert port.monotonic() == 90.5
    assert port.now() == datetime(2026, 1, 1, 0, 1, 30, 500_000, tzinfo=UTC)
    with pytest.raises(ValueError, match="back"):
        clock.advance(-1)


def test_effects_are_counted_by_label_and_key(tmp_path: Path) -> None:
    effects = EffectCounter(tmp_path / "effects.jsonl")
    assert (effects.count(), effects.keys()) == (0, [])
    effects.hit("pay", "k1")
    effects.hit("mail", "k\n2")
    effects.hit("pay", "k1")
    again = EffectCounter(str(tmp_path / "effects.jsonl"))
    assert (again.count(), again.count("pay"), again.count("none")) == (3, 2, 0)
    assert again.keys() == ["k1", "k\n2", "k1"]
    assert again.keys("mail") == ["k\n2"]


KILLED = """
import os, signal, sys
from interlock.testing import EffectCounter
effects = EffectCounter(sys.argv[1])
for number in range(20):
    effects.hit("pay", f"{sys.argv[2]}-{number}")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_effects_of_processes_that_are_killed_are_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "effects.jsonl"
    workers = [
        subprocess.Popen([sys.executable, "-c", KILLED, str(path), name], env=dict(os.environ))
        for name in "ab"
    ]
    assert [worker.wait(60) for worker in workers] == [-signal.SIGKILL] * 2
    effects = EffectCounter(path)
    assert effects.count("pay") == 40
    assert len(set(effects.keys())) == 40
