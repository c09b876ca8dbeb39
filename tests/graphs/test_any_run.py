"""Whatever a model, its tools and people do: what every run keeps, over random sequences of all of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from interlock import (
    Budget,
    Claim,
    Grant,
    HumanDecision,
    InterlockError,
    Loop,
    Retryable,
    Run,
    Store,
    ToolFailure,
    contract,
    create_loop,
    open_store,
    resume,
    start,
)
from interlock.policies.outcomes import STATUS_OF, Outcome
from interlock.policies.questions import ALLOWED_DECISIONS, QuestionKind
from interlock.policies.transitions import LEGAL
from interlock.testing import (
    EffectCounter,
    FakeClock,
    ScriptedModel,
    answer,
    ask,
    call,
    cannot_complete,
    request_approval,
)

Saying = Any

GOOD: list[Saying] = [
    *(call(tool, number=number) for tool in ("look", "note", "send", "wipe") for number in (1, 2, 3)),
    request_approval("send", "to be sure", number=1),
    ask("which one?"),
    answer({"sent": 1}),
]
BAD: list[Saying] = [
    answer("  "),
    cannot_complete("it is not there"),
    call("look", number=0),
    call("absent"),
    call("send", number="one"),
    AIMessage(""),
    AIMessage("no tool, no answer", response_metadata={"finish_reason": "length"}),
    AIMessage("I cannot", additional_kwargs={"refusal": "no"}),
    ConnectionError("down"),
]
sayings = st.sampled_from([*GOOD * 8, *BAD])
scripts = st.builds(lambda said: [*said, answer("done")], st.lists(sayings, min_size=5, max_size=12))
weathers = st.sampled_from(["ok"] * 6 + ["error", "retryable", "unknown", "lost"])
people = st.sampled_from(
    ["approve", "approve", "approve", "approve", "edit", "reject", "respond", "late", "nothing", "elsewhere"]
)
budgets = st.builds(
    Budget,
    max_steps=st.integers(4, 16),
    max_tokens=st.sampled_from([4_000, 1_000_000, 1_000_000]),
    max_seconds=st.sampled_from([3.0, 3_600.0, 3_600.0]),
    max_failures=st.integers(2, 4),
    max_repeats=st.integers(2, 4),
    max_invalid=st.integers(2, 4),
    max_rejected=st.integers(1, 3),
    max_calls=st.sampled_from([{}, {}, {"send": 1}, {"wipe": 0}]),
)


@dataclass
class World:
    """A run with its tools, its weather and its people."""

    store: Store
    effects: EffectCounter
    budget: Budget
    script: list[Saying]
    weather: list[str]
    clock: FakeClock = field(default_factory=FakeClock)
    require: frozenset[str] = frozenset()
    verify: bool = False
    calls: int = 0

    def loop(self) -> Loop:
        """Built anew, as another process would."""
        model = ScriptedModel(self.script, usage=(900, 100))
        tools = [self.tool("look", "read"), self.tool("note", "write", idempotent=True)]
        tools += [self.tool("send", "write"), self.tool("wipe", "high_risk")]
        return create_loop(
            model, tools, store=self.store, budget=self.budget, clock=self.clock, require=self.require,
            verifiers=[self.noted] if self.verify else [],
        )  # fmt: skip

    def noted(self, claim: Claim) -> str | None:
        """Looks at the world, not at the claim."""
        return None if self.effects.count("note") else "nothing was noted"

    def tool(self, name: str, effect: Any, idempotent: bool = False) -> Any:
        def function(number: int) -> dict[str, int]:
            return self.run(name, number)

        function.__name__, function.__doc__ = name, f"{name.title()} a number."
        provides = {"seen": "number"} if name == "look" else {}
        return contract(effect=effect, idempotent=idempotent, targets=[], untrusted=False, provides=provides)(
            function
        )

    def run(self, name: str, number: int) -> dict[str, int]:
        weather = self.weather[self.calls % len(self.weather)] if self.weather else "ok"
        self.calls += 1
        self.clock.advance(1.0)
        if weather == "error":
            raise ValueError("broken")
        if weather == "retryable":
            raise Retryable("busy")
        if weather == "unknown":
            raise ToolFailure("unknown_outcome", "nobody knows")
        self.effects.hit(name, str(number))
        if weather == "lost":
            raise TimeoutError("the answer was lost")
        return {"number": number}


def lived(world: World, answers: list[str]) -> Run:
    """The run from its start to its end, with a person's answer to every question."""
    run = start(world.loop(), "reach it", run_id="r")
    for kind in [*answers, *["late"] * 40]:
        if run.status != "waiting":
            break
        run = met(world, run, kind)
    return run


def met(world: World, run: Run, kind: str) -> Run:
    (question,) = run.pending
    allowed = ALLOWED_DECISIONS[cast("QuestionKind", question["kind"])]
    if kind == "late":
        world.clock.advance(8 * 86_400)
        return resume(world.loop(), "r")
    if kind in ("nothing", "elsewhere") or kind not in allowed:
        try:
            return resume(world.loop(), "r", HumanDecision(type="edit", arguments={"number": "x"}))
        except InterlockError:
            return resume(world.loop(), "r")
    decision = {"type": kind, "arguments": {"number": 3} if kind == "edit" else None, "message": "yes"}
    return resume(world.loop(), "r", HumanDecision.load(decision))


def phases_of(loop: Loop) -> list[str]:
    """The phases that were saved, oldest first."""
    history = reversed(list(loop.get_state_history({"configurable": {"thread_id": "r"}})))
    saved = [snapshot.values["control"]["phase"] for snapshot in history if snapshot.values.get("control")]
    return [phase for phase in saved if phase]


def check(world: World, ended: Outcome) -> None:
    bounds = world.budget
    effects = world.store.ledger.of_run("r")
    assert STATUS_OF[ended.reason] == ended.status
    assert ended.steps <= bounds.max_steps
    assert all(row.step < bounds.max_steps for row in effects), "no tool runs on the last step"
    if str(ended.reason).endswith("_limit"):
        assert ended.limit is not None
        assert ended.limit.value
        assert ended.limit.used
    for tool, bound in bounds.max_calls.items():
        assert sum(row.tool == tool for row in effects) <= bound
    done = [row for row in effects if row.state == "done" and row.result and row.result.status == "ok"]
    doubtful = [row for row in effects if row.state in ("in_flight", "unknown")]
    told = {(change.tool, change.step, change.status) for change in ended.changes}
    assert told == {(row.tool, row.step, "done") for row in done} | {
        (row.tool, row.step, "unknown") for row in doubtful
    }
    if ended.status == "completed":
        assert not doubtful
        assert ended.answer not in (None, "", "  ")
        assert world.require <= {fact.key for fact in ended.evidence}
        assert len(ended.checks) == world.verify
        assert all(look.passed for look in ended.checks)
        last = max((row.finished_at or row.started_at for row in effects), default="")
        assert all(look.at >= last for look in ended.checks), "evidence older than the last effect"
        assert world.effects.count("note") or not world.verify
    else:
        assert ended.answer is None
        assert ended.unfinished


@settings(max_examples=80)
@given(
    scripts, st.lists(weathers, max_size=12), st.lists(people, min_size=6, max_size=12), budgets,
    st.sampled_from([frozenset[str](), frozenset({"seen"})]), st.booleans(),
)  # fmt: skip
def test_every_run_ends_within_its_bounds_on_a_legal_path_and_tells_the_ledgers_changes(
    script: list[Saying],
    weather: list[str],
    answers: list[str],
    budget: Budget,
    require: frozenset[str],
    verify: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "runs.db") as store:
        effects = EffectCounter(Path(folder) / "effects.log")
        world = World(store, effects, budget, script, weather, require=require, verify=verify)
        run = lived(world, answers)
        assert run.outcome is not None, f"{run.status}: {run.pending}"
        check(world, run.outcome)
        path = phases_of(world.loop())
        assert path[0] == "think"
        assert path[-1] == "verify"
        assert all(later in LEGAL[before] for before, later in pairwise(path))  # type: ignore[index]
        assert store.approvals.pending() == []
        assert len(effects.keys("wipe")) <= len(approved(store)), "nothing risky without a decision"


@settings(max_examples=30)
@given(scripts, st.lists(weathers, max_size=12), st.integers(1, 4))
def test_a_limit_that_is_raised_step_by_step_leads_where_the_wide_one_leads(
    script: list[Saying], weather: list[str], first: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, open_store(Path(folder) / "runs.db") as store:
        effects = EffectCounter(Path(folder) / "effects.log")
        world = World(store, effects, Budget(max_steps=first), script, weather)
        run = lived(world, [])
        for _ in range(12):
            if run.outcome is None or run.outcome.reason != "step_limit":
                break
            run = resume(world.loop(), "r", add=Grant(steps=1))
            while run.status == "waiting":
                run = met(world, run, "late")
        assert run.outcome is not None
        numbers = [step["step"] for step in store.traces.steps("r")]
        assert numbers == list(range(1, run.outcome.steps + 1))
        assert len(effects.keys()) <= world.calls


def approved(store: Store) -> list[Any]:
    known = store.approvals.of_run("r")
    return [one for one in known if one.decision and one.decision.type in ("approve", "edit")]
