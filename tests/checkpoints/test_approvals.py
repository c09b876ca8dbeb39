"""Approvals: one question, one decision, whoever is first."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.checkpoints import open_store
from interlock.policies.errors import AlreadyDecided, UnknownApproval
from interlock.policies.questions import HumanDecision

from .helpers import AT, LATER, at_once, question, workers  # noqa: TID251 (not the folder at the root)

APPROVE = HumanDecision(type="approve", by="alice", reason="looks right")
REJECT = HumanDecision(type="reject", by="bob", message="not on a Friday")


def test_opening_a_question_again_keeps_the_first_one_and_its_decision(store_path: Path) -> None:
    with open_store(store_path) as store:
        assert store.approvals.open(question()).status == "pending"
        store.approvals.decide("q1", APPROVE, AT)
        known = store.approvals.open(question(text="asked again"))
        assert (known.question, known.status, known.decision) == (question(), "decided", APPROVE)


def test_the_second_decision_is_refused_with_who_and_when(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.approvals.open(question())
        decided = store.approvals.decide("q1", APPROVE, AT)
        assert (decided.status, decided.decision, decided.decided_at) == ("decided", APPROVE, AT)
        with pytest.raises(AlreadyDecided, match=rf"approve by alice at {AT.replace('+', '[+]')}"):
            store.approvals.decide("q1", REJECT, LATER)
        assert store.approvals.get("q1") == decided


def test_a_decision_for_no_question_is_refused_by_name(store_path: Path) -> None:
    with open_store(store_path) as store:
        with pytest.raises(UnknownApproval, match="q9"):
            store.approvals.decide("q9", APPROVE, AT)
        with pytest.raises(UnknownApproval, match="q9"):
            store.approvals.close("q9", "expired", AT)
        assert store.approvals.get("q9") is None


@pytest.mark.parametrize("expires_at", [AT, LATER])
def test_a_decision_at_or_after_the_expiry_is_refused_and_the_question_expires(
    store_path: Path, expires_at: str
) -> None:
    with open_store(store_path) as store:
        store.approvals.open(question(expires_at=expires_at))
        with pytest.raises(AlreadyDecided, match="expired at"):
            store.approvals.decide("q1", APPROVE, LATER)
        known = store.approvals.get("q1")
        assert known is not None
        assert (known.status, known.decision) == ("expired", None)


def test_a_decision_before_the_expiry_counts(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.approvals.open(question(expires_at=LATER))
        assert store.approvals.decide("q1", APPROVE, AT).status == "decided"


def test_closing_a_decided_question_changes_nothing_and_tells(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.approvals.open(question())
        store.approvals.decide("q1", REJECT, AT)
        assert store.approvals.close("q1", "expired", LATER).decision == REJECT


def test_an_abandoned_question_takes_no_decision(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.approvals.open(question())
        assert store.approvals.close("q1", "abandoned", AT).status == "abandoned"
        with pytest.raises(AlreadyDecided, match="abandoned"):
            store.approvals.decide("q1", APPROVE, AT)


def test_a_question_is_closed_as_expired_or_abandoned_only(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.approvals.open(question())
        with pytest.raises(ValueError, match="decided"):
            store.approvals.close("q1", "decided", AT)


def test_a_rejection_is_found_for_its_own_run_and_action_only(store_path: Path) -> None:
    with open_store(store_path) as store:
        store.approvals.open(question("q1"))
        store.approvals.open(question("q2", digest="d2"))
        store.approvals.decide("q1", REJECT, AT)
        store.approvals.decide("q2", APPROVE, AT)
        found = store.approvals.rejected("r1", "d1")
        assert found is not None
        assert found.decision == REJECT
        assert store.approvals.rejected("r2", "d1") is None
        assert store.approvals.rejected("r1", "d2") is None


def test_open_questions_are_listed_by_run_or_all_together(store_path: Path) -> None:
    with open_store(store_path) as store:
        for approval_id, run_id in (("b", "r1"), ("a", "r1"), ("c", "r2")):
            store.approvals.open(question(approval_id, run_id))
        store.approvals.decide("b", APPROVE, AT)
        ids = [known.question.approval_id for known in store.approvals.pending()]
        assert ids == ["a", "c"]
        assert [known.question.approval_id for known in store.approvals.pending("r2")] == ["c"]
        assert [known.question.approval_id for known in store.approvals.of_run("r1")] == ["b", "a"]


DECIDE = """
import sys
from interlock.checkpoints import open_store
from interlock.policies.errors import AlreadyDecided
from interlock.policies.questions import HumanDecision
store = open_store(sys.argv[1])
print("ready", flush=True)
for line in sys.stdin:
    try:
        store.approvals.decide(line.strip(), HumanDecision(type="approve"), "2026-01-01T12:00:00+00:00")
        print("decided", flush=True)
    except AlreadyDecided:
        print("late", flush=True)
"""


def test_of_processes_that_decide_at_once_exactly_one_wins(store_path: Path) -> None:
    with open_store(store_path) as store:
        for number in range(40):
            store.approvals.open(question(f"q{number}"))
        with workers(3, DECIDE, str(store_path)) as started:
            for number in range(40):
                assert sorted(at_once(started, f"q{number}")) == ["decided", "late", "late"]
