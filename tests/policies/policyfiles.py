"""Policy files as hypothesis makes them, and their text in any order."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from interlock.policies.contracts import ArgumentRule, Contract

Table = dict[str, Any]

values = st.sampled_from([0, 1, 2, 3, 4.5, "a", "b", "ab", True, {"k": 1}])
anything = st.none() | values | st.lists(values, max_size=3)
calls = st.dictionaries(st.sampled_from(["x", "y"]), anything, max_size=2)

argument_rules: st.SearchStrategy[Table] = st.fixed_dictionaries(
    {},
    optional={
        "allowed": st.lists(st.sampled_from([0, 1, 2, "a", "b", True]), min_size=1, max_size=3),
        "pattern": st.sampled_from(["a", "a?b", "[ab]"]),
        "minimum": st.integers(0, 4),
        "maximum": st.integers(0, 4),
        "max_items": st.integers(1, 2),
    },
)
by_argument = st.dictionaries(st.sampled_from(["x", "y"]), argument_rules, max_size=2)
some_arguments = st.dictionaries(st.sampled_from(["x", "y"]), argument_rules, min_size=1, max_size=2)

denials: st.SearchStrategy[Table] = st.fixed_dictionaries(
    {"verdict": st.just("deny")}, optional={"reason": st.sampled_from(["r", "s"])}
)
approvals: st.SearchStrategy[Table] = st.fixed_dictionaries(
    {"verdict": st.just("needs_approval")},
    optional={
        "reason": st.sampled_from(["r", "s"]),
        "approvers": st.lists(st.sampled_from(["ann", "bo"]), min_size=1, max_size=2),
        "expires_s": st.sampled_from([60, 3600]),
    },
)
allowances: st.SearchStrategy[Table] = st.just({"verdict": "allow"})
verdicts = allowances | denials | approvals


def joined(*parts: Table) -> Table:
    return {key: value for part in parts for key, value in part.items()}


conditionals = st.builds(
    joined,
    denials | approvals,
    st.builds(lambda table: {"when": table}, some_arguments)
    | st.builds(lambda table: {"unless": table}, some_arguments)
    | st.builds(lambda w, u: {"when": w, "unless": u}, by_argument, some_arguments),
)
sections = st.builds(
    joined,
    verdicts | st.just({}),
    st.fixed_dictionaries(
        {},
        optional={
            "arguments": by_argument,
            "rules": st.dictionaries(st.sampled_from(["p", "q", "r"]), conditionals, max_size=3),
        },
    ),
)
files: st.SearchStrategy[Table] = st.builds(
    lambda tools, default: {"tools": tools} | default,
    st.dictionaries(st.sampled_from(["tool", "other"]), sections, min_size=1, max_size=2),
    st.just({}) | st.builds(lambda one: {"default": one}, verdicts),
)
contracts = st.builds(
    lambda effect, scope: Contract(effect=effect, scope=scope),
    st.sampled_from(["read", "write", "high_risk"]),
    st.dictionaries(st.sampled_from(["x"]), argument_rules.map(lambda one: ArgumentRule(**one)), max_size=1),
)


def in_order(tables: list[Any]) -> list[Any]:
    return tables


def as_toml(data: Table, shuffle: Callable[[list[Any]], list[Any]] = in_order) -> str:
    """The data as TOML: a header for each table, tables and keys in the order that `shuffle` gives."""
    tables: list[tuple[str, Table]] = []

    def walk(path: list[str], table: Table) -> None:
        tables.append((".".join(path), {k: v for k, v in table.items() if not isinstance(v, dict)}))
        for key, value in table.items():
            if isinstance(value, dict):
                walk([*path, json.dumps(key)], value)

    walk([], data)
    (_, top), *rest = tables
    lines = _pairs(top, shuffle)
    for header, pairs in shuffle(rest):
        lines += [f"[{header}]", *_pairs(pairs, shuffle)]
    return "\n".join(lines)


def _pairs(table: Table, shuffle: Callable[[list[Any]], list[Any]]) -> list[str]:
    return shuffle([f"{json.dumps(key)} = {json.dumps(value)}" for key, value in table.items()])
