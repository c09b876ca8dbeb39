"""Verifiers of the user's own: only silence is a pass, whatever else they do ends in a reason."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.errors import GraphInterrupt

from interlock import Budget, Claim, Outcome, astart, create_loop, open_store, start
from interlock.testing import ScriptedModel, answer

Check = Callable[[Claim], Any]


def claimed(checks: list[Any], **bounds: Any) -> tuple[Outcome, list[dict[str, Any]]]:
    """The outcome of one answer, and what the checks found."""
    with open_store(":memory:") as store:
        budget = Budget(max_rejected=1, **bounds)
        loop = create_loop(ScriptedModel([answer("x")]), [], store=store, verifiers=checks, budget=budget)
        run = start(loop, "go", run_id="r")
        assert run.outcome is not None
        return run.outcome, store.traces.steps("r")[-1]["checks"]


async def aclaimed(checks: list[Any], **bounds: Any) -> tuple[Outcome, list[dict[str, Any]]]:
    with open_store(":memory:") as store:
        budget = Budget(max_rejected=1, **bounds)
        loop = create_loop(ScriptedModel([answer("x")]), [], store=store, verifiers=checks, budget=budget)
        run = await astart(loop, "go", run_id="r")
        assert run.outcome is not None
        return run.outcome, store.traces.steps("r")[-1]["checks"]


def gives(value: Any) -> Check:
    def check(claim: Claim) -> Any:
        return value() if callable(value) else value

    return check


def raises(error: BaseException) -> Check:
    def check(claim: Claim) -> None:
        raise error

    return check


def no_words() -> Iterator[str]:
    yield from ()


def endless() -> Iterator[str]:
    while True:
        yield "again"


def breaks_off() -> Iterator[str]:
    yield "first"
    raise RuntimeError("in the middle")


@pytest.mark.parametrize(
    "value",
    [None, "", [], (), set(), no_words],
    ids=["None", "no text", "a list", "a tuple", "a set", "a generator"],
)
def test_nothing_is_a_pass(value: Any) -> None:
    assert claimed([gives(value)])[0].status == "completed"


BAD: list[tuple[Check, str]] = [
    (gives("no owner"), "no owner"),
    (gives(["no owner", "no date"]), "no owner; no date"),
    (gives(endless), "again; again"),
    (gives(breaks_off), "it raised RuntimeError: in the middle"),
    (gives(True), "returned True, which says nothing"),
    (gives(False), "returned False, which says nothing"),
    (gives(0), "returned a int"),
    (gives({}), "returned a dict"),
    (gives(object()), "returned a object"),
    (gives([None]), "not all words"),
    (gives("  "), "not all words"),
    (raises(ValueError("boom")), "it raised ValueError: boom"),
    (raises(AssertionError()), "it raised AssertionError"),
    (raises(TimeoutError("their own")), "it raised TimeoutError: their own"),
    (raises(SystemExit(0)), "raised SystemExit: 0"),
    (raises(KeyboardInterrupt()), "raised KeyboardInterrupt"),
    (raises(GeneratorExit()), "raised GeneratorExit"),
    (raises(ValueError("token=abc password=hunter2hunter2")), "[redacted]"),
]


@pytest.mark.parametrize(("check", "told"), BAD, ids=[told for _, told in BAD])
def test_anything_but_silence_is_no_pass_and_says_what_happened(check: Check, told: str) -> None:
    outcome, (found,) = claimed([check])
    assert (outcome.reason, found["passed"]) == ("answers_rejected", False)
    assert told in found["detail"]
    assert "Traceback" not in found["detail"]
    assert "hunter2" not in found["detail"]


LATER = [one for one in BAD if one[1] not in ("raised KeyboardInterrupt", "raised GeneratorExit")]
"""Those two end the event loop itself, whoever raises them."""


@pytest.mark.parametrize(("check", "told"), LATER, ids=[told for _, told in LATER])
async def test_the_same_holds_in_the_async_graph_for_async_verifiers(check: Check, told: str) -> None:
    async def later(claim: Claim) -> Any:
        await asyncio.sleep(0)
        return check(claim)

    outcome, (found,) = await aclaimed([later])
    assert outcome.reason == "answers_rejected"
    assert told.removesuffix(": 0") in found["detail"]


async def silent(claim: Claim) -> None:
    await asyncio.sleep(0)


class Object:
    """A verifier with settings of its own."""

    async def __call__(self, claim: Claim) -> str | None:
        await asyncio.sleep(0)
        return None if claim.answer == "x" else "not x"


FORMS = [
    silent,
    functools.partial(silent),
    Object(),
    lambda claim: silent(claim),
    functools.partial(gives(None)),
]


@pytest.mark.parametrize("check", FORMS, ids=["function", "partial", "object", "lambda", "sync partial"])
async def test_every_form_of_a_verifier_works_in_both_graphs(check: Any) -> None:
    assert (await asyncio.to_thread(claimed, [check]))[0].status == "completed"
    assert (await aclaimed([check]))[0].status == "completed"


def hang(claim: Claim) -> None:
    time.sleep(5)


async def ahang(claim: Claim) -> None:
    await asyncio.sleep(5)


@pytest.mark.parametrize("check", [hang, ahang])
def test_a_verifier_that_hangs_is_bounded_and_those_after_it_do_not_pass(check: Any) -> None:
    began = time.monotonic()
    outcome, (first, second) = claimed([check, gives(None)], verify_seconds=0.3)
    assert time.monotonic() - began < 3
    assert outcome.reason == "answers_rejected"
    assert "did not answer within" in first["detail"]
    assert (second["passed"], "used up" in second["detail"]) == (False, True)


@pytest.mark.parametrize("check", [hang, ahang])
async def test_a_verifier_that_hangs_is_bounded_in_the_async_graph(check: Any) -> None:
    began = time.monotonic()
    outcome, (first,) = await aclaimed([check], verify_seconds=0.3)
    assert time.monotonic() - began < 3
    assert outcome.reason == "answers_rejected"
    assert "did not answer within" in first["detail"]


async def test_cancelling_the_task_of_an_async_run_is_not_taken_for_a_verifiers_error() -> None:
    with open_store(":memory:") as store:
        loop = create_loop(ScriptedModel([answer("x")]), [], store=store, verifiers=[ahang])
        task = asyncio.create_task(astart(loop, "go", run_id="r"))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert store.runs.get("r").outcome is None


@pytest.mark.parametrize("error", [GraphInterrupt(), ExceptionGroup("g", [GraphInterrupt()])])
def test_control_flow_of_the_graph_is_never_taken_for_a_verdict(error: BaseException) -> None:
    """Swallowed, it would be a reason, and the run would have an outcome."""
    with open_store(":memory:") as store:
        loop = create_loop(ScriptedModel([answer("x")]), [], store=store, verifiers=[raises(error)])
        with pytest.raises(Exception):  # noqa: B017, PT011 (the graph decides what becomes of it)
            start(loop, "go", run_id="r")
        assert store.runs.get("r").outcome is None


KINDS: dict[str, tuple[Any, bool]] = {
    "silent": (gives(None), True),
    "async": (silent, True),
    "words": (gives("no"), False),
    "true": (gives(True), False),
    "raises": (raises(KeyError("x")), False),
}


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4), min_size=1, max_size=3))
def test_completed_implies_that_every_verifier_passed(rounds: list[list[str]]) -> None:
    """The verifiers behave as drawn, and differently for each answer of the run."""
    turn = iter(range(10**6))
    size = max(len(kinds) for kinds in rounds)

    def nth(number: int) -> Check:
        def check(claim: Claim) -> Any:
            kinds = rounds[claim.steps - 1]
            next(turn)
            return KINDS[kinds[number]][0](claim) if number < len(kinds) else None

        return check

    with open_store(":memory:") as store:
        script = ScriptedModel([answer("x")] * len(rounds))
        budget = Budget(max_rejected=len(rounds))
        checks: list[Any] = [nth(number) for number in range(size)]
        loop = create_loop(script, [], store=store, verifiers=checks, budget=budget)
        outcome = start(loop, "go", run_id="r").outcome
    assert outcome is not None
    held = [all(KINDS[kind][1] for kind in kinds) for kinds in rounds]
    assert (outcome.status == "completed") is any(held)
    assert outcome.steps == (held.index(True) + 1 if any(held) else len(rounds))
    if outcome.status == "completed":
        assert [check.passed for check in outcome.checks] == [True] * size
        assert next(turn) == size * outcome.steps
    else:
        assert outcome.checks == []
