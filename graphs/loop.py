"""The loop: five nodes and their conditional edges.

START → think ─┬─ action ───────────→ authorize ─┬─ ticket ─→ execute → normalize
               ├─ claim or stop ────→ verify     └─ denied or answered ─→ normalize
               └─ invalid decision ─→ normalize
execute → normalize | authorize      normalize → think | verify | authorize      verify → think | END
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, get_args

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from interlock.checkpoints import open_store
from interlock.graphs.requirements import Requirements, requirements_of
from interlock.graphs.routing import EDGES, Edge
from interlock.graphs.state import LoopInput, LoopOutput, LoopState
from interlock.nodes.authorize import authorize
from interlock.nodes.caching import ByRun
from interlock.nodes.deps import Deps, OnStuck
from interlock.nodes.execute import execute
from interlock.nodes.io import direct, run_sync, threaded
from interlock.nodes.model import ChatModel
from interlock.nodes.normalize import normalize
from interlock.nodes.ports import Clock, Ids
from interlock.nodes.think import think
from interlock.nodes.tools import BoundTool, bind_tools
from interlock.nodes.verify import verify
from interlock.policies.budget import Budget
from interlock.policies.contracts import Contract
from interlock.policies.errors import BadLoop
from interlock.policies.rules import Policy
from interlock.policies.verifiers import Fresh, Verifier

__all__ = ["GRAPH_VERSION", "Loop", "create_loop", "deps_of"]

GRAPH_VERSION = "1"
"""Part of the fingerprint: raised when nodes or edges change so that old runs cannot go on."""

SUPER_STEPS_PER_STEP = 6
"""think, authorize, execute, normalize, and authorize and execute once more for an effect in doubt."""

PARENT_SAVER = "__pregel_checkpointer"
"""Where LangGraph hands a parent's checkpointer to the graphs inside it."""


class Loop(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled loop: a LangGraph graph that can be invoked, streamed, drawn and composed.

    Its checkpoints are written before the next node starts unless a call says otherwise. LangGraph's own
    default, `async`, repeats finished nodes after a kill.
    """

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """LangGraph's `stream`, with `durability="sync"` by default."""
        return super().stream(input, self._unlimited(config), **self.durable(config, options))

    def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """LangGraph's `astream`, with `durability="sync"` by default."""
        return super().astream(input, self._unlimited(config), **self.durable(config, options))

    def _unlimited(self, config: RunnableConfig | None) -> RunnableConfig | None:
        """LangGraph's own limit, raised where a caller's is lower: the loop's own have to fire first."""
        own = (self.config or {}).get("recursion_limit", 0)
        if config is None or config.get("recursion_limit", own) >= own:
            return config
        return {**config, "recursion_limit": own}

    def durable(self, config: RunnableConfig | None, options: dict[str, Any]) -> dict[str, Any]:
        """The options of a call with the loop's default durability.

        Without a checkpointer of its own or of a parent there is nothing to wait for.
        """
        inside = (config or {}).get("configurable", {})
        saver = inside.get(PARENT_SAVER, self.checkpointer)
        if options.get("durability") is None and isinstance(saver, BaseCheckpointSaver):
            return {**options, "durability": "sync"}
        return options


class _Stores:
    """Marks the store's own checkpointer as the default of `create_loop`."""


STORES: Final = _Stores()


def create_loop(
    model: BaseChatModel | ChatModel,
    tools: Sequence[BaseTool | Callable[..., Any]],
    *,
    store: Any = None,
    contracts: Mapping[str, Contract] | None = None,
    policy: Policy | None = None,
    budget: Budget | None = None,
    instructions: str = "",
    require: Iterable[str | Fresh] = (),
    verifiers: Iterable[Verifier] = (),
    answer_schema: type[BaseModel] | None = None,
    on_stuck: OnStuck = "stop",
    checkpointer: BaseCheckpointSaver[Any] | _Stores | None = STORES,
    name: str = "interlock",
    approval_ttl_s: float = 7 * 86_400.0,
    clock: Clock | None = None,
    ids: Ids | None = None,
) -> Loop:
    """Build the loop as a compiled LangGraph graph.

    Args:
        model: a LangChain chat model, or a `ChatModel` that already wraps one.
        tools: LangChain tools or functions, with contracts attached by `@contract(...)`.
        store: what `open_store` returns; without one, a store in memory that ends with the process.
        contracts: contracts by tool name; they replace those attached to the tools.
        policy: rules on top of the default ones.
        budget: bounds of one run; see `Budget` for the defaults.
        instructions: the operator's instructions, first in the prompt.
        require: keys of facts that a tool must have observed in this run before an answer is accepted;
            `Fresh(key)` where it must have been after the last effect.
        verifiers: what has to be true of the world before an answer is accepted: `ToolCheck`, `CommandCheck`,
            `EffectDone`, or functions of a `Claim` that return None, or words when it does not hold.
        answer_schema: a pydantic model that the answer has to fit, strictly; the model sees its JSON schema.
        on_stuck: what happens to a run that makes no progress: `stop` ends it, `ask` asks a person.
        checkpointer: the store's own by default; None leaves it to a parent graph or a server.
        name: name of the graph.
        approval_ttl_s: seconds until an unanswered question expires.
        clock, ids: time and identifiers, for tests.

    Returns:
        A compiled graph: input `{"goal": str}`, output `{"outcome": dict}`.

    Raises:
        BadLoop: tools, contracts, verifiers or model do not fit together.
    """
    _check_types(model, tools, store, policy, budget, on_stuck)
    store = store if store is not None else open_store(":memory:")
    chat = model if isinstance(model, ChatModel) else ChatModel(model)
    bound, policy = bind_tools(tools, contracts or {}), policy or Policy()
    budget = budget or Budget()
    _check_budget(budget, bound, chat)
    wanted = requirements_of(require, verifiers, answer_schema, bound)
    deps = Deps(
        prepare=chat.prepare,
        tools=bound,
        policy=policy,
        budget=budget,
        store=store,
        clock=clock or SystemClock(),
        ids=ids or _new_id,
        io=direct,
        vault=ByRun(),
        read=ByRun(),
        asynchronous=False,
        sleep=time.sleep,
        asleep=asyncio.sleep,
        require=wanted.require,
        fresh=wanted.fresh,
        verifiers=wanted.verifiers,
        answer_schema=wanted.answer_schema,
        on_stuck=on_stuck,
        fingerprint=_fingerprint(bound, policy, wanted),
        instructions=instructions,
        approval_ttl_s=approval_ttl_s,
    )
    saver = store.checkpointer if isinstance(checkpointer, _Stores) else checkpointer
    limit = deps.budget.max_steps * SUPER_STEPS_PER_STEP + 10
    compiled = _graph(deps).compile(checkpointer=saver, name=name)
    return Loop(**vars(compiled)).with_config(recursion_limit=limit)


def _graph(deps: Deps) -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(LoopState, input_schema=LoopInput, output_schema=LoopOutput)
    graph.add_node("think", _Node("think", deps, think, knows_run=True))
    graph.add_node("authorize", _Node("authorize", deps, authorize))
    graph.add_node("execute", _Node("execute", deps, execute))
    graph.add_node("normalize", _Node("normalize", deps, normalize))
    graph.add_node("verify", _Node("verify", deps, verify))
    graph.add_edge(START, "think")
    for node, rule in EDGES.items():
        edge = Edge(rule)
        graph.add_conditional_edges(node, edge, edge.targets)
    graph.interlock_deps = deps  # type: ignore[attr-defined]  # survives with_config, which copies the rest
    return graph


def deps_of(loop: Loop) -> Deps:
    """The dependencies that `create_loop` built. Raises BadLoop for any other graph."""
    deps = getattr(loop.builder, "interlock_deps", None)
    if not isinstance(deps, Deps):
        raise BadLoop("this graph was not built by create_loop")
    return deps


class _Node(Runnable[Any, Any]):
    """A node that runs the same coroutine in the sync and in the async graph."""

    def __init__(self, name: str, deps: Deps, node: Callable[..., Any], knows_run: bool = False) -> None:
        self.name = name
        self._node = node
        self._knows_run = knows_run
        self._sync = deps
        self._async = replace(deps, io=threaded, asynchronous=True, sleep=deps.asleep)

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return run_sync(self._coroutine(input, self._sync, config))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        return await self._coroutine(input, self._async, config)

    def _coroutine(self, state: Any, deps: Deps, config: RunnableConfig | None) -> Any:
        """think gives a run its id; the others read it from the state."""
        if self._knows_run:
            return self._node(state, deps, _run_id(config, deps.ids))
        return self._node(state, deps)


def _run_id(config: RunnableConfig | None, ids: Ids) -> str:
    """The thread id; for a loop inside another graph, with the path that leads to it."""
    configurable = (config or {}).get("configurable", {})
    thread = configurable.get("thread_id") or ids()
    outer = str(configurable.get("checkpoint_ns", "")).rpartition("|")[0]
    return f"{thread}/{outer}" if outer else str(thread)


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The current time, UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.perf_counter()


def _new_id() -> str:
    return uuid.uuid4().hex[:12]


def _check_types(model: Any, tools: Any, store: Any, policy: Any, budget: Any, on_stuck: Any) -> None:
    """Slips that would surface far from here. Raises BadLoop."""
    wanted = (
        (model, BaseChatModel | ChatModel, "model", "a LangChain chat model"),
        (tools, Sequence, "tools", "a list of tools"),
        (policy, Policy | None, "policy", "a Policy"),
        (budget, Budget | None, "budget", "a Budget"),
    )
    for value, kind, name, words in wanted:
        if not isinstance(value, kind) or isinstance(value, str):
            raise BadLoop(f"{name} has to be {words}, not {type(value).__name__}")
    if store is not None and not hasattr(store, "ledger"):
        raise BadLoop(f"store has to be what open_store(path) returns, not {type(store).__name__}")
    if on_stuck not in get_args(OnStuck):
        raise BadLoop(f'on_stuck has to be "stop" or "ask", not {on_stuck!r}')


def _check_budget(budget: Budget, tools: Mapping[str, BoundTool], model: ChatModel) -> None:
    """Bounds that could not be kept. Raises BadLoop."""
    if unknown := sorted(set(budget.max_calls) - set(tools)):
        raise BadLoop(f"max_calls names tools that this loop does not have: {', '.join(unknown)}")
    if budget.max_cost is not None and not model.priced:
        raise BadLoop(
            f"max_cost needs the price of {model.name}, which is not known: give it with "
            "ChatModel(model, price=Price(input=…, output=…)), or bound max_tokens instead"
        )


def _fingerprint(tools: Mapping[str, BoundTool], policy: Policy, wanted: Requirements) -> str:
    """Hash over graph, tools, contracts, policy and what an answer needs: what a resumed run must find again.

    A run that was resumed under weaker demands could end as completed.
    """
    described = {name: [tool.schema_hash, tool.contract.dump()] for name, tool in tools.items()}
    text = json.dumps([GRAPH_VERSION, described, policy.version, wanted.described()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
