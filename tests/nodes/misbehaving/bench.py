"""The real loop on the real client, with a store file and tools whose effects are counted in the world."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, cast

from langchain_openai import ChatOpenAI

from interlock import HumanDecision, Loop, Run, Store, contract, create_loop, open_store, resume, start
from interlock.nodes.model import ChatModel
from interlock.testing import EffectCounter
from tests.nodes.misbehaving.replies import gives_up
from tests.nodes.misbehaving.server import Answer, Server, says

__all__ = ["Bench", "Effect", "act_of", "look_of"]

Effect = Literal["read", "write", "high_risk"]
GOAL = "Pay what is due to ana, once"


class Bench:
    """One store file, one effect counter, one server."""

    def __init__(self, server: Server, folder: Path, streaming: bool = False) -> None:
        self.server = server
        self.streaming = streaming
        """Whether replies are taken in pieces."""
        self.path = folder / "runs.db"
        self.effects = EffectCounter(folder / "effects.log")
        self.waits: list[float] = []
        """Seconds that were waited between attempts."""

    def client(self, **options: Any) -> ChatOpenAI:
        """The real client of the server."""
        return ChatOpenAI(model="gpt-small", base_url=self.server.url, api_key=cast(Any, "none"), **options)

    def run(
        self,
        *answers: Answer | dict[str, Any],
        effect: Effect = "write",
        tools: list[Callable[..., Any]] | None = None,
        ends: bool = True,
        client: dict[str, Any] | None = None,
        chat: dict[str, Any] | None = None,
        **options: Any,
    ) -> Run:
        """One run to its end, on a server that gives these answers.

        Args:
            effect: of the tool `act`, where no tools are given.
            ends: after the answers the server gives up, and with it the run.
            client, chat: options of the client and of ChatModel; the others are the loop's.
        """
        self._answers(*answers, *([gives_up()] if ends else []))
        with open_store(self.path) as store:
            return start(self._loop(store, effect, tools, client, chat, options), GOAL, run_id="r1")

    def resume(
        self,
        decision: HumanDecision,
        *answers: Answer | dict[str, Any],
        effect: Effect = "write",
        tools: list[Callable[..., Any]] | None = None,
        client: dict[str, Any] | None = None,
        chat: dict[str, Any] | None = None,
        **options: Any,
    ) -> Run:
        """Go on with the run, from a store and a loop that are built anew from the file."""
        self._answers(*answers)
        with open_store(self.path) as store:
            return resume(self._loop(store, effect, tools, client, chat, options), "r1", decision)

    def _answers(self, *answers: Answer | dict[str, Any]) -> None:
        self.server.answers += [says(one) if isinstance(one, dict) else one for one in answers]

    def _loop(
        self,
        store: Store,
        effect: Effect,
        tools: list[Callable[..., Any]] | None,
        client: dict[str, Any] | None,
        chat: dict[str, Any] | None,
        options: dict[str, Any],
    ) -> Loop:
        own: dict[str, Any] = {"sleep": self.waits.append, "stream": self.streaming}
        model = ChatModel(self.client(**(client or {})), **{**own, **(chat or {})})
        tools = tools if tools is not None else [act_of(self.effects, effect)]
        return create_loop(model, tools, store=store, **options)

    def step(self, number: int = 1) -> dict[str, Any]:
        """The record of one step, read from the file."""
        with open_store(self.path) as store:
            return dict(store.traces.steps("r1")[number - 1])

    def told(self, request: int = 2) -> str:
        """What a request says of the reply before it, without the line on where the run stands."""
        return str(self.server.requests[request - 1]["messages"][-2]["content"])


def act_of(effects: EffectCounter, effect: Effect, name: str = "act") -> Callable[..., Any]:
    """A tool with one argument that has to be there, and others that need not."""

    def act(to: str, amount: int = 1, urgent: bool = False, tags: list[str] | None = None) -> str:
        """Act on somebody."""
        effects.hit(name, to)
        return f"acted on {to}"

    act.__name__ = name
    return contract(effect=effect, untrusted=False)(act)


def look_of(effects: EffectCounter) -> Callable[..., Any]:
    """A read without any argument."""

    @contract(effect="read", untrusted=False)
    def look() -> str:
        """Look around."""
        effects.hit("look")
        return "nothing new"

    return look
