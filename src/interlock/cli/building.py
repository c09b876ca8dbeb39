"""What a run was started with, saved as data, and the loop that a new process builds from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from interlock.checkpoints import Store
from interlock.cli.bounds import price_of
from interlock.cli.loading import check_policy, load_model, load_policy, load_tools
from interlock.graphs import billing, cleanup, coding, crm, notify, oncall, operations, tickets
from interlock.graphs.loop import Loop, create_loop, deps_of
from interlock.policies.budget import Budget
from interlock.policies.errors import BadLoop
from interlock.policies.record import JsonValue, Record
from interlock.policies.runs import RunRow

__all__ = [
    "LOOPS",
    "SCRIPTED",
    "ReadyMade",
    "Spec",
    "build_loop",
    "no_such_loop",
    "prepare_world",
    "spec_of",
    "world_of",
]

SCRIPTED = "scripted"
OPEN = ("waiting", "running", "lost")


@dataclass(frozen=True, slots=True)
class ReadyMade:
    """A loop that ships with its tools, its world and its script."""

    goal: str
    """What it works on when no goal is given."""
    build: Callable[..., Loop]
    make_world: Callable[[Path], None]
    script_for: Callable[[str], Sequence[Any]]
    suffix: str = ".db"
    """How the name of its world ends: most are a database, one is a folder."""


LOOPS = {
    "billing": ReadyMade(billing.GOAL, billing.build, billing.make_world, billing.script_for),
    "cleanup": ReadyMade(cleanup.GOAL, cleanup.build, cleanup.make_world, cleanup.script_for),
    "coding": ReadyMade(coding.GOAL, coding.build, coding.make_world, coding.script_for, suffix=""),
    "crm": ReadyMade(crm.GOAL, crm.build, crm.make_world, crm.script_for),
    "notify": ReadyMade(notify.GOAL, notify.build, notify.make_world, notify.script_for),
    "oncall": ReadyMade(oncall.GOAL, oncall.build, oncall.make_world, oncall.script_for),
    "operations": ReadyMade(operations.GOAL, operations.build, operations.make_world, operations.script_for),
    "tickets": ReadyMade(tickets.GOAL, tickets.build, tickets.make_world, tickets.script_for),
}
"""The ready-made loops, by name."""


class Spec(Record):
    """What a new process needs to build the loop of a run again."""

    loop: str = ""
    """Name of the ready-made loop; empty for the user's own tools."""
    tools: str | None = None
    """The user's tools, as package.module:NAME."""
    model: str
    """`scripted`, `local`, `local:FILE`, `openai:NAME` or package.module:NAME."""
    bounds: dict[str, JsonValue] = {}
    """Fields of `Budget` that were given; the loop's own hold for the others."""
    price: str | None = None
    """Price of the model as IN/OUT, US dollars per million tokens."""
    world: str | None = None
    """Database or folder of the ready-made loop."""
    policy: str | None = None
    """Policy file of the run."""
    folder: str = ""
    """Folder in which the run was started: where the user's modules are."""


def spec_of(row: RunRow) -> Spec:
    """The spec that was saved with a run. Raises BadLoop when there is none."""
    try:
        return Spec.load(row.spec)
    except ValidationError:
        raise BadLoop(
            f"run {row.run_id} was not started from the command line; resume it with the code that started it"
        ) from None


def build_loop(spec: Spec, store: Store, goal: str, model: Any = None) -> Loop:
    """The loop of a spec.

    Args:
        model: used instead of the spec's, for a loop that is not going to ask it.

    Raises:
        BadLoop: tools or model cannot be loaded, or do not fit together.
    """
    policy = load_policy(spec.policy) if spec.policy else None
    if spec.loop in LOOPS and spec.world is not None:
        chosen = model if model is not None else _model(spec, goal)
        build = partial(LOOPS[spec.loop].build, chosen, store, world=Path(spec.world), policy=policy)
    elif spec.loop or spec.tools is None:
        raise no_such_loop(spec.loop)
    else:
        tools = _tools(spec)
        chosen = model if model is not None else _model(spec, goal)
        build = partial(create_loop, chosen, tools, store=store, policy=policy)
    loop = build()
    if spec.bounds:
        loop = build(budget=Budget.load({**deps_of(loop).budget.dump(), **spec.bounds}))
    if policy is not None:
        check_policy(policy, loop)
    return loop


def no_such_loop(name: str) -> BadLoop:
    """The refusal of a name that is none of the ready-made loops."""
    return BadLoop(f"there is no ready-made loop {name!r}; there is: {', '.join(LOOPS)}")


def world_of(store: str, loop: str) -> Path:
    """Where a ready-made loop keeps its world: beside the store."""
    return Path(store).absolute().with_name(f"{loop}{LOOPS[loop].suffix}")


def prepare_world(spec: Spec, store: Store) -> None:
    """Write the ready-made loop's world anew, unless an open run of it still works on the old one."""
    if spec.world is None:
        return
    world = Path(spec.world)
    runs = store.runs.list(limit=100_000)
    busy = any(row.loop == spec.loop and row.status in OPEN for row in runs)
    if not busy or not world.exists():
        LOOPS[spec.loop].make_world(world)


def _model(spec: Spec, goal: str) -> Any:
    model = _asked(spec, goal)
    if spec.price is None:
        return model
    from interlock.nodes.model import ChatModel

    if isinstance(model, ChatModel):
        raise BadLoop(f"--price does not go with --model {spec.model}, which brings its own price")
    return ChatModel(model, price=price_of(spec.price))


def _asked(spec: Spec, goal: str) -> Any:
    if spec.model != SCRIPTED:
        return load_model(spec.model)
    if spec.loop not in LOOPS:
        raise BadLoop(
            f"the scripted model only knows the ready-made loops {', '.join(LOOPS)}; name one that fits your "
            "tools, for example --model openai:NAME"
        )
    from interlock.testing import ScriptedModel

    return ScriptedModel(LOOPS[spec.loop].script_for(goal))


def _tools(spec: Spec) -> list[Any]:
    try:
        return load_tools(spec.tools or "")
    except BadLoop as error:
        if spec.folder and Path(spec.folder) != Path.cwd():
            raise BadLoop(f"{error}; the run was started in {spec.folder}") from error
        raise
