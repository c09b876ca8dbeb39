"""Which of the calls in a reply is the proposal: names, numbers and ids that a server gets wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interlock import HumanDecision, LoopChanged, contract
from tests.nodes.misbehaving.bench import Bench, look_of
from tests.nodes.misbehaving.replies import MISSING, called, reply

ANA, BO = '{"to": "ana"}', '{"to": "bo"}'
NOTE = "not run: {0!r}: one action per step"


@pytest.mark.parametrize(
    "name", ["rm_rf", "Act", "act ", " act", "act\n", "ACT", "functions.act", "act_", "аct"]
)
def test_a_tool_that_does_not_exist_runs_nothing_and_the_model_is_told_which_do(
    bench: Bench, name: str
) -> None:
    ended = bench.run(reply(called(name, ANA)))
    assert ended.steps == 2
    assert bench.effects.count() == 0
    assert f"there is no tool {name!r}; the tools are: act" in bench.told()
    assert bench.step()["invalid"]["raw"] == f"{name}({ANA})"


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("name", ["", None, MISSING, "a" * 10_000, {"name": "act"}])
def test_a_call_without_a_name_that_could_be_one_runs_nothing(bench: Bench, name: Any) -> None:
    call = called(name, ANA)
    if name is MISSING:
        del call["function"]["name"]
    bench.run(reply(call))
    assert bench.effects.count() == 0
    assert "Nothing ran: " in bench.told()
    assert len(bench.told()) < 2_000


def test_a_tool_that_is_not_there_is_bounded_like_any_other_mistake(bench: Bench) -> None:
    ended = bench.run(*[reply(called("rm_rf", ANA)) for _ in range(3)], ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, ended.outcome.usage.model_calls) == ("invalid_decisions", 3)


def test_of_several_calls_the_first_runs_and_the_model_is_told_that_the_others_did_not(bench: Bench) -> None:
    bench.run(reply(called("act", ANA, "a"), called("act", BO, "b"), called("look", "{}", "c")))
    assert bench.effects.keys() == ["ana"]
    assert NOTE.format("act") in bench.told()
    assert NOTE.format("look") in bench.told()


def test_a_valid_call_runs_although_the_one_behind_it_is_none(bench: Bench) -> None:
    bench.run(reply(called("act", ANA), called("act", '{"to": "b')))
    assert bench.effects.keys() == ["ana"]
    assert NOTE.format("act") in bench.told()


@pytest.mark.parametrize("first", ['{"to": "an', '["ana"]', None, '{"to": 5}'])
def test_nothing_takes_the_place_of_a_first_call_that_is_not_valid(bench: Bench, first: Any) -> None:
    bench.run(reply(called("act", first), called("act", BO)))
    assert bench.effects.count() == 0
    assert bench.told().startswith("Nothing ran: ")
    assert NOTE.format("act") in bench.told()


def test_a_reply_that_was_cut_off_runs_none_of_its_calls(bench: Bench) -> None:
    bench.run(reply(called("act", ANA), called("act", '{"to": "b'), finish="length"))
    assert bench.effects.count() == 0
    assert "cut off" in bench.told()


def test_an_answer_beside_a_call_does_not_end_the_run(bench: Bench) -> None:
    claim = called("final_answer", '{"answer": "paid"}', "b")
    ended = bench.run(reply(called("act", ANA, "a"), claim))
    assert ended.outcome is not None
    assert (ended.steps, ended.outcome.reason) == (2, "cannot_complete")
    assert NOTE.format("final_answer") in bench.told()


@pytest.mark.parametrize("id", [MISSING, None, "", "step00002", "c" * 300])
def test_the_id_that_a_server_gives_a_call_never_matters(bench: Bench, id: Any) -> None:
    bench.run(reply(called("act", ANA, id)), reply(called("act", BO, id)))
    assert bench.effects.keys() == ["ana", "bo"]
    said = [message for message in bench.server.requests[-1]["messages"] if message.get("tool_calls")]
    assert [message["tool_calls"][0]["id"] for message in said] == ["step00001", "step00002"]


def test_two_calls_of_one_id_are_still_two_calls(bench: Bench) -> None:
    bench.run(reply(called("act", ANA, "same"), called("act", BO, "same")))
    assert bench.effects.keys() == ["ana"]
    assert NOTE.format("act") in bench.told()


def test_the_same_id_in_another_step_is_no_repeat_of_the_effect_before(bench: Bench) -> None:
    ended = bench.run(reply(called("act", ANA, "x")), reply(called("act", BO, "x")))
    assert ended.outcome is not None
    assert [change.status for change in ended.outcome.changes] == ["done", "done"]


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize(
    "call",
    [{"id": "c", "type": "function"}, {"id": "c"}, {"id": "c", "type": "function", "function": None}, {}],
)
def test_a_call_that_lacks_its_parts_runs_nothing(bench: Bench, call: dict[str, Any]) -> None:
    ended = bench.run(reply(call))
    assert ended.steps == 2
    assert bench.told().startswith("Nothing ran: ")


def test_a_call_that_the_text_only_speaks_of_runs_nothing(bench: Bench) -> None:
    text = f'<tool_call>{{"name": "act", "arguments": {json.dumps(ANA)}}}</tool_call>'
    bench.run(reply(content=text))
    assert bench.effects.count() == 0
    assert "proposes nothing" in bench.told()
    assert bench.step()["invalid"]["raw"] == text


def test_what_the_model_was_told_to_correct_is_enough_to_go_on(bench: Bench) -> None:
    ended = bench.run(
        reply(called("Look", "{}")),
        reply(called("look", "{}")),
        reply(called("final_answer", '{"answer": "nothing new"}')),
        ends=False,
        tools=[look_of(bench.effects)],
    )
    assert (ended.status, ended.steps) == ("completed", 3)


def test_a_tool_that_was_there_when_the_run_began_and_is_gone_on_resume_stops_the_run_by_name(
    bench: Bench,
) -> None:
    """The tools are part of what a run must find again; a name that is gone never reaches dispatch."""

    @contract(effect="read", untrusted=False)
    def other() -> str:
        """Something else."""
        bench.effects.hit("other")
        return "other"

    waiting = bench.run(reply(called("act", ANA)), ends=False, effect="high_risk")
    assert waiting.status == "waiting"
    with pytest.raises(LoopChanged, match="r1"):
        bench.resume(HumanDecision(type="approve", by="ops"), tools=[other])
    assert bench.effects.count() == 0
