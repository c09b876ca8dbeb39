"""Two processes at one run: one wins, the other is refused by name, and there is one effect at most."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
from _races import COUNTED, RACES, Race, race

from interlock import HumanDecision
from interlock.checkpoints.approvals import ApprovalTable
from interlock.checkpoints.ledger import EffectLedger
from interlock.checkpoints.runs import RunTable
from interlock.policies.errors import AlreadyDecided
from interlock.policies.questions import Approval

from .scripts import figures_of, run


def name_of(one: Race) -> str:
    return one.name


@pytest.mark.slow
def test_of_two_processes_at_one_run_one_wins() -> None:
    status, figures = figures_of("race.py", "--races", "40")
    assert figures == {"races": 40, **dict.fromkeys(COUNTED, 0)}
    assert status == 0


@pytest.mark.parametrize("one", RACES, ids=name_of)
def test_who_comes_second_is_refused_by_name(tmp_path: Path, one: Race) -> None:
    raced = race(one, tmp_path / "race")
    assert raced.faults == []
    if not one.plain:
        (refused,) = {note["refused"] for note in raced.notes} - {None}
        assert refused in {"RunBusy", "RunFinished", "AlreadyDecided", "NothingToDecide"}


def test_without_a_ledger_a_race_is_counted_as_a_double_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EffectLedger, "begin", lambda *_: None)
    monkeypatch.setattr(EffectLedger, "finish", lambda *_: None)
    one = Race("approve, approve without lease", ("approve", "approve"), plain=True)
    assert any("double_effects" in faults(one, tmp_path / f"race{number}") for number in range(10))


def test_without_lease_and_comparison_a_race_is_counted_as_two_winners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decide = ApprovalTable.decide

    def careless(table: ApprovalTable, approval_id: str, decision: HumanDecision, at: str) -> Approval:
        try:
            return decide(table, approval_id, decision, at)
        except AlreadyDecided:
            return known(table, approval_id).model_copy(update={"decision": decision})

    monkeypatch.setattr(RunTable, "lease", lambda *_: nullcontext())
    monkeypatch.setattr(ApprovalTable, "decide", careless)
    one = Race("approve, reject", ("approve", "reject"))
    assert any("two_winners" in faults(one, tmp_path / f"race{number}") for number in range(10))


def known(table: ApprovalTable, approval_id: str) -> Approval:
    found = table.get(approval_id)
    assert found is not None
    return found


def faults(one: Race, folder: Path) -> set[str]:
    return {name for name, _ in race(one, folder).faults}


@pytest.mark.parametrize("script", ["crash.py", "race.py"])
def test_a_number_that_makes_no_sense_is_refused_in_one_line(script: str) -> None:
    ended = run(script, f"--{'kills' if script == 'crash.py' else 'races'}", "0")
    assert ended.returncode == 2
    assert "numbers from 1" in ended.stderr.splitlines()[-1]
