"""Whatever a tool returns becomes bounded plain JSON data, and no value makes this raise."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
import os
import sqlite3
import subprocess
import sys
from array import array
from collections import OrderedDict, deque
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import ip_network
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.errors import GraphInterrupt
from pydantic import BaseModel, SecretStr

from interlock.nodes.foreign import MAX_BINARY
from interlock.nodes.plain import MAX_DEPTH, MAX_STREAMED, to_plain

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
keys = st.text() | st.integers() | st.booleans() | st.none() | st.tuples(st.integers(), st.text())
hashables = keys | st.binary() | st.decimals(allow_nan=False) | st.dates() | st.floats() | st.uuids()
anything = st.recursive(
    hashables
    | st.decimals()
    | st.text(st.characters())
    | st.datetimes()
    | st.timedeltas()
    | st.complex_numbers(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(hashables, inner, max_size=4)
        | st.sets(hashables, max_size=4)
        | st.lists(inner, max_size=3).map(iter)
    ),
    max_leaves=15,
)


class Colour(enum.Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: Decimal


@dataclasses.dataclass
class Order:
    number: int
    placed: date


class Ticket(BaseModel):
    model_config = {"extra": "allow"}
    key: str
    token: SecretStr
    order: Order


class Scalar:
    """The shape of a numpy scalar."""

    shape = ()

    def item(self) -> int:
        return 7


class Silent:
    pass


class Whole(int):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class Broken(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("connection closed")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("worse")


@dataclasses.dataclass
class Raising:
    def __iter__(self) -> Iterator[int]:
        yield 1
        raise Unspeakable


class Pausing:
    def __iter__(self) -> Iterator[int]:
        raise GraphInterrupt


@given(json_values)
def test_json_data_stays_exactly_as_it_is(value: Any) -> None:
    assert to_plain(value) == value


@given(anything)
def test_whatever_comes_becomes_json_that_a_checkpoint_holds(value: Any) -> None:
    plain = to_plain(value)
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    json.dumps(plain, ensure_ascii=False).encode("utf-8")
    serializer = JsonPlusSerializer()
    assert serializer.loads_typed(serializer.dumps_typed(plain)) == plain
    assert to_plain(plain) == plain


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, [2]), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        (deque([1, 2]), [1, 2]),
        (range(3), [0, 1, 2]),
        ((n * n for n in range(3)), [0, 1, 4]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (MappingProxyType({"a": 1}), {"a": 1}),
        (Colour.RED, "red"),
        (Point(1, Decimal("2.50")), {"x": 1, "y": "2.50"}),
        (Order(4, date(2026, 1, 2)), {"number": 4, "placed": "2026-01-02"}),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (time(3, 4), "03:04:00"),
        (timedelta(minutes=1.5), 90.0),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (PurePosixPath("a/b"), "a/b"),
        (ip_network("10.0.0.0/8"), {"$object": "IPv4Network", "text": "10.0.0.0/8"}),
        (b"\x00\xff", {"$bytes": "AP8=", "size": 2}),
        (bytes(MAX_BINARY + 1), {"$bytes": None, "size": MAX_BINARY + 1}),
        (2**63, {"$int": "9223372036854775808"}),
        (-(2**63), -(2**63)),
        (math.nan, {"$float": "nan"}),
        (-math.inf, {"$float": "-inf"}),
        (array("i", [1, 2]), [1, 2]),
        (Scalar(), 7),
        ("a\ud800b", "a\\ud800b"),
        ({1: "a", "1": "b", None: "c", (1, 2): "d"}, {"1": "a", "1 (2)": "b", "null": "c", "[1, 2]": "d"}),
        (KeyError("x"), "KeyError: 'x'"),
        (Silent(), {"$object": "Silent"}),
        (Silent, {"$object": "class Silent"}),
        (lambda: 1, {"$object": "function"}),
        (
            Document("text", metadata={"page": 3}),
            {"id": None, "metadata": {"page": 3}, "page_content": "text"},
        ),
        (ToolMessage("done", tool_call_id="1", artifact={"n": 1}), {"content": "done", "artifact": {"n": 1}}),
        (ToolMessage("no", tool_call_id="1", status="error"), {"content": "no", "status": "error"}),
    ],
)
def test_a_value_has_one_plain_form(value: Any, plain: Any) -> None:
    found = to_plain(value)
    if isinstance(value, Document):
        assert isinstance(found, dict)
        found.pop("type")
    assert found == plain


def test_a_model_becomes_its_fields_and_its_secrets_stay_hidden() -> None:
    ticket = Ticket.model_validate(
        {"key": "T-1", "token": "hunter2", "order": Order(1, date(2026, 1, 1)), "more": {1}}
    )
    plain = to_plain(ticket)
    assert plain == {
        "key": "T-1",
        "token": "[secret]",
        "order": {"number": 1, "placed": "2026-01-01"},
        "more": [1],
    }


def test_a_number_with_habits_of_its_own_is_only_a_number() -> None:
    plain = to_plain([Whole(2**40), Whole(2**70)])
    assert plain == [2**40, {"$int": str(2**70)}]
    assert isinstance(plain, list)
    assert type(plain[0]) is int


def test_a_row_of_a_database_keeps_its_columns() -> None:
    connection = sqlite3.connect(":memory:")
    connection.row_factory = sqlite3.Row
    rows = connection.execute("SELECT 1 AS id, 'a' AS name").fetchall()
    connection.close()
    assert to_plain(rows) == [{"id": 1, "name": "a"}]


@pytest.mark.parametrize("digits", [4_000, 40_000])
def test_an_integer_of_any_length_is_kept_exactly(digits: int) -> None:
    number = (1 << digits) + 1
    plain = to_plain(number)
    assert isinstance(plain, dict)
    assert int(str(plain["$int"]), 0) == number


@pytest.mark.parametrize(("broken", "said"), [(Broken(a=1), "connection closed"), (Raising(), "Unspeakable")])
def test_what_raises_while_it_is_read_is_described_beside_the_rest(broken: Any, said: str) -> None:
    plain = to_plain({"good": 1, "bad": broken})
    assert isinstance(plain, dict)
    assert plain["good"] == 1
    if isinstance(broken, Raising):  # a dataclass is read by its fields, so only its iterator would raise
        assert plain["bad"] == {}
        plain = {"bad": to_plain(iter(broken))}
    assert said in json.dumps(plain["bad"])


def test_the_graphs_own_signals_pass_through() -> None:
    with pytest.raises(GraphInterrupt):
        to_plain(Pausing())


def test_a_cycle_is_named_where_it_closes() -> None:
    circle: dict[str, Any] = {"name": "a"}
    circle["self"] = [circle]
    assert to_plain(circle) == {"name": "a", "self": [{"$cycle": "dict"}]}


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert to_plain([shared, shared]) == [shared, shared]


def test_what_lies_too_deep_is_cut_and_says_so() -> None:
    value: Any = "bottom"
    for _ in range(5_000):
        value = [value]
    text = json.dumps(to_plain(value))
    assert f"nested deeper than {MAX_DEPTH} levels" in text
    assert text.count("[") == MAX_DEPTH + 1


def test_an_endless_generator_ends_and_says_so() -> None:
    def numbers() -> Iterator[int]:
        number = 0
        while True:
            yield number
            number += 1

    plain = to_plain(numbers())
    assert isinstance(plain, list)
    assert plain[-2:] == [MAX_STREAMED - 1, {"$cut": f"more than {MAX_STREAMED} items"}]


def test_a_text_of_50_megabytes_is_kept_whole() -> None:
    text = "x" * 50_000_000
    assert to_plain(text) == text


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("é" * 10_000, "… [cut: 20000 bytes in all]"),
        (["ab"] * 1_000, {"$cut": "900 more items"}),
        ({str(n): n for n in range(1_000)}, "more keys"),
        (set(range(1_000)), {"$cut": "a set of 1000 items"}),
    ],
)
def test_what_is_beyond_the_cap_is_counted_and_never_lost_silently(value: Any, said: Any) -> None:
    plain = to_plain(value, max_bytes=1_000)
    if isinstance(plain, list):
        left = len(value) - len(plain) + 1
        assert plain[-1] == {"$cut": f"{left} more items"}
    elif isinstance(plain, dict) and isinstance(said, str):
        assert plain["$cut"] == f"{len(value) - len(plain) + 1} more keys"
    elif isinstance(plain, str):
        assert plain.endswith(said)
    else:
        assert plain == said
    assert len(json.dumps(plain)) < 7_000


@given(anything, st.integers(0, 200))
def test_no_cap_is_too_small(value: Any, cap: int) -> None:
    json.dumps(to_plain(value, max_bytes=cap), allow_nan=False)


PROGRAM = """
import json
from interlock.nodes.plain import to_plain
words = {f"word {n}" for n in range(50)}
print(json.dumps(to_plain({"words": words, "pairs": {(n, str(n)) for n in range(20)}, "o": object()})))
"""


def test_every_process_gives_the_same_data_whatever_its_hash_seed() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(told) == 1
    assert "0x" not in told.pop()
