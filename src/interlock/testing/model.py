"""The scripted model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from types import TracebackType
from typing import Any, ClassVar, Literal, Self

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from interlock.nodes.protocols.plain_json import json_message
from interlock.nodes.protocols.reading import characters, estimate
from interlock.nodes.protocols.tools import calling_message
from interlock.policies.prompt import parse_step_line
from interlock.policies.proposals import Decision, FinalAnswer
from interlock.testing.script import Script, ScriptError, ScriptItem, by_step

__all__ = ["ScriptedModel"]


class ScriptedModel(BaseChatModel):
    """A chat model that says what its script says.

    Which step is asked for is read from the prompt's step line, so a new process can go on in the middle of a
    run; a prompt without one counts by the AI messages in it. The script never wraps around.

    Args:
        steps: one item for each step; see `ScriptItem`.
        name: name of the model.
        usage: tokens reported for each call as (input, output); "characters" derives them from the text, None
            reports nothing, as some servers do.
        keep_prompts: False when a long run should not keep what it showed.
    """

    costs_nothing: ClassVar[bool] = True
    """Its calls are free where nobody names a price."""

    _script: Script = PrivateAttr()
    _usage: tuple[int, int] | Literal["characters"] | None = PrivateAttr()
    _keep_prompts: bool = PrivateAttr()

    def __init__(
        self,
        steps: Sequence[ScriptItem],
        *,
        name: str = "scripted",
        usage: tuple[int, int] | Literal["characters"] | None = "characters",
        keep_prompts: bool = True,
    ) -> None:
        super().__init__(name=name)
        self._script = Script(by_step(steps))
        self._usage = usage
        self._keep_prompts = keep_prompts

    @property
    def prompts(self) -> list[list[BaseMessage]]:
        """Deep copies of the messages of each call, retries included, oldest first."""
        return self._script.prompts

    def check(self) -> None:
        """Raises ScriptError when a call was too many or a step was never used."""
        if self._script.problem:
            raise ScriptError(self._script.problem)
        if unused := self._script.unused():
            numbers = ", ".join(str(number) for number in unused)
            raise ScriptError(f"the script has {len(self._script.steps)} steps; never used up: {numbers}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Check the script, unless the block failed already for a reason of its own."""
        if error is None:
            self.check()

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """The model that answers with tool calls."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    @property
    def _llm_type(self) -> str:
        return "interlock-scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if self._keep_prompts:
            self._script.prompts.append(deepcopy(messages))
        step = _step_of(messages)
        item = self._script.next(step)
        said: Any = item(messages) if callable(item) else item
        if isinstance(said, BaseException):
            raise said
        message = deepcopy(said) if isinstance(said, AIMessage) else _message(said, step, kwargs.get("tools"))
        message.response_metadata.setdefault("model_name", self.name)
        if message.usage_metadata is None and self._usage is not None:
            message.usage_metadata = self._tokens(messages, message)
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _tokens(self, messages: list[BaseMessage], message: AIMessage) -> Any:
        used = self._usage
        shown, said = (
            used if isinstance(used, tuple) else (estimate(characters(m)) for m in (messages, [message]))
        )
        return {"input_tokens": shown, "output_tokens": said, "total_tokens": shown + said}


def _step_of(messages: list[BaseMessage]) -> int:
    last = messages[-1].content if messages else ""
    found = parse_step_line(last) if isinstance(last, str) else None
    return found[0] if found else 1 + sum(isinstance(message, AIMessage) for message in messages)


def _message(decision: Decision, step: int, tools: Sequence[Mapping[str, Any]] | None) -> AIMessage:
    """The decision in the protocol in which it is asked for."""
    if not tools:
        message, reason = json_message(decision), "stop"
    else:
        message, reason = calling_message(decision, step), "tool_calls"
        if isinstance(decision.proposal, FinalAnswer) and not _offers(tools, "final_answer"):
            final = decision.proposal.answer
            text = final if isinstance(final, str) else json.dumps(final, ensure_ascii=False)
            message, reason = AIMessage(text), "stop"
    message.response_metadata = {"finish_reason": reason}
    return message


def _offers(tools: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(tool.get("function", {}).get("name") == name for tool in tools)
