"""One model call: what is tried again, what is not, what it cost. Nothing but control flow is raised."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.errors import GraphBubbleUp, GraphInterrupt

from interlock.nodes.model import ChatModel
from interlock.policies.errors import BadLoop
from interlock.policies.prompt import Prompt
from interlock.policies.replies import Reply
from interlock.testing import FakeClock, ScriptedModel, ScriptItem, answer

PROMPT = Prompt("", [], "", "say x", [], {}, 1, 5)


class Fault(Exception):
    """A provider's error as its client raises it."""

    def __init__(self, text: str, status: int | None = None, **headers: str) -> None:
        super().__init__(text)
        if status is not None:
            self.status_code = status
        self.response = type("Response", (), {"headers": headers})()


class APIConnectionError(Exception):
    """Named as the clients of several providers name it."""


def decided(*items: ScriptItem, **bounds: Any) -> tuple[Reply, list[float]]:
    waits: list[float] = []
    reply = ChatModel(ScriptedModel(list(items)), sleep=waits.append, **bounds).decide(PROMPT)
    return reply, waits


@pytest.mark.parametrize(
    "fault",
    [Fault("busy", 429), Fault("oops", 500), Fault("late", 408), TimeoutError(), ConnectionResetError("gone"),
     APIConnectionError("no route")],
)  # fmt: skip
def test_a_transport_fault_is_tried_again_and_the_wait_doubles(fault: Exception) -> None:
    reply, waits = decided(fault, fault, answer("x"))
    assert reply.decision == answer("x")
    assert reply.attempts == 3
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize("fault", [Fault("no key", 401), Fault("bad", 400), ValueError("odd"), Fault("none")])
def test_any_other_fault_is_not_tried_again_and_is_told_with_its_type(fault: Exception) -> None:
    reply, waits = decided(fault, answer("x"))
    assert reply.failure is not None
    assert reply.failure.reason == "model_error"
    assert reply.failure.text == f"the model call failed: {type(fault).__name__}: {fault}"
    assert (reply.attempts, waits, reply.decision) == (1, [], None)


def test_tries_are_bounded_and_counted() -> None:
    reply, waits = decided(*[Fault("busy", 503)] * 5, answer("x"))
    assert reply.failure is not None
    assert reply.failure.text == "the model call failed after 3 attempts: Fault: busy"
    assert reply.attempts == 3
    assert len(waits) == 2


def test_the_wait_is_what_the_server_asks_for_up_to_a_cap() -> None:
    faults = [Fault("busy", 429, **{"retry-after": wait}) for wait in ("7", "3600", "-1", "Fri, 31 Dec 2027")]
    _, waits = decided(*faults, answer("x"), attempts=5, max_wait_s=20)
    assert waits == [7.0, 20, 2.0, 4.0]


def test_an_error_without_a_message_still_says_its_type() -> None:
    reply, _ = decided(RuntimeError())
    assert reply.failure is not None
    assert reply.failure.text.endswith(": RuntimeError")


def test_an_error_text_that_no_terminal_should_show_raw_is_made_visible_and_bounded() -> None:
    reply, _ = decided(RuntimeError("\x1b[2J\ud800" + "x" * 10_000))
    assert reply.failure is not None
    assert "RuntimeError: \\u001b[2J\\ud800xxx" in reply.failure.text
    assert len(reply.failure.text) == 2000


@pytest.mark.parametrize("control", [GraphBubbleUp(), GraphInterrupt(()), KeyboardInterrupt(), SystemExit(1)])
def test_control_flow_passes_through(control: BaseException) -> None:
    with pytest.raises(type(control)):
        decided(control, answer("x"))
    with pytest.raises(type(control)):
        asyncio.run(ChatModel(ScriptedModel([control, answer("x")])).adecide(PROMPT))


def test_cancelling_a_task_is_not_turned_into_a_failure() -> None:
    async def cancelled() -> None:
        async def wait_forever(_: float) -> None:
            await asyncio.Event().wait()

        model = ScriptedModel([Fault("busy", 429), answer("x")])
        task = asyncio.create_task(ChatModel(model, asleep=wait_forever).adecide(PROMPT))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())


def test_the_async_call_gives_the_same_reply_and_waits_in_its_own_way() -> None:
    items: list[ScriptItem] = [Fault("busy", 429), answer("x")]
    waits: list[float] = []

    async def asleep(seconds: float) -> None:
        waits.append(seconds)

    def never(seconds: float) -> None:
        raise AssertionError(f"blocked the event loop for {seconds} s")

    chat = ChatModel(ScriptedModel(items), sleep=never, asleep=asleep)
    assert asyncio.run(chat.adecide(PROMPT)) == decided(*items)[0]
    assert waits == [0.5]


def test_usage_is_what_the_model_reports() -> None:
    reply = ChatModel(ScriptedModel([answer("x")], usage=(120, 7))).decide(PROMPT)
    assert (reply.tokens.input, reply.tokens.output, reply.tokens.estimated) == (120, 7, False)


@pytest.mark.parametrize("usage", [None, (0, 0), (0, 7), (120, 0)])
def test_usage_that_is_not_reported_is_estimated_and_marked_never_zero(usage: tuple[int, int] | None) -> None:
    reply = ChatModel(ScriptedModel([answer("x" * 400)], usage=usage)).decide(PROMPT)
    assert reply.tokens.estimated
    assert reply.tokens.input in (120, *range(200, 2000))
    assert reply.tokens.output in (7, *range(100, 200))


@pytest.mark.parametrize(
    ("fault", "paid"), [(Fault("busy", 429), False), (Fault("oops", 500), True), (TimeoutError(), True),
                        (ConnectionRefusedError(), False)],
)  # fmt: skip
def test_an_attempt_that_may_have_been_charged_counts_its_prompt(fault: Exception, paid: bool) -> None:
    clean = ChatModel(ScriptedModel([answer("x")], usage=(120, 7))).decide(PROMPT).tokens
    model = ScriptedModel([fault, answer("x")], usage=(120, 7))
    spent = ChatModel(model, sleep=FakeClock().advance).decide(PROMPT).tokens
    assert (spent.input > clean.input) is paid
    assert spent.estimated is paid


def test_a_call_that_was_refused_before_any_work_costs_nothing() -> None:
    reply, _ = decided(Fault("no key", 401))
    assert (reply.tokens.input, reply.tokens.output) == (0, 0)


class Retrying(GenericFakeChatModel):
    """A model with its own retries, and one that would complete what it streams."""

    max_retries: int = 6

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        text = f'{{"proposal": {{"kind": "ask", "question": "{self.max_retries} retries"}}}}'
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _stream(self, *args: Any, **kwargs: Any) -> Any:
        yield ChatGenerationChunk(message=AIMessageChunk(content="streamed"))


def test_the_clients_own_retries_and_streaming_are_off_and_the_users_model_is_left_alone() -> None:
    model = Retrying(messages=iter([]), disable_streaming=False)
    reply = ChatModel(model).decide(PROMPT)
    assert reply.decision is not None
    assert reply.decision.proposal.model_dump()["question"] == "0 retries"
    assert (model.max_retries, model.disable_streaming) == (6, False)


def test_the_protocol_is_chosen_by_whether_the_model_can_bind_tools() -> None:
    toolless = GenericFakeChatModel(messages=iter([]))
    assert ChatModel(ScriptedModel([])).protocol == "tools"
    assert ChatModel(ScriptedModel([]), "json").protocol == "json"
    assert ChatModel(toolless).protocol == "json"
    with pytest.raises(BadLoop, match="no structured output"):
        ChatModel(toolless, "json_schema")
    with pytest.raises(BadLoop, match="cannot bind tools"):
        ChatModel(toolless, "tools")


@pytest.mark.parametrize("bounds", [{"attempts": 0}, {"max_wait_s": 0}, {"protocol": "xml"}])
def test_a_bound_or_a_protocol_that_makes_no_sense_is_refused(bounds: dict[str, Any]) -> None:
    with pytest.raises(BadLoop):
        ChatModel(ScriptedModel([]), **bounds)


class Broken(BaseChatModel):
    """A model that answers with a message of the wrong kind."""

    @property
    def _llm_type(self) -> str:
        return "broken"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=messages[-1])])


def test_a_reply_that_is_no_model_message_is_a_failure_with_words() -> None:
    reply = ChatModel(Broken()).decide(PROMPT)
    assert reply.failure is not None
    assert "HumanMessage, not an AIMessage" in reply.failure.text
    assert reply.attempts == 1
    assert reply.model == "Broken"
