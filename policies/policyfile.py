"""The policy as a file that an operator can review: TOML, closed, without order.

The file stands beside the default rules and the strictest verdict wins, so it can forbid and demand, never
permit what a contract forbids. For each tool, by its exact name:

- `verdict`: `allow`, `deny` or `needs_approval`, with a `reason`; with `needs_approval` also `approvers` (who
  may approve, by name; left out: anybody) and `expires_s` (seconds until the question expires).
- `arguments.NAME`: the call is denied unless the argument is there and passes: `allowed` (the only values),
  `pattern` (regular expression for the whole text), `minimum`, `maximum`, `max_items`; in a list each.
- `rules.NAME`: a stricter verdict for some calls. It holds when every argument in `when` meets its condition
  (for a list, one item is enough), unless every argument in `unless` passes. What cannot be judged, such as
  text where a number is expected, counts as the stricter case; an absent argument meets no `when` and passes
  no `unless`.

`[default]` is the verdict for every tool that has none of its own. A rule's name in a verdict is its header.

>>> text = '''
... name = "support desk"
...
... [default]
... verdict = "needs_approval"
... reason = "not reviewed yet"
...
... [tools.search]
... verdict = "allow"
...
... [tools.refund]
... verdict = "needs_approval"
... reason = "money leaves the account"
... approvers = ["finance", "shift lead"]
... expires_s = 3600
... arguments.currency = { allowed = ["EUR"] }
... arguments.amount = { minimum = 0.01, maximum = 500 }
...
... [tools.refund.rules.large]
... verdict = "needs_approval"
... reason = "large refunds are finance's"
... approvers = ["finance"]
... when.amount = { minimum = 100 }
... '''
>>> policy = parse_policy(text)
>>> from interlock.policies.contracts import Contract
>>> from interlock.policies.rules import Action, judge
>>> small = Action("refund", {"amount": 20, "currency": "EUR"}, Contract(effect="write"))
>>> judge(small, policy).approvers
['finance', 'shift lead']
>>> large = Action("refund", {"amount": 200, "currency": "EUR"}, Contract(effect="write"))
>>> judge(large, policy).approvers
['finance']
>>> judge(Action("refund", {"amount": 900, "currency": "EUR"}, Contract(effect="write")), policy).rule
'tools.refund.arguments.amount'
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from interlock.policies.canonical import ArgumentsError
from interlock.policies.contracts import ArgumentRule
from interlock.policies.errors import BadPolicy
from interlock.policies.filerules import FileRules, policy_of
from interlock.policies.record import Record
from interlock.policies.rules import Policy
from interlock.policies.sections import Conditional, Default, PolicyFile, ToolSection, place
from interlock.policies.text import bounded, visible

__all__ = ["parse_policy", "read_record", "read_toml"]

R = TypeVar("R", bound=Record)
Accepted = Callable[[Sequence[str]], type[Record]]
_TWICE = (
    "Cannot overwrite",
    "Cannot declare",
    "Duplicate inline table key",
    "Cannot mutate",
    "Cannot redefine",
)
"""How tomllib begins its message when a key or a table stands twice."""


def parse_policy(text: str, source: str = "policy.toml") -> Policy:
    """The policy that the text of a file describes.

    Files of the same meaning give the same version, whatever their layout, comments and order.

    Args:
        source: name of the file, for messages.

    Raises:
        BadPolicy: not TOML, a key that stands twice, an unknown key, a value that does not fit, a regular
            expression that is none. One line for each problem in `problems`.
    """
    file = read_record(PolicyFile, read_toml(text, source), source, _accepted)
    try:
        _ = FileRules(file).meaning
    except ArgumentsError as error:
        raise BadPolicy(f"{source}: the values of the file cannot be used: {error}") from None
    return policy_of(file)


def read_toml(text: str, source: str) -> dict[str, Any]:
    """The text as TOML. Raises BadPolicy with the place of what is wrong."""
    try:
        return tomllib.loads(text + "\n")  # a place on the last line has a number only when the line ends
    except tomllib.TOMLDecodeError as error:
        raise BadPolicy(_toml_problem(str(error), text, source)) from None
    except RecursionError:
        raise BadPolicy(f"{source}: the file is nested too deep") from None


def read_record(kind: type[R], data: dict[str, Any], source: str, accepted: Accepted) -> R:
    """The data as a record, without any coercion.

    Args:
        accepted: gives the record that a place of the data stands for, to name the keys that it takes.

    Raises:
        BadPolicy: one line for each value that does not fit.
    """
    try:
        return kind.model_validate(data, strict=True)
    except ValidationError as error:
        lines = [
            f"{source}: {_problem(one['type'], one['msg'], one['loc'], accepted)}"
            for one in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise BadPolicy(*(bounded(visible(line).replace("\n", " "), 500) for line in lines)) from None


def _toml_problem(message: str, text: str, source: str) -> str:
    where = re.search(r"\(at line ([0-9]+), column [0-9]+\)", message)
    if not message.startswith(_TWICE):
        return f"{source}: this is not TOML: {visible(message)}"
    if where is None:
        return f"{source}: a key or a table stands twice: {visible(message)}"
    line = text.split("\n")[int(where[1]) - 1].strip()
    return f"{source}: line {where[1]}: a key or a table stands twice: {bounded(visible(line), 120)}"


def _problem(kind: str, message: str, loc: Sequence[str | int], accepted: Accepted) -> str:
    keys = [str(key) for key in loc if key != "[key]"]
    where = place(*keys) or "the file"
    if kind == "extra_forbidden":
        return f"{where}: unknown key; accepted here: {', '.join(accepted(keys[:-1]).model_fields)}"
    if kind == "missing":
        return f"{where}: must be given"
    return f"{where}: {message.removeprefix('Value error, ')}"


def _accepted(parent: Sequence[str]) -> type[Record]:
    """The record whose keys are accepted below a place of the file."""
    match parent:
        case []:
            return PolicyFile
        case ["default"]:
            return Default
        case ["tools", _]:
            return ToolSection
        case ["tools", _, "rules", _]:
            return Conditional
        case _:
            return ArgumentRule
