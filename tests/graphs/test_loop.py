"""The loop from goal to outcome: every proposal kind, every verdict, both flavours."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool

from interlock import (
    Action,
    Budget,
    Deny,
    HumanDecision,
    NeedsApproval,
    Policy,
    Run,
    Store,
    astart,
    contract,
    create_loop,
    open_store,
    resume,
    start,
)
from interlock.nodes import judging
from interlock.policies.errors import (
    BadDecision,
    BadLoop,
    NothingToDecide,
    RunExists,
    RunFinished,
    UnknownRun,
)
from interlock.testing import (
    EffectCounter,
    ScriptedModel,
    answer,
    ask,
    call,
    cannot_complete,
    delegate,
    request_approval,
)


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "runs.db") as opened:
        yield opened


@pytest.fixture
def effects(tmp_path: Path) -> EffectCounter:
    return EffectCounter(tmp_path / "effects.log")


def tools_of(effects: EffectCounter) -> list[Any]:
    @contract(effect="read", untrusted=False, provides={"owner": "owner"})
    @tool
    def lookup(service: str) -> dict[str, str]:
        """Look a service up."""
        effects.hit("lookup")
        return {"service": service, "owner": "payments"}

    @contract(effect="write", untrusted=False)
    @tool
    def label(service: str, text: str) -> str:
        """Put a label on a service."""
        effects.hit("label", service)
        return f"labelled {service}"

    @contract(effect="high_risk", untrusted=False)
    @tool
    def restart(service: str) -> str:
        """Restart a service."""
        effects.hit("restart", service)
        return f"restarted {service}"

    return [lookup, label, restart]


def run(
    store: Store, effects: EffectCounter, steps: list[Any], **options: Any
) -> tuple[Run, ScriptedModel, Any]:
    model = ScriptedModel(steps)
    loop = create_loop(model, tools_of(effects), store=store, **options)
    return start(loop, "Who owns checkout?", run_id="r1"), model, loop


def test_a_lookup_and_an_answer_complete_with_evidence(store: Store, effects: EffectCounter) -> None:
    ended, model, _ = run(
        store, effects, [call("lookup", service="checkout"), answer("payments", cites=["owner"])]
    )
    assert ended.status == "completed"
    assert ended.outcome is not None
    assert ended.outcome.reason == "goal_verified"
    assert ended.outcome.answer == "payments"
    assert [fact.key for fact in ended.outcome.evidence] == ["owner"]
    assert ended.outcome.steps == 2
    assert ended.outcome.changes == []
    model.check()


async def test_the_async_graph_takes_the_same_steps(store: Store, effects: EffectCounter) -> None:
    model = ScriptedModel([call("lookup", service="checkout"), answer("payments")])
    loop = create_loop(model, tools_of(effects), store=store)
    ended = await astart(loop, "Who owns checkout?", run_id="r1")
    assert ended.status == "completed"
    assert effects.count("lookup") == 1


def test_every_step_is_recorded_with_decision_verdict_and_observation(
    store: Store, effects: EffectCounter
) -> None:
    run(store, effects, [call("lookup", thought="look first", service="checkout"), answer("payments")])
    first, last = store.traces.steps("r1")
    assert first["decision"]["thought"] == "look first"
    assert first["verdict"]["rule"] == "read"
    assert first["observation"]["status"] == "ok"
    assert set(first["phases"]) == {"think", "authorize", "execute", "normalize"}
    assert last["decision"]["proposal"]["kind"] == "final_answer"


def test_an_allowed_write_is_a_change_in_the_outcome(store: Store, effects: EffectCounter) -> None:
    ended, _, _ = run(store, effects, [call("label", service="checkout", text="hot"), answer("done")])
    assert ended.outcome is not None
    (change,) = ended.outcome.changes
    assert (change.tool, change.status, change.step) == ("label", "done", 1)
    assert effects.count("label") == 1


def test_a_high_risk_call_waits_and_runs_only_after_approval(store: Store, effects: EffectCounter) -> None:
    waiting, _, loop = run(store, effects, [call("restart", service="checkout"), answer("restarted")])
    assert waiting.status == "waiting"
    assert effects.count() == 0
    (pending,) = waiting.pending
    assert pending["action_requests"] == [
        {"name": "restart", "args": {"service": "checkout"}, "description": pending["text"]}
    ]
    ended = resume(loop, "r1", HumanDecision(type="approve", by="ops"))
    assert ended.status == "completed"
    assert effects.count("restart") == 1
    assert ended.outcome is not None
    assert ended.outcome.changes[0].approved_by == "ops"


def test_a_rejection_never_runs_and_the_model_is_told_that_it_is_final(
    store: Store, effects: EffectCounter
) -> None:
    _, model, loop = run(store, effects, [call("restart", service="checkout"), answer("not restarted")])
    ended = resume(loop, "r1", HumanDecision(type="reject", message="peak hours", by="ops"))
    assert effects.count() == 0
    told = str(model.prompts[-1])
    assert "peak hours" in told
    assert "permission_denied" in told
    assert ended.outcome is not None
    assert any("restart" in item.what and "peak hours" in item.why for item in ended.outcome.unfinished)


def test_the_same_proposal_after_a_rejection_is_denied_without_asking(
    store: Store, effects: EffectCounter
) -> None:
    again = [
        call("restart", service="checkout"),
        call("restart", service="checkout"),
        cannot_complete("rejected"),
    ]
    _, _, loop = run(store, effects, again)
    ended = resume(loop, "r1", HumanDecision(type="reject"))
    assert ended.status == "failed"
    assert effects.count() == 0
    assert store.traces.steps("r1")[1]["verdict"]["rule"] == "already_rejected"


def test_an_edit_runs_what_the_person_wrote(store: Store, effects: EffectCounter) -> None:
    _, _, loop = run(store, effects, [call("restart", service="checkout"), answer("ok")])
    resume(loop, "r1", HumanDecision(type="edit", arguments={"service": "cart"}))
    assert effects.keys("restart") == ["cart"]


@pytest.mark.parametrize(
    "arguments", [{"service": 3}, {}, {"service": "cart", "force": True}], ids=["type", "missing", "unknown"]
)
def test_a_bad_edit_is_refused_and_nothing_is_lost(
    store: Store, effects: EffectCounter, arguments: dict[str, Any]
) -> None:
    _, _, loop = run(store, effects, [call("restart", service="checkout"), answer("ok")])
    with pytest.raises(BadDecision, match="nothing was recorded"):
        resume(loop, "r1", HumanDecision(type="edit", arguments=arguments))
    assert resume(loop, "r1").status == "waiting"
    assert resume(loop, "r1", HumanDecision(type="approve")).status == "completed"
    assert effects.keys("restart") == ["checkout"]


def test_a_response_stands_for_the_result_without_running_the_tool(
    store: Store, effects: EffectCounter
) -> None:
    _, model, loop = run(store, effects, [call("restart", service="checkout"), answer("ok")])
    resume(loop, "r1", HumanDecision(type="respond", message="I restarted it by hand"))
    assert effects.count() == 0
    assert "I restarted it by hand" in str(model.prompts[-1])


def test_a_question_waits_for_a_person_and_the_answer_reaches_the_model(
    store: Store, effects: EffectCounter
) -> None:
    waiting, model, loop = run(store, effects, [ask("Which region?"), answer("eu")])
    assert waiting.pending[0]["kind"] == "ask"
    with pytest.raises(BadDecision, match="approve does not answer"):
        resume(loop, "r1", HumanDecision(type="approve"))
    assert resume(loop, "r1", HumanDecision(type="respond", message="eu-central")).status == "completed"
    assert "eu-central" in str(model.prompts[-1])


def test_the_model_can_ask_for_approval_of_a_write_that_needs_none(
    store: Store, effects: EffectCounter
) -> None:
    steps = [request_approval("label", "not sure", service="checkout", text="hot"), answer("ok")]
    waiting, _, loop = run(store, effects, steps)
    assert waiting.pending[0]["rule"] == "requested"
    resume(loop, "r1", HumanDecision(type="approve"))
    assert effects.count("label") == 1


def test_an_unknown_delegate_is_denied_by_name(store: Store, effects: EffectCounter) -> None:
    run(store, effects, [delegate("researcher", "look"), answer("ok")])
    assert store.traces.steps("r1")[0]["verdict"]["rule"] == "unknown_delegate"


def test_a_goal_that_cannot_be_completed_is_a_failed_outcome(store: Store, effects: EffectCounter) -> None:
    ended, _, _ = run(store, effects, [cannot_complete("no access", missing=["token"])])
    assert (ended.status, ended.outcome and ended.outcome.reason) == ("failed", "cannot_complete")


def test_a_missing_fact_sends_the_claim_back(store: Store, effects: EffectCounter) -> None:
    steps = [answer("payments"), call("lookup", service="checkout"), answer("payments")]
    ended, model, _ = run(store, effects, steps, require=["owner"])
    assert ended.status == "completed"
    assert "not yet observed by a tool: owner" in str(model.prompts[1])


def test_rejected_answers_are_bounded(store: Store, effects: EffectCounter) -> None:
    ended, _, _ = run(store, effects, [answer("x")] * 3, require=["owner"], budget=Budget(max_rejected=3))
    assert ended.outcome is not None
    assert ended.outcome.reason == "answers_rejected"
    assert ended.outcome.answer is None


def test_no_tool_runs_on_the_last_step(store: Store, effects: EffectCounter) -> None:
    steps = [call("label", service=str(n), text="x") for n in range(9)]
    ended, model, _ = run(store, effects, steps, budget=Budget(max_steps=3))
    assert ended.outcome is not None
    assert ended.outcome.reason == "step_limit"
    assert effects.keys("label") == ["0", "1"]
    assert len(model.prompts) == 3
    assert any("service='2'" in item.what for item in ended.outcome.unfinished)


def test_nobody_is_asked_about_an_action_on_the_last_step(store: Store, effects: EffectCounter) -> None:
    ended, _, _ = run(store, effects, [call("restart", service="a")], budget=Budget(max_steps=1))
    assert ended.status == "stopped"
    assert store.approvals.pending("r1") == []


@pytest.mark.parametrize(
    ("proposal", "told"),
    [
        (call("rm_rf", path="/"), "there is no tool 'rm_rf'; the tools are: lookup, label, restart"),
        (call("label", service="a"), "text"),
        (call("label", service="a", text="b", dry_run=True), "dry_run"),
        (call("label", service=1, text="b"), "service"),
    ],
    ids=["unknown tool", "missing argument", "unknown argument", "wrong type"],
)
def test_an_invalid_call_runs_nothing_and_tells_the_model_why(
    store: Store, effects: EffectCounter, proposal: Any, told: str
) -> None:
    ended, model, _ = run(store, effects, [proposal, answer("ok")])
    assert ended.status == "completed"
    assert effects.count() == 0
    assert told in str(model.prompts[-1])


def test_invalid_decisions_are_bounded(store: Store, effects: EffectCounter) -> None:
    ended, _, _ = run(store, effects, [call("nope")] * 3, budget=Budget(max_invalid=3))
    assert ended.outcome is not None
    assert ended.outcome.reason == "invalid_decisions"


def test_the_same_call_with_the_same_result_ends_as_a_repeated_action(
    store: Store, effects: EffectCounter
) -> None:
    ended, model, _ = run(store, effects, [call("lookup", service="a")] * 11)
    assert ended.outcome is not None
    assert ended.outcome.reason == "repeated_action"
    assert effects.count("lookup") == 3
    assert "repeating it changes nothing" in str(model.prompts[-1])


def test_a_rule_that_fails_denies_with_policy_error(store: Store, effects: EffectCounter) -> None:
    def broken(action: Action) -> Any:
        raise RuntimeError("boom")

    run(store, effects, [call("lookup", service="a"), answer("x")], policy=Policy(rules=[broken]))
    assert store.traces.steps("r1")[0]["verdict"]["rule"] == "policy_error"
    assert effects.count() == 0


def test_an_own_rule_can_only_make_the_verdict_stricter(store: Store, effects: EffectCounter) -> None:
    def no_labels(action: Action) -> Any:
        return Deny(rule="freeze", reason="change freeze") if action.tool == "label" else None

    steps = [call("label", service="a", text="b"), answer("denied")]
    _, model, _ = run(store, effects, steps, policy=Policy(rules=[no_labels]))
    assert effects.count() == 0
    assert "freeze" in str(model.prompts[-1])


def test_a_model_that_fails_ends_the_run_with_model_error(store: Store, effects: EffectCounter) -> None:
    ended, _, _ = run(store, effects, [ValueError("bad key")])
    assert ended.outcome is not None
    assert (ended.status, ended.outcome.reason) == ("failed", "model_error")
    assert "ValueError: bad key" in ended.outcome.message


def test_an_error_inside_a_tool_is_an_observation(store: Store) -> None:
    @contract(effect="read")
    @tool
    def broken(key: str) -> str:
        """Fail."""
        empty: dict[str, str] = {}
        return empty[key]

    model = ScriptedModel([call("broken", key="x"), answer("failed")])
    start(create_loop(model, [broken], store=store), "go", run_id="r1")
    assert store.traces.steps("r1")[0]["observation"]["status"] == "tool_error"


def test_a_run_id_that_exists_is_refused(store: Store, effects: EffectCounter) -> None:
    _, _, loop = run(store, effects, [answer("x")])
    with pytest.raises(RunExists):
        start(loop, "again", run_id="r1")


def test_a_finished_or_unknown_run_is_never_started_afresh(store: Store, effects: EffectCounter) -> None:
    _, model, loop = run(store, effects, [answer("x")])
    with pytest.raises(RunFinished):
        resume(loop, "r1")
    with pytest.raises(UnknownRun):
        resume(loop, "r2")
    assert len(model.prompts) == 1


def test_a_decision_for_a_run_that_asks_nothing_is_refused(store: Store, effects: EffectCounter) -> None:
    _, _, loop = run(store, effects, [ask("Which?"), answer("x")])
    with pytest.raises(NothingToDecide, match="does not ask other"):
        resume(loop, "r1", HumanDecision(type="respond", message="a"), approval_id="other")


def test_an_empty_goal_is_refused(store: Store, effects: EffectCounter) -> None:
    loop = create_loop(ScriptedModel([]), tools_of(effects), store=store)
    with pytest.raises(BadLoop, match="goal"):
        start(loop, "  ")


def test_two_tools_of_one_name_are_refused(store: Store, effects: EffectCounter) -> None:
    with pytest.raises(BadLoop, match="two tools are named"):
        create_loop(ScriptedModel([]), [*tools_of(effects), *tools_of(effects)], store=store)


def test_a_tool_without_a_contract_needs_a_person(store: Store) -> None:
    hits: list[str] = []

    def push(branch: str) -> str:
        """Push a branch."""
        hits.append(branch)
        return "pushed"

    loop = create_loop(ScriptedModel([call("push", branch="main"), answer("x")]), [push], store=store)
    assert start(loop, "go", run_id="r1").pending[0]["risk"] == "high_risk"
    assert hits == []


def test_the_same_write_is_not_made_twice_unasked(store: Store, effects: EffectCounter) -> None:
    twice = [call("label", service="a", text="x"), call("label", service="a", text="x"), answer("done")]
    waiting, _, loop = run(store, effects, twice)
    assert waiting.pending[0]["rule"] == "repeated_effect"
    assert effects.count("label") == 1
    resume(loop, "r1", HumanDecision(type="reject"))
    assert effects.count("label") == 1


def test_a_write_that_failed_without_saying_that_nothing_happened_asks_before_it_runs_again(
    store: Store, effects: EffectCounter
) -> None:
    @contract(effect="write")
    def charge(amount: int) -> str:
        """Charge, then lose the receipt."""
        effects.hit("charge")
        raise KeyError("receipt")

    model = ScriptedModel([call("charge", amount=5), call("charge", amount=5)])
    waiting = start(create_loop(model, [charge], store=store), "charge 5", run_id="r1")
    assert waiting.pending[0]["rule"] == "repeated_effect"
    assert effects.count("charge") == 1


def test_only_the_approvers_that_the_policy_names_may_decide(store: Store, effects: EffectCounter) -> None:
    def finance_decides(action: Action) -> Any:
        return NeedsApproval(rule="finance", reason="money", approvers=["finance"], expires_s=60.0)

    steps = [call("label", service="a", text="x"), answer("done")]
    waiting, _, loop = run(store, effects, steps, policy=Policy(rules=[finance_decides]))
    assert waiting.pending[0]["approvers"] == ["finance"]
    with pytest.raises(BadDecision, match="ops may not decide this; it takes finance"):
        resume(loop, "r1", HumanDecision(type="approve", by="ops"))
    assert effects.count() == 0
    resume(loop, "r1", HumanDecision(type="approve", by="finance"))
    assert effects.count("label") == 1


def test_a_rule_that_takes_too_long_denies(
    store: Store, effects: EffectCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(action: Action) -> Any:
        time.sleep(0.5)

    monkeypatch.setattr(judging, "RULE_SECONDS", 0.05)
    run(store, effects, [call("lookup", service="a"), answer("x")], policy=Policy(rules=[slow]))
    assert store.traces.steps("r1")[0]["verdict"]["rule"] == "policy_error"
    assert effects.count() == 0
