"""The job that is killed and raced for: one action on the world, then the answer.

The world is a file outside the process: each effect is a line in it. The person looks at it before answering.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from _killing import Killer, arm
from langchain_core.messages import BaseMessage
from langchain_core.tools import BaseTool, InjectedToolArg, tool

from interlock import (
    Budget,
    HumanDecision,
    Loop,
    Run,
    contract,
    create_loop,
    inspect,
    open_store,
    resume,
    start,
)
from interlock.policies.errors import RunFinished
from interlock.policies.proposals import Decision
from interlock.testing import EffectCounter, ScriptedModel, answer, call, cannot_complete, request_approval

__all__ = [
    "INSIDE",
    "KINDS",
    "RUN",
    "TARGET",
    "WAITING",
    "Job",
    "drive",
    "loop_on",
    "settle",
    "take_up",
]

KINDS: dict[str, dict[str, Any]] = {
    "read": {"effect": "read"},
    "idempotent write": {"effect": "write", "idempotent": True},
    "plain write": {"effect": "write"},
    "high risk": {"effect": "high_risk"},
}
"""Contracts of the kinds of tools."""

RUN = "r"
TARGET = "a"
"""What the model wants to act on."""
INSIDE = ("in the tool, before its effect", "in the tool, after its effect")
WAITING = "while waiting"
MAX_ANSWERS = 6
"""Answers of the person after which a run that still asks counts as stuck."""


@dataclass(frozen=True, slots=True)
class Job:
    """One run, in a folder of its own."""

    folder: Path
    kind: str
    asked: bool = False
    """True when the model itself asks for approval, so that a tool of any kind waits for a person."""
    stops: bool = False
    """True when the person stops the run rather than settle an effect in doubt."""

    @property
    def store(self) -> Path:
        """The store's file."""
        return self.folder / "runs.db"

    @property
    def world(self) -> EffectCounter:
        """The effects: the label is the idempotency key, the key what was acted on."""
        return EffectCounter(self.folder / "world.log")

    @property
    def diary(self) -> EffectCounter:
        """The ids of the questions that the person has seen."""
        return EffectCounter(self.folder / "diary.log")

    def effects(self) -> Counter[str]:
        """How often each target was acted on."""
        return Counter(self.world.keys())

    def run(self) -> Run | None:
        """Where the run stood when the last process had ended; None when no process came that far."""
        path = self.folder / "run.json"
        return Run.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else None


def action(job: Job, killer: Killer) -> BaseTool:
    """The tool: one line in the world for each effect."""
    idempotent = KINDS[job.kind].get("idempotent", False)

    @contract(untrusted=False, **KINDS[job.kind])
    @tool
    def act(target: str, idempotency_key: Annotated[str, InjectedToolArg] = "") -> str:
        """Act on a target."""
        killer.point(INSIDE[0])
        if not idempotent or not job.world.count(idempotency_key):
            job.world.hit(idempotency_key, target)
        killer.point(INSIDE[1])
        return f"acted on {target}"

    return act


def loop_on(job: Job, store: Any, killer: Killer | None = None) -> Loop:
    """The loop of the job. With a killer every call that leaves it is a point."""
    first = request_approval("act", target=TARGET) if job.asked else call("act", target=TARGET)
    model = ScriptedModel([first, _report])
    tools = [action(job, killer or Killer())]
    loop = create_loop(model, tools, store=store, budget=Budget(max_steps=4))
    return arm(loop, killer) if killer else loop


def _report(messages: list[BaseMessage]) -> Decision:
    """The truth about the action: an answer after a rejection would not stand."""
    rejected = any("rejected by a person" in str(message.content) for message in messages)
    return cannot_complete("a person rejected it") if rejected else answer("done")


def drive(job: Job, killer: Killer) -> None:
    """Start the run, or take it up, and answer what it asks; leave behind where it stands."""
    with open_store(job.store) as store:
        loop = loop_on(job, store, killer)
        known = any(row.run_id == RUN for row in store.runs.list())
        run = take_up(store, loop) if known else start(loop, "act", run_id=RUN)
        for _ in range(MAX_ANSWERS):
            if run.status != "waiting":
                break
            killer.point(WAITING)
            run = resume(loop, RUN, person(job, run))
    (job.folder / "points.json").write_text(json.dumps(killer.points), encoding="utf-8")
    (job.folder / "run.json").write_text(run.model_dump_json(), encoding="utf-8")


def take_up(store: Any, loop: Loop) -> Run:
    """The outcome counts as soon as it is in the store, even when the last checkpoint is missing."""
    try:
        return resume(loop, RUN)
    except RunFinished:
        return inspect(store, RUN)


def settle(job: Job) -> None:
    """Bring a run that others have left to its end, in this process."""
    drive(job, Killer())


def person(job: Job, run: Run) -> HumanDecision:
    """Approves; of an effect in doubt says what the world says, or stops."""
    (question,) = run.pending
    job.diary.hit("asked", str(question["approval_id"]))
    if question["kind"] == "approval":
        return HumanDecision(type="approve", by="ops")
    if job.stops:
        return HumanDecision(type="reject", by="ops")
    arguments: Any = question["arguments"]
    if job.effects()[arguments["target"]]:
        return HumanDecision(type="respond", message="it happened", by="ops")
    return HumanDecision(type="approve", by="ops")
