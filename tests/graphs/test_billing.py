"""The billing example: lookups before an answer, and money that goes back once, whatever times out.

The world is a database file. What counts is how many refunds it holds, not what the run says about them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from interlock import Conflict, HumanDecision, NotFound, Run, Store, open_store, resume, start
from interlock.graphs.billing import GOAL, SCRIPTS, build, make_world, script_for
from interlock.graphs.billing.tools import MAX_REFUND_CENTS, billing_tools
from interlock.graphs.billing.world import Slow, World
from interlock.testing import ScriptedModel, ScriptItem, answer, call, cannot_complete

INVOICE = "INV-3318"
NOT_ELIGIBLE = "Customer C-219 wants the money for invoice INV-3290 back. Refund it."
APPROVE = HumanDecision(type="approve", by="billing lead")
TIMEOUT_S = 0.3


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    """The world; a provider that a test made slow goes on at its end."""
    path = tmp_path / "billing.db"
    make_world(path)
    yield path
    World(path).be_slow(None)


@pytest.fixture
def world(path: Path) -> World:
    return World(path)


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    with open_store(store_path) as opened:
        yield opened


class Desk:
    """Works on one run; each decision reaches a loop that was built anew, as in a second process."""

    def __init__(self, store: Store, path: Path) -> None:
        self._store, self._path = store, path

    def start(self, goal: str = GOAL, script: Any = None) -> Run:
        self._script = script or script_for(goal)
        return start(self._loop(), goal, run_id="r")

    def decide(self, decision: HumanDecision) -> Run:
        return resume(self._loop(), "r", decision)

    def _loop(self) -> Any:
        model = ScriptedModel(self._script)
        return build(model, self._store, world=self._path, refund_timeout_s=TIMEOUT_S)


@pytest.fixture
def desk(store: Store, path: Path) -> Desk:
    return Desk(store, path)


def refunds(world: World, invoice: str = INVOICE) -> list[int]:
    """The refunds of an invoice that the world holds, in cents."""
    return [row["amount_cents"] for row in world.payments(invoice) if row["kind"] == "refund"]


def wait_for(condition: Callable[[], Any]) -> Any:
    """What the condition gives once it holds."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        with suppress(NotFound):
            if found := condition():
                return found
        time.sleep(0.02)
    raise TimeoutError("the condition never held")


def observed(store: Store, step: int) -> dict[str, Any]:
    found: dict[str, Any] = store.traces.steps("r")[step - 1]["observation"]
    return found


def test_a_refund_waits_with_its_eligibility_and_moves_no_money(desk: Desk, world: World) -> None:
    run = desk.start()
    (asked,) = run.pending
    assert run.status == "waiting"
    assert asked["arguments"] == {"invoice_id": INVOICE, "amount_cents": 4900, "currency": "EUR"}
    assert '"eligible":true' in str(asked["preview"])
    assert refunds(world) == []


def test_an_approved_refund_happens_once_and_is_reported_from_its_result(desk: Desk, world: World) -> None:
    desk.start()
    run = desk.decide(APPROVE)
    assert run.outcome is not None
    assert (run.status, refunds(world)) == ("completed", [4900])
    (change,) = run.outcome.changes
    refund = world.find_refund(change.idempotency_key)
    assert (change.tool, change.status, change.approved_by) == ("refund", "done", "billing lead")
    assert f"49.00 EUR went back as {refund['refund_id']}" in str(run.outcome.answer)
    assert {"customer_id", "invoice_id", "payment_status", "refund_eligible"} <= {
        fact.key for fact in run.outcome.evidence
    }


def test_the_world_itself_would_pay_twice_so_that_only_the_loop_prevents_it(path: Path, world: World) -> None:
    tools: dict[str, Any] = {tool.__name__: tool for tool in billing_tools(path)}
    first = tools["refund"](INVOICE, 4900, "EUR", "one key")
    assert tools["refund"](INVOICE, 4900, "EUR", "one key") == first
    assert refunds(world) == [4900]
    tools["refund"](INVOICE, 4900, "EUR", "another key")
    assert refunds(world) == [4900, 4900]


def test_a_refund_that_times_out_after_it_succeeded_is_found_and_not_made_again(
    desk: Desk, store: Store, world: World
) -> None:
    desk.start()
    world.be_slow("answer")
    run = desk.decide(APPROVE)
    assert run.outcome is not None
    assert (run.status, refunds(world)) == ("completed", [4900])
    assert observed(store, 5)["status"] == "ok"
    assert world.find_refund(run.outcome.changes[0].idempotency_key)["refund_id"] in str(run.outcome.answer)
    world.be_slow(None)
    assert "RF-" in wait_for(lambda: store.ledger.of_run("r")[0].late_result)
    assert refunds(world) == [4900]


def test_a_timeout_without_proof_is_a_question_and_not_an_absence(
    desk: Desk, store: Store, world: World
) -> None:
    desk.start()
    world.be_slow("commit")
    run = desk.decide(APPROVE)
    (asked,) = run.pending
    assert (asked["kind"], asked["tool"], refunds(world)) == ("in_doubt", "refund", [])
    world.be_slow(None)
    assert "RF-" in wait_for(lambda: store.ledger.of_run("r")[0].late_result)
    (effect,) = store.ledger.of_run("r")
    assert (effect.state, effect.result, refunds(world)) == ("unknown", None, [4900])


def in_doubt(desk: Desk, world: World) -> None:
    """A run that asks about a refund whose money moved after the loop had looked for it."""
    desk.start()
    world.be_slow("commit")
    assert desk.decide(APPROVE).pending[0]["kind"] == "in_doubt"
    world.be_slow(None)
    wait_for(lambda: refunds(world))


def test_a_person_who_is_wrong_about_a_late_refund_does_not_cause_a_second_one(
    desk: Desk, world: World
) -> None:
    in_doubt(desk, world)
    run = desk.decide(HumanDecision(type="approve", by="billing lead", reason="it did not happen"))
    assert (run.status, refunds(world)) == ("completed", [4900])


def test_a_person_who_found_the_refund_is_believed_and_the_payments_are_looked_up(
    desk: Desk, store: Store, world: World
) -> None:
    in_doubt(desk, world)
    run = desk.decide(HumanDecision(type="respond", message="the provider shows it", by="billing lead"))
    assert run.outcome is not None
    assert (run.status, refunds(world)) == ("completed", [4900])
    assert store.traces.steps("r")[5]["ticket"]["tool"] == "get_payments"
    assert "49.00 EUR went back" in str(run.outcome.answer)
    assert [change.status for change in run.outcome.changes] == ["done"]


def test_a_run_that_is_stopped_in_doubt_says_that_nobody_knows(desk: Desk, world: World) -> None:
    in_doubt(desk, world)
    run = desk.decide(HumanDecision(type="reject", by="billing lead"))
    assert run.outcome is not None
    assert (run.status, run.outcome.reason, refunds(world)) == ("stopped", "unknown_effect", [4900])
    assert [change.status for change in run.outcome.changes] == ["unknown"]
    assert any(one.what == "refund" and "unknown" in one.why for one in run.outcome.unfinished)


def test_who_is_not_eligible_gets_no_refund_and_the_run_says_why(desk: Desk, world: World) -> None:
    run = desk.start(NOT_ELIGIBLE)
    assert run.outcome is not None
    assert (run.status, run.outcome.reason) == ("failed", "cannot_complete")
    assert "INV-3290 is paid and not eligible" in run.outcome.message
    assert (run.outcome.changes, refunds(world, "INV-3290")) == ([], [])


def test_a_hasty_refund_shows_the_person_that_none_is_due(desk: Desk, world: World) -> None:
    hasty = call("refund", invoice_id="INV-3290", amount_cents=12900, currency="EUR")
    run = desk.start(NOT_ELIGIBLE, [hasty, cannot_complete("a person rejected the refund")])
    assert '"eligible":false' in str(run.pending[0]["preview"])
    run = desk.decide(HumanDecision(type="reject", by="billing lead"))
    assert (run.status, refunds(world, "INV-3290")) == ("failed", [])


@pytest.mark.parametrize(
    ("goal", "said"),
    [
        ("Customer C-231 wants invoice INV-3318 refunded.", "not an invoice of C-231"),
        ("Refund invoice INV-9999 of customer C-204.", "INV-9999 or its customer could not be looked up"),
        ("Refund invoice INV-3318 of customer C-999.", "INV-3318 or its customer could not be looked up"),
    ],
)
def test_an_invoice_that_is_not_the_customers_is_not_refunded(
    desk: Desk, world: World, goal: str, said: str
) -> None:
    run = desk.start(goal)
    assert run.outcome is not None
    assert run.outcome.reason == "cannot_complete"
    assert said in run.outcome.message
    assert refunds(world) == []


@pytest.mark.parametrize(
    ("decision", "said"),
    [
        (HumanDecision(type="reject", by="billing lead", reason="ask the customer"), "a person rejected it"),
        (HumanDecision(type="respond", by="billing lead", message="wait a day"), "a person answered instead"),
    ],
)
def test_without_an_approval_the_run_says_that_nothing_was_refunded(
    desk: Desk, world: World, decision: HumanDecision, said: str
) -> None:
    desk.start()
    run = desk.decide(decision)
    assert run.outcome is not None
    assert (run.status, run.outcome.changes, refunds(world)) == ("failed", [], [])
    assert f"{INVOICE} was not refunded: {said}" in run.outcome.message


def test_a_rejected_refund_that_is_proposed_again_is_denied_and_asks_nobody(
    desk: Desk, store: Store, world: World
) -> None:
    desk.start(script=SCRIPTS["insists"])
    run = desk.decide(HumanDecision(type="reject", by="billing lead", reason="not due"))
    assert run.outcome is not None
    assert (run.status, run.pending, refunds(world)) == ("failed", [], [])
    again = store.traces.steps("r")[5]["verdict"]
    assert (again["kind"], again["rule"]) == ("deny", "already_rejected")
    assert any(one.what.startswith("refund(") for one in run.outcome.unfinished)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"amount_cents": MAX_REFUND_CENTS + 1}, f"at most {MAX_REFUND_CENTS}"),
        ({"amount_cents": 0}, "at least 1"),
        ({"currency": "GBP"}, "allowed: 'EUR', 'USD'"),
        ({"invoice_id": "INV-3318; INV-3325"}, "does not match"),
    ],
)
def test_a_refund_outside_its_scope_is_denied_before_anybody_is_asked(
    desk: Desk, store: Store, world: World, changed: dict[str, Any], said: str
) -> None:
    arguments: dict[str, Any] = {
        "invoice_id": INVOICE, "amount_cents": 4900, "currency": "EUR", **changed,
    }  # fmt: skip
    run = desk.start(script=[call("refund", **arguments), cannot_complete("it was denied")])
    verdict = store.traces.steps("r")[0]["verdict"]
    assert (run.status, verdict["kind"], verdict["rule"]) == ("failed", "deny", "scope")
    assert said in verdict["reason"]
    assert refunds(world) == []


def test_an_edit_to_a_smaller_amount_refunds_just_that(desk: Desk, store: Store, world: World) -> None:
    desk.start()
    arguments: dict[str, Any] = {"invoice_id": INVOICE, "amount_cents": 1200, "currency": "EUR"}
    run = desk.decide(HumanDecision(type="edit", arguments=arguments, by="billing lead"))
    assert run.outcome is not None
    assert (run.status, refunds(world)) == ("completed", [1200])
    assert "12.00 EUR went back" in str(run.outcome.answer)


def test_an_edit_beyond_the_cap_refunds_nothing(desk: Desk, store: Store, world: World) -> None:
    desk.start()
    arguments: dict[str, Any] = {
        "invoice_id": INVOICE,
        "amount_cents": MAX_REFUND_CENTS + 1,
        "currency": "EUR",
    }
    run = desk.decide(HumanDecision(type="edit", arguments=arguments, by="billing lead"))
    assert (run.status, refunds(world)) == ("failed", [])
    assert store.traces.steps("r")[4]["verdict"]["rule"] == "scope"


LOOKUPS: dict[str, ScriptItem] = {
    "customer_id": call("find_customer", query="C-204"),
    "invoice_id": call("get_invoice", invoice_id=INVOICE),
    "payment_status": call("get_payments", invoice_id=INVOICE),
    "refund_eligible": call("refund_eligibility", invoice_id=INVOICE),
}


@pytest.mark.parametrize("left_out", LOOKUPS)
def test_an_answer_is_refused_until_every_lookup_was_made(desk: Desk, store: Store, left_out: str) -> None:
    before = [item for key, item in LOOKUPS.items() if key != left_out]
    run = desk.start(script=[*before, answer("all is well"), LOOKUPS[left_out], answer("all is well")])
    assert (run.status, run.steps) == ("completed", 6)
    assert f"not yet observed by a tool: {left_out}" in observed(store, 4)["summary"]


def test_a_question_is_answered_from_the_world_without_a_refund(desk: Desk, world: World) -> None:
    run = desk.start("May invoice INV-3290 of customer C-219 be refunded?")
    assert run.outcome is not None
    assert run.outcome.answer == "INV-3290 of North Quay Bakery is paid: no refund is due."
    assert refunds(world, "INV-3290") == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((INVOICE, 9801, "EUR", "key"), Conflict),
        ((INVOICE, 4900, "USD", "key"), Conflict),
        (("INV-3325", 1, "USD", "key"), Conflict),
        (("INV-9999", 1, "EUR", "key"), NotFound),
        (("INV-3290", 100, "EUR", "used"), Conflict),
    ],
)
def test_the_provider_pays_no_more_back_than_it_was_paid(
    world: World, arguments: tuple[str, int, str, str], error: type[Exception]
) -> None:
    world.refund(INVOICE, 100, "EUR", "used")
    with pytest.raises(error):
        world.refund(*arguments)
    assert refunds(world) == [100]
    assert refunds(world, "INV-3290") == []


@pytest.mark.parametrize(("slow", "kept"), [("commit", []), ("answer", [4900])])
def test_a_world_that_is_written_slow_hangs_before_or_after_the_money_moves(
    desk: Desk, store: Store, path: Path, world: World, slow: Slow, kept: list[int]
) -> None:
    make_world(path, slow=slow)
    desk.start()
    desk.decide(APPROVE)
    assert refunds(world) == kept
    world.be_slow(None)
    assert "RF-" in wait_for(lambda: store.ledger.of_run("r")[0].late_result)
    assert refunds(world) == [4900]
