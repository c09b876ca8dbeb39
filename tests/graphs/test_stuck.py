"""Stuck runs: the warning, the end, and a person who may help, over pauses, processes and kills."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from _killing import KILLED, Killer, arm, in_child

from interlock import (
    Budget,
    HumanDecision,
    Loop,
    Store,
    aresume,
    astart,
    cancel,
    contract,
    create_loop,
    open_store,
    resume,
    start,
)
from interlock.testing import FakeClock, ScriptedModel, answer, ask, call

LOOK = call("look", service="checkout")
ADVICE = HumanDecision(type="respond", message="ask the index instead", by="ada")


@pytest.fixture
def store(store_path: Path) -> Any:
    with open_store(store_path) as opened:
        yield opened


def loop_on(store: Store, steps: list[Any], **options: Any) -> tuple[Loop, ScriptedModel]:
    ticks = itertools.count()

    @contract(effect="read", untrusted=False, volatile=["at"], provides={"state": "state", "seen": "at"})
    def look(service: str) -> dict[str, Any]:
        """Look at a service. Every result has another time."""
        return {"state": "red", "at": next(ticks)}

    @contract(effect="read")
    def find(id: int) -> None:
        """Find a record. There is none."""
        raise LookupError(f"nothing under {id}")

    model = ScriptedModel(steps)
    return create_loop(model, [look, find], store=store, **options), model


def warnings_of(store: Store) -> list[int]:
    """Steps whose observation warns that the run is about to stop."""
    steps = store.traces.steps("r1")
    return [
        step["step"]
        for step in steps
        if any("stops the run" in one for one in step.get("observation", {}).get("next_actions", []))
    ]


def test_a_display_only_field_does_not_hide_a_repeat(store: Store) -> None:
    loop, model = loop_on(store, [LOOK] * 9)
    run = start(loop, "Is it green?", run_id="r1")
    assert run.outcome is not None
    assert (run.outcome.reason, run.steps, warnings_of(store)) == ("repeated_action", 3, [2])
    assert "look(service=" in run.outcome.message
    assert "3 times" in run.outcome.message
    assert "the next repeat stops the run" in str(model.prompts[-1])


def test_a_display_only_field_does_not_make_a_fact_new(store: Store) -> None:
    loop, _ = loop_on(store, [call("look", service=f"s{n}") for n in range(12)])
    run = start(loop, "Is it green?", run_id="r1")
    assert run.outcome is not None
    assert (run.outcome.reason, run.steps, warnings_of(store)) == ("no_progress", 9, [8])


def test_guessed_arguments_are_warned_once_and_stop(store: Store) -> None:
    loop, model = loop_on(store, [call("find", id=n) for n in range(9)])
    run = start(loop, "Find it", run_id="r1")
    assert run.outcome is not None
    assert (run.outcome.reason, run.steps, warnings_of(store)) == ("failure_limit", 5, [4])
    assert "with other arguments each time" in run.outcome.message
    assert "do not guess" in str(model.prompts[-1])


def test_a_stuck_run_asks_a_person_and_advice_lets_it_go_on(store: Store) -> None:
    loop, model = loop_on(store, [LOOK, LOOK, LOOK, LOOK, answer("red")], on_stuck="ask")
    waiting = start(loop, "Is it green?", run_id="r1")
    (question,) = waiting.pending
    assert (waiting.status, question["kind"], question["rule"]) == ("waiting", "stuck", "repeated_action")
    assert "3 times" in str(question["text"])
    assert "Respond with advice to go on, reject to stop" in str(question["text"])
    ended = resume(loop, "r1", ADVICE)
    assert ended.status == "completed"
    assert "ask the index instead" in str(model.prompts[3])
    assert warnings_of(store) == [2]


async def test_the_async_graph_asks_and_goes_on_as_well(store: Store) -> None:
    loop, _ = loop_on(store, [LOOK, LOOK, LOOK, answer("red")], on_stuck="ask")
    assert (await astart(loop, "Is it green?", run_id="r1")).status == "waiting"
    assert (await aresume(loop, "r1", ADVICE)).status == "completed"


def test_a_run_that_is_stuck_again_asks_a_new_question(store: Store) -> None:
    loop, _ = loop_on(store, [LOOK] * 6, on_stuck="ask")
    first = start(loop, "Is it green?", run_id="r1").pending[0]["approval_id"]
    second = resume(loop, "r1", ADVICE)
    assert (second.status, second.steps) == ("waiting", 6)
    assert second.pending[0]["approval_id"] != first
    assert warnings_of(store) == [2, 5]


def test_advice_does_not_lengthen_the_run(store: Store) -> None:
    loop, _ = loop_on(store, [LOOK] * 5, on_stuck="ask", budget=Budget(max_steps=5))
    start(loop, "Is it green?", run_id="r1")
    ended = resume(loop, "r1", ADVICE)
    assert ended.outcome is not None
    assert (ended.outcome.reason, ended.steps) == ("step_limit", 5)


def test_advice_after_a_reply_that_was_no_decision_reaches_the_model(store: Store) -> None:
    unknown = call("nothing")
    loop, model = loop_on(
        store, [LOOK, unknown, answer("red")], on_stuck="ask", budget=Budget(max_stale=1, max_failures=9)
    )
    assert start(loop, "Is it green?", run_id="r1").pending[0]["rule"] == "no_progress"
    assert resume(loop, "r1", ADVICE).status == "completed"
    assert "ask the index instead" in str(model.prompts[-1])


@pytest.mark.parametrize(
    ("steps", "reason", "said"),
    [
        ([LOOK] * 3, "repeated_action", "3 times"),
        ([call("look", service=f"s{n}") for n in range(9)], "no_progress", "8 steps in a row"),
        ([call("find", id=n) for n in range(5)], "failure_limit", "5 times in a row"),
    ],
)
def test_a_person_who_does_not_help_leaves_the_reason_that_made_the_run_stuck(
    store: Store, steps: list[Any], reason: str, said: str
) -> None:
    loop, _ = loop_on(store, steps, on_stuck="ask")
    assert start(loop, "Is it green?", run_id="r1").status == "waiting"
    ended = resume(loop, "r1", HumanDecision(type="reject", by="ada", message="leave it"))
    assert ended.outcome is not None
    assert (ended.status, ended.outcome.reason) == ("stopped", reason)
    for part in (said, "ada stopped the run: leave it"):
        assert part in ended.outcome.message


def test_a_stuck_run_whose_tool_has_no_call_left_still_asks_and_names_its_bound(store: Store) -> None:
    loop, _ = loop_on(store, [LOOK] * 3, on_stuck="ask", budget=Budget(max_calls={"look": 3}))
    assert start(loop, "Is it green?", run_id="r1").status == "waiting"
    ended = resume(loop, "r1", HumanDecision(type="reject"))
    assert ended.outcome is not None
    assert ended.outcome.limit is not None
    assert (ended.outcome.reason, ended.outcome.limit.name) == ("repeated_action", "max_repeats")


def test_a_question_that_nobody_answers_ends_the_run_for_its_reason(store: Store) -> None:
    clock = FakeClock()
    loop, _ = loop_on(store, [LOOK] * 3, on_stuck="ask", clock=clock, approval_ttl_s=60)
    assert start(loop, "Is it green?", run_id="r1").status == "waiting"
    assert resume(loop, "r1").status == "waiting"
    clock.advance(61)
    ended = resume(loop, "r1")
    assert ended.outcome is not None
    assert ended.outcome.reason == "repeated_action"
    assert "nobody gave advice: the question expired" in ended.outcome.message


def test_a_stuck_run_can_be_cancelled_while_it_waits(store: Store) -> None:
    loop, _ = loop_on(store, [LOOK] * 3, on_stuck="ask")
    start(loop, "Is it green?", run_id="r1")
    ended = cancel(store, "r1", loop=loop)
    assert ended.outcome is not None
    assert (ended.outcome.reason, ended.outcome.limit) == ("cancelled", None)
    assert store.approvals.of_run("r1")[0].status == "abandoned"


def test_the_same_question_with_the_same_answer_is_a_repeat_too(store: Store) -> None:
    loop, _ = loop_on(store, [ask("Which one?"), ask("which one"), ask("Which  one ?")])
    start(loop, "Is it green?", run_id="r1")
    said = HumanDecision(type="respond", message="the red one")
    run = [resume(loop, "r1", said) for _ in range(3)][-1]
    assert run.outcome is not None
    assert run.outcome.reason == "repeated_action"


def test_another_process_can_help_a_stuck_run(store_path: Path) -> None:
    steps = [LOOK, LOOK, LOOK, answer("red")]
    assert in_child(partial(drive, store_path, steps, Killer())) == 0
    with open_store(store_path) as store:
        loop, model = loop_on(store, steps, on_stuck="ask")
        assert resume(loop, "r1", ADVICE).status == "completed"
        assert "ask the index instead" in str(model.prompts[-1])


def drive(store_path: Path, steps: list[Any], killer: Killer) -> None:
    with open_store(store_path) as store:
        start(arm(loop_on(store, steps, on_stuck="ask")[0], killer), "Is it green?", run_id="r1")


def points_of_the_last_step(folder: Path, steps: list[Any]) -> list[int]:
    """The points that a run passes from its last look until it waits."""
    counting = Killer()
    drive(folder / "counted.db", steps, counting)
    looked = max(n for n, name in enumerate(counting.points, 1) if "record" in name)
    return list(range(looked - 4, len(counting.points) + 1))


@pytest.mark.slow
def test_a_kill_between_getting_stuck_and_asking_loses_nothing(tmp_path: Path) -> None:
    steps = [LOOK, LOOK, LOOK, answer("red")]
    points = points_of_the_last_step(tmp_path, steps)
    assert len(points) > 6
    for point in points:
        path = tmp_path / f"{point}.db"
        assert in_child(partial(drive, path, steps, Killer(point))) == KILLED
        with open_store(path) as store:
            loop, _ = loop_on(store, steps, on_stuck="ask")
            assert resume(loop, "r1").status == "waiting"
            assert len(store.approvals.of_run("r1")) == 1
            assert resume(loop, "r1", ADVICE).status == "completed"


@pytest.mark.slow
def test_a_kill_right_after_the_advice_keeps_it(tmp_path: Path) -> None:
    steps = [LOOK, LOOK, LOOK, answer("red")]
    counting = Killer()
    drive(tmp_path / "counted.db", steps, Killer())
    advise(tmp_path / "counted.db", steps, counting)
    before_the_model = next(n for n, name in enumerate(counting.points, 1) if name.endswith(".decide"))
    for point in range(1, before_the_model + 1):
        path = tmp_path / f"{point}.db"
        drive(path, steps, Killer())
        assert in_child(partial(advise, path, steps, Killer(point))) == KILLED
        with open_store(path) as store:
            loop, model = loop_on(store, steps, on_stuck="ask")
            assert resume(loop, "r1").status == "completed"
            assert "ask the index instead" in str(model.prompts[-1])


def advise(store_path: Path, steps: list[Any], killer: Killer) -> None:
    with open_store(store_path) as store:
        resume(arm(loop_on(store, steps, on_stuck="ask")[0], killer), "r1", ADVICE)
