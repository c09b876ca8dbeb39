"""What holds of tracing for any values and any contents."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.matching import content_index, occurs, share_from
from interlock.policies.provenance import (
    Content,
    Sources,
    argument_of,
    is_key,
    is_trusted,
    leaves,
    trace_arguments,
)

words = st.text(alphabet="abcdefg0123456789.@-_/", min_size=1, max_size=12)
names = st.text(min_size=1, max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(names, values, max_size=4)
contents = st.lists(words, max_size=4).map(" ".join)


@given(
    value=words, around=st.sampled_from(["{}q", "q{}", "qq{}qq", "{}-q", "q.{}", "q@{}.q", "{}/q", "q_{}"])
)
def test_a_value_never_occurs_inside_a_longer_word(value: str, around: str) -> None:
    assert not occurs(value, content_index({"text": f"see {around.format(value)} now"}))


@given(value=words, before=words, after=words)
def test_a_word_occurs_where_it_stands_between_spaces(value: str, before: str, after: str) -> None:
    if not value.isdecimal() and any(character.isalnum() for character in value):
        assert occurs(value, content_index(f"{before} {value} {after}"))


@given(given_arguments=arguments, goal=contents, outside=contents)
def test_outside_content_never_makes_a_value_trusted(
    given_arguments: dict[str, Any], goal: str, outside: str
) -> None:
    alone = trace_arguments(given_arguments, Sources(goal))
    read = Sources(goal, outside=(Content.of("outside:read#1", outside),))
    for path, origin in trace_arguments(given_arguments, read).items():
        assert is_trusted(origin) == is_trusted(alone[path])


@given(given_arguments=arguments, goal=contents, trusted=contents)
def test_no_field_can_name_its_own_origin(given_arguments: dict[str, Any], goal: str, trusted: str) -> None:
    sources = Sources(goal, trusted=(Content.of("tool:look", trusted),))
    allowed = {"goal", "tool:look", "model"}
    assert set(trace_arguments(given_arguments, sources).values()) <= allowed


@given(given_arguments=arguments)
def test_every_value_has_one_path_that_leads_to_its_argument(given_arguments: dict[str, Any]) -> None:
    paths = [path for path, _ in leaves(given_arguments)]
    assert len(paths) == len(set(paths))
    assert {argument_of(path) for path in paths} <= set(given_arguments)
    given_values = sum(1 for path in paths if not is_key(path))
    assert given_values == sum(map(count, given_arguments.values()))


def count(value: Any) -> int:
    if isinstance(value, dict | list) and value:
        inner = value.values() if isinstance(value, dict) else value
        return sum(count(item) for item in inner)
    return 0 if value is None else 1


@pytest.mark.parametrize("piece", ["a", "7 ", "bob@our.example ", "(((", "é\u0301 ", "12,", "mallory "])
def test_the_time_of_a_search_grows_with_the_size_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        started = time.perf_counter()
        index = content_index({"text": text})
        occurs(piece.strip(), index)
        occurs(f"{piece}x", index)
        share_from(f"{piece} and some more words here", index)
        return time.perf_counter() - started

    assert seconds(1_000_000) < 40 * seconds(100_000) + 0.5
