"""The same job for each kind of loop: read a part at every step, then answer. All is saved to one file."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any, Literal, Protocol

from _measure import payload_of
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.graph import END, START, StateGraph

__all__ = ["CASES", "Case", "CreateAgent", "InstantModel", "Interlock"]

GOAL = "Read every part and say when it is done."


class InstantModel(BaseChatModel):
    """Answers at once: a tool call with a new argument at every step, then the end."""

    steps: int
    """Model calls of one run; the last one ends it."""
    end: AIMessage
    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "instant"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Itself: it knows the one tool that it calls."""
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.asked += 1
        message = self.end if self.asked >= self.steps else self._reading(self.asked)
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        told = message.model_copy(update={"usage_metadata": usage, "id": f"reply-{self.asked}"})
        return ChatResult(generations=[ChatGeneration(message=told)])

    def _reading(self, number: int) -> AIMessage:
        call = {"name": "read_part", "args": {"number": number}, "id": f"call-{number}", "type": "tool_call"}
        return AIMessage("the next part is missing", tool_calls=[call])


def reader(size: int) -> BaseTool:
    """The trivial tool: a text of `size` characters, another one for every number."""

    @tool
    def read_part(number: int) -> str:
        """Read one part."""
        return payload_of(number, size)

    return read_part


class Case(Protocol):
    """One kind of loop over one file. `steps` is the number of model calls of its run."""

    def __init__(self, path: Path, steps: int, size: int) -> None: ...

    def open(self) -> None:
        """Open the store."""

    def build(self) -> None:
        """Build the loop on it."""

    def run(self) -> None:
        """Work from the goal to the end."""

    def last_step(self) -> int:
        """Load the newest state from the file and say at which step it is."""
        ...

    def close(self) -> None:
        """Close the store, so that all of it is in the file."""


class Interlock:
    """Ours: budget, ledger, trace and payloads are saved as well."""

    effect: Literal["read", "write"] = "read"
    model: type[InstantModel] = InstantModel

    def __init__(self, path: Path, steps: int, size: int) -> None:
        self.path, self.steps, self.size = path, steps, size

    def open(self) -> None:
        """Open the store."""
        from interlock import open_store

        self.store = open_store(self.path)

    def build(self) -> None:
        """Build the loop."""
        from interlock import Budget, Contract, create_loop

        call = {"name": "final_answer", "args": {"answer": "done"}, "id": "call-end", "type": "tool_call"}
        self.loop = create_loop(
            self.model(steps=self.steps, end=AIMessage("", tool_calls=[call])),
            [reader(self.size)],
            store=self.store,
            contracts={"read_part": Contract(effect=self.effect, untrusted=False)},
            budget=Budget(max_steps=self.steps + 1),
        )

    def run(self) -> None:
        """Raises RuntimeError when the run ends in any other way than it should."""
        from interlock import start

        run = start(self.loop, GOAL, run_id="run")
        if run.status != "completed" or run.steps != self.steps:
            raise RuntimeError(f"the run is {run.status} after {run.steps} steps: {run.outcome}")

    def last_step(self) -> int:
        """The step in the saved control."""
        values = self.loop.get_state({"configurable": {"thread_id": "run"}}).values
        return int(values["scratchpad"][-1]["step"])

    def close(self) -> None:
        """Close the store."""
        self.store.close()


class Writes(Interlock):
    """Ours, with a tool that counts as a write: an intent and its completion at every step."""

    effect = "write"


class CreateAgent:
    """The peer: langchain's agent with its SQLite checkpointer, durability `sync`."""

    model: type[InstantModel] = InstantModel

    def __init__(self, path: Path, steps: int, size: int) -> None:
        self.path, self.steps, self.size = path, steps, size

    def open(self) -> None:
        """Open the database the way SqliteSaver.from_conn_string does."""
        from langgraph.checkpoint.sqlite import SqliteSaver

        self.connection = sqlite3.connect(self.path, check_same_thread=False)
        self.saver = SqliteSaver(self.connection)
        self.saver.setup()

    def build(self) -> None:
        """Build the agent."""
        from langchain.agents import create_agent

        model = self.model(steps=self.steps, end=AIMessage("done"))
        self.agent: Any = create_agent(model, [reader(self.size)], checkpointer=self.saver)
        self.config = {"configurable": {"thread_id": "run"}, "recursion_limit": 4 * self.steps + 10}

    def run(self) -> None:
        """Work from the goal to the end."""
        self.agent.invoke({"messages": [("user", GOAL)]}, self.config, durability="sync")

    def last_step(self) -> int:
        """The number of replies in the saved messages."""
        messages = self.agent.get_state(self.config).values["messages"]
        return sum(isinstance(message, AIMessage) for message in messages)

    def close(self) -> None:
        """Close the database."""
        self.connection.close()


class SuperSteps:
    """LangGraph alone on our store: four nodes a step that write what ours write and do nothing else.

    The difference to `interlock` is what the loop itself costs; the rest is LangGraph and the checkpointer.
    """

    NODES = ("think", "authorize", "execute", "normalize")

    def __init__(self, path: Path, steps: int, size: int) -> None:
        self.path, self.steps = path, steps

    def open(self) -> None:
        """Open the store."""
        from interlock import open_store

        self.store = open_store(self.path)

    def build(self) -> None:
        """Build the graph: a ring of nodes that the last one leaves."""
        from interlock.graphs.state import LoopState

        graph: Any = StateGraph(LoopState)
        for name in self.NODES:
            graph.add_node(name, self._node(name))
        graph.add_edge(START, "think")
        for name, following in zip(self.NODES, self.NODES[1:], strict=False):
            graph.add_conditional_edges(name, self._always(following), [following])
        graph.add_conditional_edges("normalize", self._on, ["think", END])
        self.graph = graph.compile(checkpointer=self.store.checkpointer)
        self.config = {"configurable": {"thread_id": "run"}, "recursion_limit": 4 * self.steps + 10}

    def _node(self, name: str) -> Any:
        def node(state: dict[str, Any]) -> dict[str, Any]:
            control: dict[str, Any] = state.get("control") or {
                "goal": GOAL,
                "step": 0,
                "fingerprint": "f" * 32,
                "calls": {},
            }
            step = control["step"] + (name == "think")
            part = {"step": step, "phases": {name: 0.5}, name: "x" * 250}
            return {"control": {**control, "step": step, "phase": name}, "scratchpad": [part]}

        return node

    def _always(self, following: str) -> Any:
        def edge(state: dict[str, Any]) -> str:
            return following

        return edge

    def _on(self, state: dict[str, Any]) -> str:
        return "think" if state["control"]["step"] < self.steps else END

    def run(self) -> None:
        """Go round once for every step."""
        for _ in self.graph.stream({"goal": GOAL}, self.config, stream_mode="updates", durability="sync"):
            pass

    def last_step(self) -> int:
        """The step in the saved control."""
        return int(self.graph.get_state(self.config).values["scratchpad"][-1]["step"])

    def close(self) -> None:
        """Close the store."""
        self.store.close()


class Effects:
    """Intents and completions alone, one of each a step, as `writes` adds them to `interlock`."""

    def __init__(self, path: Path, steps: int, size: int) -> None:
        self.path, self.steps = path, steps

    def open(self) -> None:
        """Open the store."""
        from interlock import open_store

        self.store = open_store(self.path)

    def build(self) -> None:
        """Nothing: there is no graph."""

    def run(self) -> None:
        """Write an intent and complete it, once for every step."""
        from interlock.policies.effects import EffectRow
        from interlock.policies.observations import ToolResult

        at = "2026-01-01T00:00:00+00:00"
        result = ToolResult(status="ok", raw_ref="e" * 64, size=2048)
        for step in range(1, self.steps + 1):
            key = f"key-{step}"
            intent = EffectRow(key=key, run_id="run", step=step, tool="write_part",
                               arguments={"number": step}, digest="d" * 64, started_at=at)  # fmt: skip
            self.store.ledger.begin(intent)
            self.store.ledger.finish(key, result, "s" * 200, at)

    def last_step(self) -> int:
        """The number of completed effects."""
        return sum(row.state == "done" for row in self.store.ledger.of_run("run"))

    def close(self) -> None:
        """Close the store."""
        self.store.close()


CASES: dict[str, type[Case]] = {
    "interlock": Interlock,
    "create_agent": CreateAgent,
    "writes": Writes,
    "supersteps": SuperSteps,
    "effects": Effects,
}
"""Cases by the name under which they are reported."""
