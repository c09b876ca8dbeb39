"""The report on a prompt: tokens by part, and how much of the one before could be used again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.context import PARTS, Section, common_length, prompt_report

SECTIONS = st.lists(st.builds(Section, st.sampled_from(PARTS), st.text("ab", max_size=9)), max_size=8)


@given(st.text("ab"), st.text("ab"))
def test_the_common_length_is_where_two_texts_part(one: str, other: str) -> None:
    length = common_length(one, other)
    assert one[:length] == other[:length]
    assert length in (len(one), len(other)) or one[length] != other[length]


@given(SECTIONS, SECTIONS)
def test_the_parts_make_the_total_and_no_more_is_reusable_than_was_there(
    before: list[Section], now: list[Section]
) -> None:
    report = prompt_report(now, before)
    assert report.total <= sum(report.tokens.values()) <= report.total + len(report.tokens)
    assert report.reusable is not None
    assert report.before is not None
    assert 0 <= report.reusable <= min(report.before, report.total)


@given(SECTIONS, SECTIONS)
def test_a_prompt_that_only_grew_can_be_used_again_as_a_whole(
    before: list[Section], more: list[Section]
) -> None:
    report = prompt_report([*before, *more], before)
    assert report.reusable == sum(len(section.text) for section in before) // 4


def test_what_follows_the_first_message_that_differs_cannot_be_used_again() -> None:
    before = [Section("head", "h" * 40), Section("folded", "ab" + "c" * 40), Section("steps", "s" * 40)]
    now = [Section("head", "h" * 40), Section("folded", "ab" + "d" * 40), Section("steps", "s" * 40)]
    assert prompt_report(now, before).reusable == 42 // 4


def test_the_report_as_data_names_each_part_the_total_and_what_was_before() -> None:
    before = [Section("head", "h" * 40), Section("closing", "c" * 8)]
    now = [
        Section("head", "h" * 40),
        Section("steps", "s" * 20),
        Section("steps", "t" * 1),
        Section("closing", "c" * 8),
    ]
    first, second = prompt_report(before), prompt_report(now, before)
    assert first.dump() == {"head": 10, "closing": 2, "total": 12}
    assert second.dump() == {
        "head": 10, "steps": 6, "closing": 2, "total": 18, "reusable": 10, "before": 12,
    }  # fmt: skip
