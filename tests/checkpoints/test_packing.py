"""Packing: whatever goes in comes out, and a run's rows get small."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.checkpoints.packing import DICTIONARY_BYTES, Packer
from interlock.checkpoints.threads import id_key, id_text


def trained(samples: list[bytes]) -> Packer:
    packer = Packer()
    for raw in samples:
        packer.pack(raw)
    dictionary = packer.new_dictionary()
    assert dictionary is not None
    packer.use(dictionary)
    return packer


@given(st.lists(st.binary(max_size=3000), min_size=1, max_size=30))
def test_every_value_comes_back_before_and_after_the_dictionary(values: list[bytes]) -> None:
    packer = Packer()
    bodies = []
    for raw in values:
        bodies.append(packer.pack(raw))
        if (dictionary := packer.new_dictionary()) is not None:
            packer.use(dictionary)
    assert [packer.unpack(body) for body in bodies] == values


def test_no_value_grows_by_more_than_its_mark() -> None:
    for size in (0, 1, 100, 5000):
        raw = bytes(range(256)) * (size // 256) + bytes(range(size % 256))
        assert len(Packer().pack(raw)) <= len(raw) + 1


def test_values_like_the_first_ones_become_a_fraction() -> None:
    sample = (
        '{"phase":"think","goal":"Find out why checkout latency rose","step":%d,"usage":{"tokens":%d}}' * 4
    )
    packer = trained([(sample % ((number, number * 7) * 4)).encode() for number in range(12)])
    raw = (sample % ((77, 991) * 4)).encode()
    assert len(packer.pack(raw)) < len(raw) / 6


def test_a_dictionary_is_never_larger_than_deflate_can_look_back() -> None:
    dictionary = trained([bytes([number]) * 5000 for number in range(12)]).dictionary
    assert dictionary is not None
    assert len(dictionary) == DICTIONARY_BYTES


@pytest.mark.parametrize("damage", ["cut off", "overwritten"])
def test_damaged_bytes_are_an_error(damage: str) -> None:
    body = trained([b"the same text again and again " * 20] * 12).pack(b"the same text again and again " * 30)
    damaged = body[:-3] if damage == "cut off" else body[:1] + b"\xff" * 20
    with pytest.raises(zlib.error):
        trained([b"the same text again and again " * 20] * 12).unpack(damaged)


def test_a_missing_dictionary_is_an_error() -> None:
    body = trained([b"the same text again and again " * 20] * 12).pack(b"the same text again and again " * 30)
    with pytest.raises(zlib.error, match="dictionary"):
        Packer().unpack(body)


@given(st.one_of(st.uuids().map(str), st.text(max_size=40), st.uuids().map(lambda found: str(found).upper())))
def test_every_id_comes_back(text: str) -> None:
    assert id_text(id_key(text)) == text


@given(st.uuids(), st.uuids())
def test_ids_of_checkpoints_sort_as_their_text_does(one: object, other: object) -> None:
    first, second = id_key(str(one)), id_key(str(other))
    assert isinstance(first, bytes)
    assert isinstance(second, bytes)
    assert (first < second) == (str(one) < str(other))
