"""Effects in doubt: what the world says, what a person says, and what is never run twice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import pytest
from langchain_core.tools import InjectedToolArg

from interlock import HumanDecision, Store, contract, create_loop, open_store, resume, start
from interlock.testing import EffectCounter, ScriptedModel, answer, call


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def effects(tmp_path: Path) -> EffectCounter:
    return EffectCounter(tmp_path / "effects.log")


def slow_payment(effects: EffectCounter, **fields: Any) -> Any:
    @contract(**{"effect": "write", "timeout_s": 0.1, **fields})
    def pay(invoice: str, idempotency_key: Annotated[str, InjectedToolArg]) -> str:
        """Pay an invoice, and answer too late."""
        if idempotency_key not in effects.keys("pay"):
            effects.hit("pay", idempotency_key)
        time.sleep(0.4)
        return f"paid {invoice}"

    return pay


def find_payment(effects: EffectCounter) -> Any:
    @contract(effect="read")
    def find_payment(idempotency_key: str) -> dict[str, str] | None:
        """Look a payment up by its key."""
        return {"payment": "P1"} if idempotency_key in effects.keys("pay") else None

    return find_payment


def scripted() -> ScriptedModel:
    return ScriptedModel([call("pay", invoice="I1"), answer("paid")])


def test_a_payment_that_timed_out_asks_a_person_and_is_not_made_twice(
    store: Store, effects: EffectCounter
) -> None:
    loop = create_loop(scripted(), [slow_payment(effects)], store=store)
    waiting = start(loop, "pay I1", run_id="r")
    assert waiting.pending[0]["kind"] == "in_doubt"
    ended = resume(loop, "r", HumanDecision(type="respond", message="the bank shows it"))
    assert ended.status == "completed"
    assert effects.count("pay") == 1
    assert ended.outcome is not None
    assert ended.outcome.changes[0].result == "the bank shows it"


def test_its_late_completion_is_recorded(store: Store, effects: EffectCounter) -> None:
    loop = create_loop(scripted(), [slow_payment(effects)], store=store)
    start(loop, "pay I1", run_id="r")
    deadline = time.monotonic() + 5
    while not store.ledger.of_run("r")[0].late_result and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "paid I1" in (store.ledger.of_run("r")[0].late_result or "")


def test_the_world_is_asked_where_the_contract_says_how(store: Store, effects: EffectCounter) -> None:
    tools = [slow_payment(effects, reconcile="find_payment"), find_payment(effects)]
    ended = start(create_loop(scripted(), tools, store=store), "pay I1", run_id="r")
    assert ended.status == "completed"
    assert effects.count("pay") == 1
    assert store.traces.steps("r")[0]["observation"]["status"] == "ok"


def test_a_stop_leaves_the_effect_open_and_the_run_unfinished(store: Store, effects: EffectCounter) -> None:
    loop = create_loop(scripted(), [slow_payment(effects)], store=store)
    start(loop, "pay I1", run_id="r")
    ended = resume(loop, "r", HumanDecision(type="reject"))
    assert ended.outcome is not None
    assert (ended.status, ended.outcome.reason) == ("stopped", "unknown_effect")
    assert ended.outcome.changes[0].status == "unknown"
    assert any(item.what == "pay" for item in ended.outcome.unfinished)


def test_an_idempotent_payment_is_tried_again_under_the_same_key(
    store: Store, effects: EffectCounter
) -> None:
    loop = create_loop(scripted(), [slow_payment(effects, idempotent=True)], store=store)
    start(loop, "pay I1", run_id="r")
    assert effects.count("pay") == 1


def test_a_question_shows_its_dry_run_and_the_dry_run_is_made_once(
    store: Store, effects: EffectCounter
) -> None:
    @contract(effect="read", untrusted=False)
    def preview(ids: list[int]) -> dict[str, int]:
        """What would be deleted."""
        effects.hit("preview")
        return {"would_delete": len(ids)}

    @contract(effect="high_risk", dry_run="preview")
    def delete(ids: list[int]) -> str:
        """Delete records."""
        effects.hit("delete")
        return "deleted"

    model = ScriptedModel([call("delete", ids=[1, 2, 3]), answer("done")])
    loop = create_loop(model, [preview, delete], store=store)
    waiting = start(loop, "delete", run_id="r")
    assert waiting.pending[0]["preview"] == '{"would_delete":3}'
    resume(loop, "r", HumanDecision(type="approve"))
    assert (effects.count("preview"), effects.count("delete")) == (1, 1)
