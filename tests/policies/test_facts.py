"""Facts: the newer value wins, the older is remembered, and nothing weaker replaces what a tool observed."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.facts import KEPT, Fact, facts_of_step, merge_facts

AT = "2026-01-01T00:00:00+00:00"


def fact(key: str, value: Any, step: int = 1, **changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {"source": "tool:look", "trust": "observed", "observed_at": AT, **changes}
    return Fact(key=key, value=value, step=step, **made).model_dump(mode="json", exclude_defaults=True)


FACTS = st.builds(
    fact,
    st.sampled_from("abc"),
    st.integers(0, 3) | st.none() | st.lists(st.integers(0, 2), max_size=2),
    st.integers(1, 9),
    trust=st.sampled_from(["observed", "user", "inferred"]),
    tainted=st.booleans(),
)
BATCHES = st.lists(st.lists(FACTS, max_size=5), max_size=6)


@given(BATCHES, BATCHES)
def test_merging_is_the_same_however_the_batches_are_cut(one: Any, other: Any) -> None:
    whole = merge_facts({}, [*one, *other])
    assert merge_facts(merge_facts({}, one), other) == whole
    assert merge_facts({}, [[single for batch in [*one, *other] for single in batch]]) == whole


@given(BATCHES)
def test_merged_facts_are_facts_with_a_bounded_history_and_the_batches_stay_as_they_were(
    batches: Any,
) -> None:
    before = repr(batches)
    for key, merged in merge_facts({}, batches).items():
        loaded = Fact.load(merged)
        assert loaded.key == key
        assert len(loaded.previous) <= KEPT
    assert repr(batches) == before


@given(st.lists(FACTS, max_size=20))
def test_a_weaker_source_never_replaces_a_stronger_one(facts: list[dict[str, Any]]) -> None:
    rank = ["inferred", "user", "observed"]
    for key, merged in merge_facts({}, [facts]).items():
        assert merged["trust"] == max((one["trust"] for one in facts if one["key"] == key), key=rank.index)


def test_the_newer_observation_wins_and_the_older_keeps_its_source_call_step_and_time() -> None:
    known = merge_facts({}, [[fact("author", "bo", 2, call='{"id": 1}')]])
    merged = Fact.load(merge_facts(known, [[fact("author", "ana", 5, call='{"id": 2}')]])["author"])
    assert (merged.value, merged.step, merged.call) == ("ana", 5, '{"id": 2}')
    (older,) = merged.previous
    assert (older.value, older.source, older.call, older.step) == ("bo", "tool:look", '{"id": 1}', 2)
    assert (older.trust, older.observed_at) == ("observed", AT)


def test_the_same_value_again_is_newer_but_no_conflict() -> None:
    merged = merge_facts({}, [[fact("author", "ana", 2), fact("author", "ana", 5)]])
    assert merged == {"author": fact("author", "ana", 5)}


def test_what_a_person_said_against_an_observation_is_remembered_beside_it() -> None:
    said = fact("author", "bo", 3, source="user", trust="user")
    merged = Fact.load(merge_facts({}, [[fact("author", "ana"), said]])["author"])
    assert (merged.value, merged.trust) == ("ana", "observed")
    assert [(one.value, one.trust) for one in merged.previous] == [("bo", "user")]


def test_only_the_newest_of_many_other_values_are_kept() -> None:
    merged = merge_facts({}, [[fact("count", number, number) for number in range(1, 21)]])
    assert [one["value"] for one in merged["count"]["previous"]] == list(range(20 - KEPT, 20))


def test_the_facts_of_a_step_are_its_own_without_what_others_said() -> None:
    known = merge_facts({}, [[fact("author", "bo", 1), fact("size", 3, 1), fact("author", "ana", 2)]])
    new = [fact("advice", "go on", 2, source="user", trust="user")]
    assert facts_of_step(2, known, new) == [fact("author", "ana", 2), *new]
    assert facts_of_step(1, known, []) == [fact("size", 3, 1)]
