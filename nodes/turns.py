"""One model call of the loop, over the models of a list and the protocols of each: who is asked next and why.

A server that refuses a protocol is asked again in a lesser one; a model that is down gives way to the next.
Both are remembered in the run. Everything else that goes wrong is the reply.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import reduce
from typing import Any, Protocol

from interlock.nodes.attempts import FAILURE_LIMIT, Prepared
from interlock.policies.prompt import Prompt
from interlock.policies.replies import Expected, Learned, ProtocolName, Reply, Room, Tokens
from interlock.policies.text import bounded

__all__ = ["Candidate", "Turn"]

WHY_LIMIT = 500
"""Characters of the reason for a switch."""

_Plan = Generator[tuple[Prepared, Room], Reply, Reply]


class Candidate(Protocol):
    """A model that may be asked."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    @property
    def protocol(self) -> ProtocolName:
        """The protocol that it begins with."""
        ...

    def call(self, prompt: Prompt, protocol: ProtocolName) -> Prepared:
        """The call that a prompt comes to."""
        ...

    def lesser(self, call: Prepared) -> ProtocolName | None:
        """The protocol to go on with, when the server has refused that of this call and there is another."""
        ...

    def down(self, call: Prepared) -> bool:
        """True when the call failed because the model cannot be had."""
        ...


@dataclass(slots=True)
class Turn:
    """One decision, whoever gives it. Made for one prompt and used once."""

    prompt: Prompt
    models: Sequence[Candidate]
    """The one to ask first, and who takes over, in this order."""
    learned: Learned
    _first: Prepared | None = None
    _lost: list[Reply] = field(default_factory=list[Reply])
    """Calls that decided nothing."""
    _switched: list[str] = field(default_factory=list[str])

    def expected(self) -> Expected:
        """What one attempt of the first call will take."""
        return self._ready().expected()

    def decide(self, room: Room) -> Reply:
        """One decision. What a model or its server does wrong is in the reply, never raised."""
        plan = self._plan(room)
        call, left = next(plan)
        while True:
            try:
                call, left = plan.send(call.decide(left))
            except StopIteration as done:
                return self._told(done.value)

    async def adecide(self, room: Room) -> Reply:
        """`decide` for a running event loop."""
        plan = self._plan(room)
        call, left = next(plan)
        while True:
            try:
                call, left = plan.send(await call.adecide(left))
            except StopIteration as done:
                return self._told(done.value)

    def _plan(self, room: Room) -> _Plan:
        """The calls to make, one after the other, until one counts."""
        left = list(self.models)
        call = self._ready()
        while True:
            began = time.monotonic()
            reply = yield call, room
            following = self._after(left, call, reply)
            if following is None:
                return reply
            room = room.less(reply, time.monotonic() - began)
            if not room.holds(following.expected()):
                self._switched.append("what is left of the budget does not suffice for that call")
                return reply
            self._lost.append(reply)
            call = following

    def _after(self, left: list[Candidate], call: Prepared, reply: Reply) -> Prepared | None:
        """The call to make instead, if there is one; the run remembers why."""
        model = left[0]
        if reply.failure is None:
            return None
        if (lesser := model.lesser(call)) is not None:
            self._switch(f"{model.name} refuses the protocol {call.protocol}, {lesser} from now on", reply)
            known = {**self.learned.protocols, model.name: lesser}
            self.learned = self.learned.model_copy(update={"protocols": known})
            return self._call(model)
        if len(left) > 1 and model.down(call):
            del left[0]
            self._switch(f"{model.name} is down, {left[0].name} from now on", reply)
            self.learned = self.learned.model_copy(update={"model": left[0].name})
            return self._call(left[0])
        return None

    def _switch(self, what: str, reply: Reply) -> None:
        why = reply.failure.text if reply.failure else ""
        self._switched.append(bounded(f"{what}: {why}", WHY_LIMIT))

    def _ready(self) -> Prepared:
        if self._first is None:
            self._first = self._call(self.models[0])
        return self._first

    def _call(self, model: Candidate) -> Prepared:
        return model.call(self.prompt, self.learned.protocols.get(model.name, model.protocol))

    def _told(self, reply: Reply) -> Reply:
        """The reply with what the calls before it took, and what the run has to remember."""
        if not self._switched:
            return reply
        spent, changes = [*self._lost, reply], dict[str, Any]()
        if reply.failure is not None:
            text = f"{reply.failure.text} (before that: {'; '.join(self._switched)})"
            changes["failure"] = reply.failure.model_copy(update={"text": bounded(text, FAILURE_LIMIT)})
        return reply.model_copy(
            update={
                **changes,
                "tokens": reduce(Tokens.plus, (one.tokens for one in spent)),
                "cost": _sum([one.cost for one in spent if one is reply or one.tokens.total]),
                "attempts": sum(one.attempts for one in spent),
                "switched": self._switched,
                "learned": self.learned,
            }
        )


def _sum(costs: Sequence[Decimal | None]) -> Decimal | None:
    """US dollars of all calls; None when the price of one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known, Decimal(0)) if len(known) == len(costs) else None
