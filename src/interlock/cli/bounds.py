"""Bounds on the command line: of a new run, and what is added to those of a stopped one.

Records are imported where they are needed: `--help` has to answer at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from interlock.policies.budget import Budget, Grant
    from interlock.policies.outcomes import Outcome
    from interlock.policies.prices import Price

__all__ = ["bounding", "bounds_of", "grant_of", "granting", "lifting", "price_of"]

_AMOUNTS = {
    "steps": "steps",
    "seconds": "active seconds (waiting for a person does not count)",
    "tokens": "tokens, in and out",
    "cost": "US dollars for model calls",
}


def bounding(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that bound a new run."""
    for option in (
        click.option("--price", metavar="IN/OUT", help="Price of the model, US dollars per million tokens."),
        click.option("--max-failures", metavar="N", help="Bound: steps in a row that fail."),
        click.option("--max-calls", metavar="TOOL=N", multiple=True, help="Bound: calls of one tool."),
        click.option("--deadline", metavar="TIME", help="When the run has to be over: 2026-01-31T12:00Z."),
        *(
            click.option(f"--max-{name}", metavar="N", help=f"Bound: {text}.")
            for name, text in reversed(_AMOUNTS.items())
        ),
    ):
        command = option(command)
    return command


def granting(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that add to the bounds of a run that a limit has stopped."""
    for option in (
        click.option("--deadline", metavar="TIME", help="A later deadline."),
        click.option("--add-calls", metavar="TOOL=N", multiple=True, help="Add calls of one tool."),
        *(
            click.option(f"--add-{name}", metavar="N", help=f"Add {text}.")
            for name, text in reversed(_AMOUNTS.items())
        ),
    ):
        command = option(command)
    return command


def bounds_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The bounds that were given, as plain data of a Budget. Raises click.UsageError."""
    from interlock.policies.budget import Budget

    return _kept(Budget, _given(options), options)


def grant_of(options: Mapping[str, Any]) -> Grant | None:
    """What is added, or None when nothing is. Raises click.UsageError."""
    from interlock.policies.budget import Grant

    given = {name.removeprefix("add_"): value for name, value in _given(options).items()}
    return Grant.load(_kept(Grant, given, options)) if given else None


def price_of(text: str) -> Price:
    """The price that `IN/OUT` says. Raises BadLoop."""
    from pydantic import ValidationError

    from interlock.policies.errors import BadLoop
    from interlock.policies.prices import Price

    first, _, second = text.partition("/")
    try:
        return Price.load({"input": first.strip(), "output": second.strip()})
    except ValidationError:
        raise BadLoop(
            f"a price is IN/OUT, US dollars per million tokens, as 0.15/0.60; not {text!r}"
        ) from None


def lifting(outcome: Outcome) -> list[str]:
    """The options of `resume` that let a stopped run go on; empty when adding does not help."""
    limit = outcome.limit
    if limit is None or limit.go_on is None:
        return []
    if limit.go_on == "calls":
        return ["--add-calls", f"{limit.name.partition('[')[2].rstrip(']')}=1"]
    if limit.go_on == "deadline":
        return ["--deadline", "TIME"]
    usual = {"steps": "5", "seconds": "60", "tokens": "100000", "cost": "0.50"}
    return [f"--add-{limit.go_on}", usual[limit.go_on]]


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in options.items() if value not in (None, ())}
    return {name: _calls(value) if isinstance(value, tuple) else value for name, value in given.items()}


def _calls(pairs: Iterable[str]) -> dict[str, str]:
    calls: dict[str, str] = {}
    for pair in pairs:
        tool, _, number = pair.rpartition("=")
        if not tool:
            raise click.UsageError(f"calls are TOOL=N, not {pair!r}")
        calls[tool] = number
    return calls


def _kept(
    kind: type[Budget] | type[Grant], given: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The values as the record keeps them. Raises click.UsageError that names the value that does not fit."""
    from pydantic import ValidationError

    try:
        record = kind.load({name: _number(value) for name, value in given.items()})
    except ValidationError as error:
        wrong = error.errors()[0]
        field = str(wrong["loc"][0])
        option = field if field in options else f"add_{field}"
        raise click.UsageError(
            f"--{option.replace('_', '-')}: {wrong['msg']}, not {wrong['input']!r}"
        ) from None
    return {name: value for name, value in record.dump().items() if name in given}


def _number(value: Any) -> Any:
    """Text of a whole number as one; the rest is for the record to read."""
    if isinstance(value, Mapping):
        return {name: _number(item) for name, item in value.items()}
    return int(value) if isinstance(value, str) and value.strip().isdecimal() else value
