"""The ready-made loops on the command line: run, decide, and what their worlds hold afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.cli.building import LOOPS, world_of
from interlock.graphs.billing.world import World as Billing
from interlock.graphs.cleanup.world import World as Cleanup
from interlock.graphs.coding.suite import run_suite
from interlock.graphs.notify.world import World as Notify
from interlock.graphs.operations.world import World as Operations
from tests.cli.conftest import Invoke, document


def refunds(folder: Path) -> int:
    rows = Billing(folder / "billing.db").payments("INV-3318")
    return sum(row["kind"] == "refund" for row in rows)


def test_a_refund_waits_and_the_decision_of_a_second_command_makes_it_once(
    call: Invoke, folder: Path
) -> None:
    asked = call("run", "billing", "--run-id", "r1")
    assert (asked.exit_code, refunds(folder)) == (3, 0)
    assert 'refund(amount_cents=4900, currency="EUR", invoice_id="INV-3318")' in asked.stdout
    assert "4900 cents were paid beyond the invoice" in asked.stdout
    ended = call("resume", "r1", "--approve", "--by", "billing lead", "--json")
    printed = document(ended)
    assert (ended.exit_code, printed["status"], refunds(folder)) == (0, "completed", 1)
    assert printed["changes"][0]["approved_by"] == "billing lead"


def test_a_batch_waits_with_its_ids_and_an_edit_deletes_just_those_that_are_left(
    call: Invoke, folder: Path
) -> None:
    asked = document(call("run", "cleanup", "Clean up all stale records.", "--run-id", "r1", "--json"))
    (question,) = asked["pending"]
    assert (len(question["arguments"]["ids"]), Cleanup(folder / "cleanup.db").count()) == (20, 1000)
    first, second, *_ = question["arguments"]["ids"]
    ended = call("resume", "r1", "--edit", f'{{"ids": ["{first}", "{second}"]}}')
    assert (ended.exit_code, Cleanup(folder / "cleanup.db").count()) == (0, 998)
    assert "298 stale records are left" in ended.stdout
    assert "at most 20 are allowed" in ended.stdout


def test_an_overdue_ticket_is_told_once_by_each_command_and_nothing_overdue_to_nobody(
    call: Invoke, folder: Path
) -> None:
    ended = call("run", "notify", "--run-id", "r1")
    assert (ended.exit_code, len(Notify(folder / "notify.db").notifications())) == (0, 1)
    assert "E-07, who is on call, was notified once: N-1." in ended.stdout
    calm = call(
        "run", "notify", "Check normal-priority tickets; notify the on-call engineer if any are overdue."
    )
    assert (calm.exit_code, len(Notify(folder / "notify.db").notifications())) == (0, 0)
    assert "nobody was notified" in calm.stdout


def test_a_repository_is_left_with_tests_that_pass_after_a_claim_was_rejected(
    call: Invoke, folder: Path
) -> None:
    ended = call("run", "coding")
    assert (ended.exit_code, run_suite(folder / "coding")[0]) == (0, 0)
    assert "exit status 1, expected 0" in ended.stdout


def test_a_degraded_service_is_healthy_when_the_command_ends(call: Invoke, folder: Path) -> None:
    ended = call("run", "operations", "--json")
    world = Operations(folder / "operations.db")
    assert (ended.exit_code, world.ask("payments", "health")["status"]) == (0, "healthy")
    assert (world.restarts(), document(ended)["checks"][0]["passed"]) == (["payments"], True)
    world.stop()


@pytest.mark.parametrize("name", LOOPS)
def test_every_ready_made_loop_runs_with_its_own_goal_and_is_named_in_the_help(
    call: Invoke, folder: Path, name: str
) -> None:
    assert LOOPS[name].goal in call("run", name).stdout
    assert world_of("runs.db", name).parent == folder
    assert world_of("runs.db", name).exists()
    assert name in call("run", "--help").stdout.partition("LOOP is a ready-made loop")[2].partition(")")[0]


def test_the_world_of_one_loop_stays_while_a_run_of_another_waits(call: Invoke, folder: Path) -> None:
    call("run", "billing", "--run-id", "r1")
    call("run", "cleanup", "--run-id", "r2")
    call("resume", "r1", "--approve")
    call("run", "cleanup")
    assert refunds(folder) == 1
