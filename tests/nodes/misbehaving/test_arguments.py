"""Arguments that are wrong in shape, type or completeness: nothing runs, and the model is told why."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import SecretStr

from interlock import Budget, contract
from tests.nodes.misbehaving.bench import Bench, Effect, act_of, look_of
from tests.nodes.misbehaving.replies import MISSING, called, reply

CAP = 64
"""Output tokens that the client asks for at most."""


@dataclass(frozen=True)
class Fault:
    """Raw arguments of a call, and what is said about them."""

    arguments: Any
    told: str
    """What the model is told, in part."""
    finish: str | None = None
    tokens: int = 9
    """Output tokens that the server reports."""
    read: bool = False
    """True where a read takes them all the same."""


FAULTS = {
    "cut off": Fault('{"to": "ana", "urgent": true, "only', "cut off", finish="length"),
    "cut off, and complete by chance": Fault('{"to": "ana"}', "cut off", finish="length"),
    "cut off, and reported as a normal end": Fault('{"to": "ana"}', "cut off", tokens=CAP),
    "a comma too many": Fault('{"to": "ana",}', "not valid JSON"),
    "prose": Fault("to ana please", "not valid JSON"),
    "single quotes": Fault("{'to': 'ana'}", "not valid JSON"),
    "text behind the object": Fault('{"to": "ana"} thanks', "not valid JSON"),
    "two objects": Fault('{"to": "ana"}{"to": "bo"}', "not valid JSON"),
    "no field of arguments": Fault(MISSING, "missing"),
    "null instead of text": Fault(None, "missing"),
    "null": Fault("null", "missing"),
    "nothing": Fault("", "missing"),
    "spaces": Fault("  \n", "missing"),
    "a list": Fault('["ana"]', "not list"),
    "a list instead of text": Fault([{"to": "ana"}], "not list"),
    "a number": Fault("5", "not int"),
    "a number instead of text": Fault(5, "not int"),
    "true": Fault("true", "not bool"),
    "a string": Fault('"ana"', "a string"),
    "double-encoded": Fault('"{\\"to\\": \\"ana\\"}"', "a string"),
    "a list inside, encoded again": Fault('{"to": "ana", "tags": "[\\"x\\"]"}', "tags"),
    "the same key twice": Fault('{"to": "ana", "to": "bo"}', "'to' twice"),
    "the same key twice, deep inside": Fault('{"to": "ana", "tags": [{"a": 1, "a": 2}]}', "'a' twice"),
    "NaN": Fault('{"to": "ana", "amount": NaN}', "NaN"),
    "infinity": Fault('{"to": "ana", "amount": -Infinity}', "-Infinity"),
    "infinity, written as a number": Fault('{"to": "ana", "amount": 1e999}', "not finite"),
    "300 levels": Fault('{"to": ' + "[" * 300 + "]" * 300 + "}", "deeper than 32"),
    "2000 levels": Fault('{"to": ' + "[" * 2000 + "]" * 2000 + "}", "deeper than 32"),
    "2000 levels of objects": Fault('{"to": ' * 2000 + "1" + "}" * 2000, "deeper than 32"),
    "2000 levels, cut off": Fault('{"to": ' + "[" * 2000, "deeper than 32"),
    "300 KB": Fault('{"to": "' + "a" * 300_000 + '"}', "larger than 262144 bytes"),
    "half a character": Fault('{"to": "\\ud800"}', "surrogate"),
    "what is needed is not there": Fault("{}", "to: Field required"),
    "null for what is needed": Fault('{"to": null}', "to: "),
    "an object for a text": Fault('{"to": {"name": "ana"}}', "to: "),
    "a number for a text": Fault('{"to": 5}', "to: "),
    "a text for a number": Fault('{"to": "ana", "amount": "5"}', "amount: ", read=True),
    "true for a number": Fault('{"to": "ana", "amount": true}', "amount: ", read=True),
    "a text for true": Fault('{"to": "ana", "urgent": "yes"}', "urgent: ", read=True),
    "half of one": Fault('{"to": "ana", "amount": 1.5}', "amount: "),
    "an argument that does not exist": Fault(
        '{"to": "ana", "dry_run": true}', "accepted arguments: to, amount, urgent, tags", read=True
    ),
    "a name in another case": Fault('{"To": "ana"}', "to: Field required"),
}

ONCE = Budget(max_invalid=1)
EFFECTS: dict[str, Effect] = {"looks": "read", "writes": "write", "risks": "high_risk"}
"""A tool of each effect."""
ALL = [
    pytest.param(fault, streaming, id=f"{name} ({'in pieces' if streaming else 'whole'})")
    for name, fault in FAULTS.items()
    for streaming in (False, True)
    if isinstance(fault.arguments, str) or not streaming
]
"""In pieces there are only texts."""
TOLERATED = [pytest.param(fault, id=name) for name, fault in FAULTS.items() if fault.read]


def run_with(bench: Bench, fault: Fault, names: list[str]) -> None:
    """A run whose replies have the fault, each in the call of another tool."""
    bodies = [
        reply(called(name, fault.arguments), finish=fault.finish, usage=(50, fault.tokens)) for name in names
    ]
    tools = [act_of(bench.effects, effect, name) for name, effect in EFFECTS.items()]
    ended = bench.run(*bodies, tools=tools, client={"max_tokens": CAP}, budget=Budget(max_invalid=4))
    assert ended.outcome is not None
    assert (ended.outcome.reason, ended.steps) == ("cannot_complete", len(names) + 1)
    assert (ended.outcome.changes, ended.outcome.usage.model_calls) == ([], len(names) + 1)


@pytest.mark.parametrize(("fault", "streaming"), ALL)
def test_wrong_arguments_run_nothing_the_model_is_told_and_the_trace_keeps_them_as_they_came(
    bench: Bench, fault: Fault
) -> None:
    names = [name for name, effect in EFFECTS.items() if effect != "read" or not fault.read]
    run_with(bench, fault, names)
    assert bench.effects.count() == 0
    for step, name in enumerate(names, 1):
        told, record = bench.told(step + 1), bench.step(step)
        assert fault.told in told
        assert len(told) < 3_000
        assert (record.get("decision"), record["observation"]["status"]) == (None, "invalid_input")
        sent = None if fault.arguments is MISSING else fault.arguments
        assert record["invalid"]["raw"].startswith(f"{name}({sent})"[:900])


IN_TEXT = [
    pytest.param(fault, id=name)
    for name, fault in FAULTS.items()
    if isinstance(fault.arguments, str) and not fault.read and fault.tokens < CAP
]


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("protocol", ["json", "json_schema"])
@pytest.mark.parametrize("fault", IN_TEXT)
def test_wrong_arguments_run_nothing_where_the_decision_is_text_either(
    bench: Bench, fault: Fault, protocol: str
) -> None:
    called_in = {"thought": "", "proposal": {"kind": "tool_call", "tool": "act", "arguments": "…"}}
    text = json.dumps(called_in, ensure_ascii=False).replace('"…"', str(fault.arguments))
    ended = bench.run(
        reply(content=text, finish=fault.finish), chat={"protocol": protocol}, ends=False, budget=ONCE
    )
    assert ended.outcome is not None
    assert (ended.outcome.reason, bench.effects.count()) == ("invalid_decisions", 0)
    record = bench.step()
    assert (record.get("decision"), record["model"]["protocol"]) == (None, protocol)
    assert record["invalid"]["raw"].startswith(text[:900])


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("more", [{}, {"arguments": None}])
@pytest.mark.parametrize("protocol", ["json", "json_schema"])
def test_arguments_that_are_not_there_are_no_empty_object_although_none_is_needed(
    bench: Bench, more: dict[str, Any], protocol: str
) -> None:
    @contract(effect="write", untrusted=False)
    def tidy(path: str = "everything") -> str:
        """Tidy up."""
        bench.effects.hit("tidy")
        return path

    text = json.dumps({"proposal": {"kind": "tool_call", "tool": "tidy", **more}})
    bench.run(reply(content=text), tools=[tidy], chat={"protocol": protocol}, ends=False, budget=ONCE)
    assert bench.effects.count() == 0
    assert "arguments" in bench.step()["invalid"]["problem"]


@pytest.mark.parametrize("fault", TOLERATED)
def test_a_read_takes_what_can_be_taken_and_the_trace_keeps_what_was_sent(bench: Bench, fault: Fault) -> None:
    run_with(bench, fault, ["looks"])
    assert bench.effects.keys("looks") == ["ana"]
    record = bench.step()
    assert record["decision"]["proposal"]["arguments"] == json.loads(fault.arguments)
    assert record["ticket"]["arguments"] != record["decision"]["proposal"]["arguments"]


def test_an_argument_that_a_read_does_not_have_is_left_out_and_the_model_is_told(bench: Bench) -> None:
    run_with(bench, FAULTS["an argument that does not exist"], ["looks"])
    assert "ignored: dry_run: looks takes only to, amount, urgent, tags" in bench.told()


@pytest.mark.parametrize("streaming", [False])
@pytest.mark.parametrize("sent", [MISSING, None, "", "null", "{}"])
def test_only_a_tool_without_arguments_may_be_called_without_any(bench: Bench, sent: Any) -> None:
    bench.run(reply(called("look", sent)), tools=[look_of(bench.effects)])
    assert bench.effects.count("look") == 1
    assert bench.step()["ticket"]["arguments"] == {}


@pytest.mark.parametrize("streaming", [False])
def test_an_object_that_the_server_did_not_write_as_text_is_still_an_object(bench: Bench) -> None:
    bench.run(reply(called("act", {"to": "ana"})))
    assert bench.effects.keys("act") == ["ana"]


@pytest.mark.parametrize("effect", ["write", "high_risk"])
def test_a_secret_in_arguments_that_do_not_fit_reaches_neither_file_nor_server(
    bench: Bench, effect: Effect
) -> None:
    @contract(effect=effect)
    def unlock(code: SecretStr, door: int) -> str:
        """Unlock a door."""
        return "open"

    bench.run(reply(called("unlock", '{"code": "hunter2-7f3a", "door": "front"}')), tools=[unlock])
    assert "door: " in bench.told()
    assert "hunter2" not in str(bench.step()) + str(bench.server.requests)


def test_wrong_arguments_three_times_in_a_row_end_the_run_and_are_all_counted(bench: Bench) -> None:
    bodies = [reply(called("act", '{"to": "an')) for _ in range(3)]
    ended = bench.run(*bodies, ends=False)
    assert ended.outcome is not None
    assert (ended.outcome.reason, ended.outcome.status) == ("invalid_decisions", "failed")
    usage = ended.outcome.usage
    assert (usage.model_calls, usage.tool_calls, usage.input_tokens, usage.output_tokens) == (3, 0, 150, 27)
    assert bench.effects.count() == 0
