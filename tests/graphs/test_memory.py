"""What a run remembers: conflicts, a person's words, claims of the model; and what is written down of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlock import Contract, HumanDecision, create_loop, inspect, open_store, resume, start
from interlock.checkpoints.store import Store
from interlock.policies.facts import Fact
from interlock.policies.proposals import Decision, ToolCall
from interlock.testing import ScriptedModel, answer, ask, call

AUTHORS = {4470: "bo", 4471: "ana"}
CONTRACTS = {"get_deploy": Contract(effect="read", untrusted=False, provides={"author": "author"})}


def get_deploy(number: int) -> dict[str, Any]:
    """Look at one deploy."""
    return {"number": number, "author": AUTHORS[number]}


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with open_store(tmp_path / "runs.db") as opened:
        yield opened


def closing(model: ScriptedModel, step: int) -> str:
    return str(model.prompts[step - 1][-1].content)


def test_two_records_under_one_key_are_a_conflict_in_the_prompt_and_in_the_outcome(store: Store) -> None:
    model = ScriptedModel(
        [call("get_deploy", number=4471), call("get_deploy", number=4470), answer("bo", cites=["author"])]
    )
    loop = create_loop(model, [get_deploy], store=store, contracts=CONTRACTS, require=["author"])
    run = start(loop, "Who wrote deploy 4471?")
    assert '- "author": "bo" (observed, tool:get_deploy {"number": 4470}, step 2)' in closing(model, 3)
    assert 'not the same in step 1: "ana" (tool:get_deploy {"number": 4471})' in closing(model, 3)
    assert run.outcome is not None
    (fact,) = run.outcome.evidence
    assert (fact.value, [one.value for one in fact.previous]) == ("bo", ["ana"])
    assert inspect(store, run.run_id).outcome == run.outcome


def test_what_a_person_answered_is_a_fact_of_the_user_but_no_evidence(store: Store) -> None:
    model = ScriptedModel([ask("Which region?"), answer("eu", cites=["asked: Which region?"])])
    loop = create_loop(model, [get_deploy], store=store, contracts=CONTRACTS)
    asked = start(loop, "Find the region.")
    run = resume(loop, asked.run_id, HumanDecision(type="respond", message="eu-west-1", by="ana"))
    assert '- "asked: Which region?": "eu-west-1" (user, user, step 1)' in closing(model, 2)
    assert run.outcome is not None
    assert (run.status, run.outcome.evidence) == ("completed", [])


def test_what_the_model_claims_is_kept_apart_and_can_neither_be_required_nor_cited(store: Store) -> None:
    claim = Decision(
        proposal=ToolCall(tool="get_deploy", arguments={"number": 4470}), known_facts=["it is bo"]
    )
    model = ScriptedModel([claim, answer("bo", cites=["claimed"]), answer("bo", cites=["author"])])
    loop = create_loop(model, [get_deploy], store=store, contracts=CONTRACTS)
    run = start(loop, "Who wrote deploy 4470?")
    text = closing(model, 2)
    assert "Facts that nothing trusted vouches for:\n<<<" in text
    assert '- "claimed": ["it is bo"] (inferred, model, step 1)' in text
    assert "cited, but not among the facts: claimed" in str(model.prompts[2][-2].content)
    assert run.outcome is not None
    assert [fact.key for fact in run.outcome.evidence] == ["author"]


def test_the_trace_holds_what_each_step_taught_also_when_the_run_ends_behind_it(store: Store) -> None:
    model = ScriptedModel([call("get_deploy", number=4470), call("get_deploy", number=4471)])
    loop = create_loop(model, [get_deploy], store=store, contracts=CONTRACTS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(AUTHORS, 4471, "cy")
        run = start(loop, "Who wrote deploy 4471?")
    assert run.status == "failed"  # the script has ended
    records = store.traces.steps(run.run_id)
    values = [[fact["value"] for fact in record.get("facts", [])] for record in records]
    assert values[:2] == [["bo"], ["cy"]]
    assert Fact.load(records[1]["facts"][0]).previous == []


def test_each_step_says_what_its_prompt_took(store: Store) -> None:
    model = ScriptedModel([call("get_deploy", number=4470), call("get_deploy", number=4471), answer("bo")])
    loop = create_loop(model, [get_deploy], store=store, contracts=CONTRACTS)
    run = start(loop, "Who wrote deploy 4470?")
    contexts = [record["model"]["context"] for record in store.traces.steps(run.run_id)]
    assert [context.keys() >= {"head", "closing", "total"} for context in contexts] == [True] * 3
    assert "steps" not in contexts[0]
    assert 0 < contexts[1]["steps"] < contexts[2]["steps"]
    assert contexts[2]["before"] == contexts[1]["total"]
    assert contexts[2]["reusable"] > 0.8 * contexts[2]["before"]
