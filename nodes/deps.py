"""Everything a loop depends on, in one frozen object; the state holds data only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from interlock.nodes.caching import ByRun
from interlock.nodes.ports import IO, Clock, Ids, ModelCall, Ports
from interlock.nodes.tools import BoundTool
from interlock.policies.budget import Budget
from interlock.policies.prompt import Prompt
from interlock.policies.provenance import Content
from interlock.policies.record import JsonValue
from interlock.policies.rules import Policy
from interlock.policies.verifiers import Verifier

__all__ = ["Deps", "OnStuck"]

OnStuck = Literal["stop", "ask"]


@dataclass(frozen=True, slots=True)
class Deps:
    """Dependencies of one loop."""

    prepare: Callable[[Prompt], ModelCall]
    """One model call, ready to be made."""
    tools: Mapping[str, BoundTool]
    policy: Policy
    budget: Budget
    store: Ports
    clock: Clock
    ids: Ids
    io: IO
    """How ports, the model and the tools are called: `direct` or `threaded`."""
    vault: ByRun[dict[str, JsonValue]]
    """Arguments that hold secrets, by run and step. In memory only: another process proposes them anew."""
    read: ByRun[Content]
    """What steps have read, indexed, by run and step. A cache: it is rebuilt from the store."""
    asynchronous: bool
    """True in the async graph."""
    sleep: Callable[[float], Awaitable[None] | None]
    """Wait for so many seconds."""
    asleep: Callable[[float], Awaitable[None] | None]
    """The same for the async graph."""
    require: frozenset[str]
    """Keys of the facts that must be observed before an answer is accepted."""
    fresh: frozenset[str]
    """Those of them that must be observed after the last effect."""
    verifiers: Mapping[str, Verifier]
    """What has to be true of the world before an answer is accepted, by name, in order."""
    answer_schema: type[BaseModel] | None
    """What the answer has to fit."""
    on_stuck: OnStuck
    """What happens to a run that makes no progress: it stops, or a person is asked."""
    fingerprint: str
    """Hash over graph, tools, contracts, policy and what an answer needs."""
    instructions: str
    """The operator's instructions, first in the prompt."""
    approval_ttl_s: float
    """Seconds until an unanswered question expires."""
