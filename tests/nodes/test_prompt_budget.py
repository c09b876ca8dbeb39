"""The steps of a prompt stay under its budget by the one counter, whatever a single step holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage

from interlock.nodes.protocols.plain_json import PlainJson
from interlock.nodes.protocols.reading import characters
from interlock.nodes.protocols.rendering import Rendered, Renderer
from interlock.nodes.protocols.tools import ToolCalling
from interlock.policies.counting import tokens_in
from interlock.policies.observations import Observation
from interlock.policies.prompt import Prompt
from interlock.policies.proposals import Decision, ToolCall
from interlock.policies.questions import HumanDecision
from interlock.policies.steps import InvalidDecision, Settled, StepRecord

PROTOCOLS = st.sampled_from([ToolCalling, PlainJson])
BIG = st.integers(0, 8_000)
GAPS = st.sampled_from(["x", "\u202e", "\U000e0041", "é", '"'])


def step_of(number: int, thought: int, argument: int, summary: int, letter: str = "x") -> dict[str, Any]:
    call = ToolCall(tool="write", arguments={"text": letter * argument})
    seen = Observation(status="ok", summary=letter * summary, trust=("trusted", "untrusted")[number % 2])
    decision = Decision(proposal=call, thought="t" * min(thought, 8_000))
    return StepRecord(step=number, decision=decision, observation=seen).dump()


def prompt(steps: list[dict[str, Any]], limit: int = 500, **changes: Any) -> Prompt:
    fields: dict[str, Any] = {"instructions": "", "tools": [], "policy": "", "goal": "g", "facts": {}}
    fields |= {"step": len(steps) + 1, "max_steps": 999, "context_tokens": limit, **changes}
    return Prompt(steps=steps, **fields)


def taken(rendered: Rendered) -> int:
    """Tokens between the goal and the last message."""
    return tokens_in(characters(rendered.messages[2:-1]))


@given(PROTOCOLS, st.lists(st.tuples(BIG, BIG, BIG, GAPS), min_size=1, max_size=8), st.integers(500, 4_000))
def test_the_steps_of_every_prompt_stay_under_the_budget(protocol: Any, sizes: Any, limit: int) -> None:
    steps = [step_of(number, *parts) for number, parts in enumerate(sizes, 1)]
    renderer = Renderer(protocol())
    for count in range(1, len(steps) + 1):
        rendered = renderer.render(prompt(steps[:count], limit))
        assert taken(rendered) <= limit
        assert any(f"tep {count}" in str(m.content) or _has_call(m, count) for m in rendered.messages[2:-1])


def _has_call(message: Any, step: int) -> bool:
    return isinstance(message, AIMessage) and any(c["id"] == f"step{step:05d}" for c in message.tool_calls)


@given(st.lists(st.tuples(BIG, BIG, BIG, GAPS), min_size=1, max_size=8))
def test_no_call_is_without_its_result_and_no_result_without_its_call(sizes: Any) -> None:
    steps = [step_of(number, *parts) for number, parts in enumerate(sizes, 1)]
    messages = Renderer(ToolCalling()).render(prompt(steps, 1_000)).messages
    calls = [call["id"] for one in messages if isinstance(one, AIMessage) for call in one.tool_calls]
    assert calls == [one.tool_call_id for one in messages if isinstance(one, ToolMessage)]


@pytest.mark.parametrize("protocol", [ToolCalling, PlainJson])
def test_a_huge_newest_step_keeps_its_action_status_and_the_beginning_of_its_result(protocol: Any) -> None:
    text = str(Renderer(protocol()).render(prompt([step_of(1, 10, 100_000, 900)])).messages[2].content)
    assert text.startswith('Step 1, too large to be shown whole:\nstep 1: write{"text": "xxx')
    assert "→ ok" in text
    assert "summary: xxxx" in text
    assert text.splitlines()[-1].endswith(">>>")


def test_a_huge_step_keeps_what_a_person_said_and_a_huge_invalid_reply_what_to_correct() -> None:
    decision = HumanDecision(type="edit", arguments={"text": "y" * 9_000}, by="ana")
    edited = StepRecord.load(step_of(1, 0, 9_000, 10)).model_copy(
        update={"answers": [Settled(approval_id="q", kind="approval", outcome="decided", decision=decision)]}
    )
    wrong = StepRecord(step=2, invalid=InvalidDecision(problem="\u202e" * 900, raw="\u202e" * 900))
    for record, words in ((edited, 'person: [{"type": "edit"'), (wrong, "Nothing ran: \\u202e")):
        rendered = Renderer(ToolCalling()).render(prompt([record.dump()]))
        assert words in str(rendered.messages[2].content)
        assert taken(rendered) <= 500


def test_what_a_provider_wants_back_counts_as_well() -> None:
    steps = [step_of(number, 10, 10, 10) for number in range(1, 4)]
    for step in steps:
        step["model"] = {"provider": {"reasoning_content": "r" * 3_000}}
    messages = Renderer(ToolCalling()).render(prompt(steps, 1_000)).messages
    echoed = [one for one in messages if one.additional_kwargs.get("reasoning_content")]
    assert len(echoed) == 1


def test_a_prompt_between_two_foldings_begins_with_the_whole_of_the_one_before() -> None:
    steps = [step_of(number, 50, 20, 800) for number in range(1, 41)]
    renderer, shares = Renderer(ToolCalling()), []
    for count in range(1, 41):
        dumped = renderer.render(prompt(steps[:count], 4_000)).report.dump()
        if "before" in dumped:
            shares.append(dumped["reusable"] / dumped["before"])
    folded = [share for share in shares if share < 0.8]
    assert len(shares) == 39
    assert len(folded) <= 4
    assert all(share > 0.95 for share in shares if share >= 0.8)


def test_a_new_process_goes_on_folding_where_the_other_one_stopped_without_looking_at_every_step() -> None:
    steps = [step_of(number, 50, 20, 700) for number in range(1, 61)]
    looked_at: list[int] = []

    class Counting(ToolCalling):
        def exchange(self, record: StepRecord, decision: Decision) -> Any:
            looked_at.append(record.step)
            return super().exchange(record, decision)

    whole = Renderer(ToolCalling())
    for count in range(1, len(steps) + 1):
        rendered = whole.render(prompt(steps[:count], 2_000))
        looked_at.clear()
        assert Renderer(Counting()).render(prompt(steps[:count], 2_000)).messages == rendered.messages
        assert len(looked_at) < 20
        if count < len(steps):
            steps[count]["model"] = {"context": rendered.context()}


@pytest.mark.parametrize("start", [-5, 0, 3, 999])
def test_a_record_that_says_nothing_sensible_about_folding_does_no_harm(start: int) -> None:
    steps = [step_of(number, 50, 20, 700) for number in range(1, 5)]
    steps[-1]["model"] = {"context": {"start": start}}
    rendered = Renderer(ToolCalling()).render(prompt(steps, 2_000))
    assert (
        rendered.messages
        == Renderer(ToolCalling()).render(prompt([*steps[:3], step_of(4, 50, 20, 700)], 2_000)).messages
    )


def test_runs_that_take_turns_are_each_shown_and_counted_as_if_alone() -> None:
    runs = [[step_of(number, 50, 20, 100 * kind) for number in range(1, 31)] for kind in (3, 7)]
    shared, alone = Renderer(ToolCalling()), [Renderer(ToolCalling()) for _ in runs]
    for count in range(1, 31):
        for steps, renderer in zip(runs, alone, strict=True):
            asked = prompt(steps[:count], 2_000)
            one, other = shared.render(asked), renderer.render(asked)
            assert one.messages == other.messages
            assert one.report == other.report
