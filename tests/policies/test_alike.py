"""Which differences between two actions are only looks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.alike import MAX_TEXT, NAME_CHARS, action_key, action_name
from interlock.policies.redaction import REDACTED

SPACE = st.sampled_from([" ", "  ", "\t", "\u00a0", " \u200b "])


def proposed(**arguments: Any) -> dict[str, Any]:
    return {"decision": {"proposal": {"kind": "tool_call", "tool": "t", "arguments": arguments}}}


def same(one: Any, other: Any) -> bool:
    return action_key(proposed(x=one)) == action_key(proposed(x=other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (" 4471", "4471\n"),
        ("a\u200bb", "ab"),
        ("caf\u00e9", "cafe\u0301"),
        ("checkout  incident", "Checkout incident."),
        (["Which one?", 2], ["which   one", 2.0]),
        ({"b": "x", "a": 1}, {"a": 1, "b": " x "}),
        ("if x:\n    go()  ", "if x:\n    go()"),
    ],
)
def test_looks_make_no_other_action(one: Any, other: Any) -> None:
    assert same(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("aBc1", "abc1"),
        ("1", 1),
        (True, 1),
        ("a b", "ab"),
        ("v1.", "v1"),
        ("if x:\n    go()", "if x:\ngo()"),
        ("a = 1\nB = 2", "a = 1\nb = 2"),
        ("x" * MAX_TEXT + "y z", "x" * MAX_TEXT + "Y z"),
        ([1, 2], [2, 1]),
    ],
)
def test_what_may_mean_something_else_is_another_action(one: Any, other: Any) -> None:
    assert not same(one, other)


@given(st.lists(st.text("abcXYZäß09-_", min_size=1), min_size=2, max_size=6), st.data())
def test_prose_is_the_same_however_it_is_spaced_and_capitalized(
    words: list[str], data: st.DataObject
) -> None:
    other = "".join(data.draw(st.sampled_from([word, word.upper()])) + data.draw(SPACE) for word in words)
    assert same(" ".join(words), other)


@given(st.dictionaries(st.text(max_size=4), st.integers() | st.booleans() | st.text(max_size=4), max_size=5))
def test_the_order_of_keys_is_no_difference(arguments: dict[str, Any]) -> None:
    assert same(arguments, dict(reversed(arguments.items())))


def test_two_secrets_are_not_taken_for_the_same() -> None:
    def signed_in(digest: str) -> dict[str, Any]:
        return {
            **proposed(token="?"),
            "ticket": {"tool": "t", "arguments": {"token": REDACTED}, "digest": digest},
        }

    assert action_key(signed_in("one")) != action_key(signed_in("two"))
    assert action_key(signed_in("one")) == action_key(signed_in("one"))


def test_the_name_of_an_action_is_short_and_says_what_it_was_called_with() -> None:
    assert action_name(proposed(id="4471", deep=True)) == 't(id="4471", deep=true)'
    assert len(action_name(proposed(text="x" * 10_000))) == NAME_CHARS
    assert action_name({"decision": None}) == "invalid decision"
