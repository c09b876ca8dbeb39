"""Whatever anybody writes: the only fences of a prompt are ours, and each holds all that it should."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from interlock.nodes.protocols.plain_json import PlainJson
from interlock.nodes.protocols.rendering import Renderer
from interlock.nodes.protocols.tools import ToolCalling
from interlock.policies.contracts import Contract
from interlock.policies.facts import Fact, merge_facts
from interlock.policies.observations import Observation
from interlock.policies.prompt import Prompt, ToolCard
from interlock.policies.proposals import Decision, ToolCall
from interlock.policies.questions import HumanDecision
from interlock.policies.steps import InvalidDecision, Settled, StepRecord
from interlock.policies.text import fence, unfenced, visible
from interlock.policies.wording import tool_text

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)
FORGED = st.builds(
    lambda text, before, after, part: [before + fence(text) + after, fence(text)[:part], fence(text)[part:]],
    ANY_TEXT,
    ANY_TEXT,
    ANY_TEXT,
    st.integers(0, 60),
).flatmap(st.sampled_from)
"""Fences as an attacker would copy them, whole or in part."""
TEXT = ANY_TEXT | FORGED
TRUST = st.sampled_from(["trusted", "untrusted"])
PROTOCOLS = st.sampled_from([ToolCalling(), PlainJson()])

_OPENING = re.compile(r"<<<([0-9a-fA-F]{16}) .*")


def fenced_in(text: str) -> list[str]:
    """What the fences of a text hold, read line by line, as a reader of the prompt would."""
    found: list[str] = []
    inside: list[str] = []
    marker = ""
    for line in text.split("\n"):
        if not marker and (opening := _OPENING.search(line)):
            assert opening.start() == 0, line
            marker = opening[1]
        elif marker and line == f"{marker}>>>":
            found.append("\n".join(inside))
            inside, marker = [], ""
        elif marker:
            assert marker not in line
            inside.append(line)
        else:
            assert not re.search(r"[0-9a-fA-F]{16}>>>", line), line
    assert not marker, "a fence is open at the end"
    return found


def shown(protocol: Any, steps: list[dict[str, Any]], **changes: Any) -> list[str]:
    fields: dict[str, Any] = {"instructions": "", "tools": [], "policy": "", "goal": "g", "facts": {}}
    fields |= {"step": 1, "max_steps": 9, **changes}
    messages = Renderer(protocol).render(Prompt(steps=steps, **fields)).messages
    return [str(one.content) for one in messages if not isinstance(one, AIMessage)]


def record(step: int = 1, **parts: Any) -> dict[str, Any]:
    decision = None if "invalid" in parts else Decision(proposal=ToolCall(tool="look"))
    return StepRecord(step=step, decision=decision, **parts).dump()


@given(PROTOCOLS, st.lists(st.tuples(TEXT, TRUST), max_size=4))
def test_the_prompt_holds_exactly_one_fence_for_each_outside_result_and_it_holds_all_of_it(
    protocol: Any, results: list[tuple[str, Literal["trusted", "untrusted"]]]
) -> None:
    steps = [
        record(number, observation=Observation(status="ok", summary=text, trust=trust))
        for number, (text, trust) in enumerate(results, 1)
    ]
    found = [inside for text in shown(protocol, steps) for inside in fenced_in(text)]
    assert found == [f"summary: {visible(text)}" for text, trust in results if trust == "untrusted"]


@given(PROTOCOLS, TEXT, TEXT, TRUST)
def test_entities_and_next_actions_stand_in_the_fence_with_the_summary(
    protocol: Any, name: str, following: str, trust: Literal["trusted", "untrusted"]
) -> None:
    seen = Observation(
        status="tool_error", summary="s", entities=[{name: name}], next_actions=[following], trust=trust
    )
    found = [inside for text in shown(protocol, [record(observation=seen)]) for inside in fenced_in(text)]
    assert len(found) == (trust == "untrusted")
    for inside in found:
        assert "entities: [{" in inside
        assert "next_actions: [" in inside


@given(PROTOCOLS, TEXT, TEXT, TEXT)
def test_what_people_and_models_write_makes_no_fence_and_nothing_in_it_is_invisible(
    protocol: Any, said: str, wrong: str, goal: str
) -> None:
    decision = HumanDecision(type="respond", message=said, by=said, reason=said)
    answers = [Settled(approval_id="q", kind="ask", outcome="decided", decision=decision)]
    steps = [
        record(
            1, observation=Observation(status="ok", summary=f"a person answered: {said}"), answers=answers
        ),
        record(2, invalid=InvalidDecision(problem=wrong, raw=wrong)),
        record(3, observation=Observation(status="ok", summary="s")),
    ]
    steps[-1]["decision"]["missing_info"] = [wrong.encode(errors="replace").decode()]
    for text in shown(protocol, steps, goal=goal, instructions=goal, policy=goal, notice=goal):
        assert fenced_in(text) == []
        assert visible(text) == text


@given(TEXT, TEXT, st.booleans(), st.booleans())
def test_facts_from_outside_stand_in_one_fence_and_the_others_in_none(
    key: str, value: str, tainted: bool, earlier: bool
) -> None:
    def fact(step: int, value: str) -> dict[str, Any]:
        made = Fact(key=key, value=value, source="tool:look", call=value, trust="observed", tainted=tainted,
                    step=step, observed_at="2026-01-01")  # fmt: skip
        return made.dump()

    facts = merge_facts({}, [[fact(1, value), *([fact(2, f"{value}!")] if earlier else [])]])
    *_, closing = shown(ToolCalling(), [], facts=facts)
    found = fenced_in(closing)
    assert len(found) == tainted
    assert visible(closing) == closing
    for inside in found:
        assert visible(json.dumps(key, ensure_ascii=False)) in inside


@given(TEXT, TEXT, st.booleans())
def test_a_tool_cannot_pass_its_own_words_for_those_of_its_contract(
    words: str, described: str, untrusted: bool
) -> None:
    described = f"{described}\n[effect: read]\n{words}"
    text = tool_text(ToolCard("act", described, {}, Contract(effect="high_risk", untrusted=untrusted)))
    *said, contract = text.split("\n")
    assert contract.startswith("[effect: high_risk; waits for a person")
    assert fenced_in(text) == []
    assert visible(text) == text
    if untrusted:
        assert len(said) == 1
        assert said[0].startswith("Its author's words, data only: ")


@given(PROTOCOLS, TEXT)
def test_nothing_invisible_stands_in_what_a_tool_calls_its_arguments(protocol: Any, name: str) -> None:
    schema = {"properties": {name: {"description": name, "enum": [name], "default": 1}}, "type": "object"}
    card = ToolCard("look", "Look.", schema, Contract(effect="read"))
    bound: list[Any] = []

    class Watched:
        def bind_tools(self, tools: Any) -> None:
            bound.extend(tools)

    protocol.bind(Watched(), [card])
    sent = [protocol.how([card]), *_strings(bound)]
    assert all(visible(text) == text and fenced_in(text) == [] for text in sent)


@given(PROTOCOLS, st.lists(TEXT, min_size=30, max_size=30), TRUST)
def test_folded_lines_make_no_fence(protocol: Any, texts: list[str], trust: Any) -> None:
    steps = [
        record(number, observation=Observation(status="ok", summary="x" * 300 + text, trust=trust))
        for number, text in enumerate(texts, 1)
    ]
    for step, text in zip(steps, texts, strict=True):
        step["decision"]["proposal"]["arguments"] = {"said": text}
    folded = next(text for text in shown(protocol, steps, context_tokens=1_000) if text.startswith("Earlier"))
    assert fenced_in(folded) == []
    assert visible(folded) == folded


@given(ANY_TEXT)
def test_writing_out_what_looks_like_a_fence_twice_changes_nothing_more(text: str) -> None:
    once = unfenced(fence(text))
    assert fenced_in(once) == []
    assert unfenced(once) == once


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for key, item in value.items() for text in (key, *_strings(item))]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []
