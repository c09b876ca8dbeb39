"""What a loop demands before an answer stands, checked when the loop is built."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.errors import PydanticUserError

from interlock.nodes.tools import BoundTool
from interlock.policies.canonical import ArgumentsError
from interlock.policies.errors import BadLoop
from interlock.policies.expressions import expression_problem
from interlock.policies.filling import places
from interlock.policies.text import bounded
from interlock.policies.verifiers import CommandCheck, EffectDone, Fresh, ToolCheck, Verifier

__all__ = ["Requirements", "requirements_of"]


@dataclass(frozen=True, slots=True)
class Requirements:
    """Facts, verifiers and the shape of the answer."""

    require: frozenset[str]
    """Keys of the facts that have to be observed."""
    fresh: frozenset[str]
    """Those of them that have to be observed after the last effect."""
    verifiers: Mapping[str, Verifier]
    """By name, in the order given."""
    answer_schema: type[BaseModel] | None

    def described(self) -> list[Any]:
        """Plain JSON data that differs when the demands do: part of the loop's fingerprint.

        Of a user's own verifier only the name counts, and of environment variables only their names.
        """
        schema = self.answer_schema.model_json_schema() if self.answer_schema else None
        verifiers = {name: _described(one) for name, one in self.verifiers.items()}
        return [sorted(self.require), sorted(self.fresh), verifiers, schema]


def requirements_of(
    require: Iterable[str | Fresh],
    verifiers: Iterable[Verifier],
    answer_schema: Any,
    tools: Mapping[str, BoundTool],
) -> Requirements:
    """The demands of a loop.

    Raises:
        BadLoop: one of them can never be met: no tool provides the fact, a verifier names a tool that is not
            there or not of its kind, an expression is broken, the schema is no pydantic model.
    """
    plain, fresh = _required(require, tools)
    if isinstance(verifiers, ToolCheck | CommandCheck | EffectDone) or not isinstance(verifiers, Iterable):
        raise BadLoop("verifiers has to be a list of verifiers")
    named = _named(verifiers)
    for name, verifier in named.items():
        if problem := next(_problems(verifier, tools), None):
            raise BadLoop(f"the verifier {name} cannot work: {problem}")
    _check_schema(answer_schema)
    return Requirements(plain | fresh, fresh, named, answer_schema)


def _required(
    require: Iterable[str | Fresh], tools: Mapping[str, BoundTool]
) -> tuple[frozenset[str], frozenset[str]]:
    if isinstance(require, str | Fresh):
        raise BadLoop("require has to be a list of fact keys, not a single one")
    wanted = list(require)
    fresh = frozenset(one.key for one in wanted if isinstance(one, Fresh))
    plain = frozenset(one for one in wanted if isinstance(one, str))
    if odd := [one for one in wanted if not isinstance(one, str | Fresh)]:
        raise BadLoop(f"require holds {odd[0]!r}, which is no fact key")
    if missing := sorted((plain | fresh) - _provided(tools.values())):
        raise BadLoop(f"no contract provides the required facts {', '.join(missing)}")
    if missing := sorted(fresh - _provided(tool for tool in tools.values() if not tool.mutates)):
        raise BadLoop(
            f"no read tool provides {', '.join(missing)}, so nothing can observe it after the last effect"
        )
    return plain, fresh


def _provided(tools: Iterable[BoundTool]) -> set[str]:
    return {key for tool in tools for key in tool.contract.provides}


def _named(verifiers: Iterable[Verifier]) -> dict[str, Verifier]:
    """The verifiers by name; what has the same name is numbered."""
    named: dict[str, Verifier] = {}
    for verifier in verifiers:
        name, number = _name(verifier), 2
        free = name
        while free in named:
            free, number = f"{name} ({number})", number + 1
        named[free] = verifier
    return named


def _name(verifier: Any) -> str:
    match verifier:
        case ToolCheck() | EffectDone():
            return verifier.name or f"{type(verifier).__name__}({verifier.tool})"
        case CommandCheck():
            return verifier.name or f"CommandCheck({bounded(' '.join(verifier.argv), 80)})"
        case _:
            return str(getattr(verifier, "__name__", None) or type(verifier).__name__)


def _problems(verifier: Any, tools: Mapping[str, BoundTool]) -> Iterator[str]:
    match verifier:
        case ToolCheck():
            yield from _tool_check_problems(verifier, tools)
        case EffectDone():
            tool = tools.get(verifier.tool)
            if tool is None or not tool.mutates:
                yield f"{verifier.tool!r} is not a tool of this loop that changes something"
            yield from _broken(verifier.identifier, verifier.answer)
        case CommandCheck():
            return
        case type():
            yield "it is a class; give an instance or a function"
        case _:
            yield from _own_problems(verifier)


def _tool_check_problems(check: ToolCheck, tools: Mapping[str, BoundTool]) -> Iterator[str]:
    tool, found = tools.get(check.tool), list(places(check.arguments))
    if tool is None or tool.mutates:
        yield f"{check.tool!r} is not a read tool of this loop"
        return
    yield from _broken(
        check.expect, check.newer_than_run, *(what for kind, what in found if kind == "$answer")
    )
    for kind, what in found:
        if kind == "$fact" and what not in _provided(tools.values()):
            yield f"no contract provides the fact {what}"
    if unknown := sorted(set(check.arguments) - set(tool.schema.get("properties", {}))):
        yield f"{check.tool} has no argument {', '.join(unknown)}"
    if not found:
        try:
            tool.validate(check.arguments)
        except ArgumentsError as error:
            yield f"its arguments do not fit: {error}"


def _broken(*expressions: str | None) -> Iterator[str]:
    for expression in expressions:
        if expression is not None and (problem := expression_problem(expression)):
            yield f"{expression!r} is not JMESPath: {problem}"


def _own_problems(verifier: Any) -> Iterator[str]:
    if not callable(verifier):
        yield f"{verifier!r} is neither a check nor a function"
        return
    try:
        inspect.signature(verifier).bind(None)
    except TypeError:
        yield "it has to take one argument, the claim"
    except ValueError:
        return  # a builtin that does not say what it takes


def _check_schema(schema: Any) -> None:
    if schema is None:
        return
    if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
        raise BadLoop(f"answer_schema has to be a pydantic model, not {schema!r}")
    try:
        schema.model_json_schema()
    except PydanticUserError as error:
        raise BadLoop(f"answer_schema has no JSON schema: {error}") from None


def _described(verifier: Verifier) -> Any:
    match verifier:
        case ToolCheck() | EffectDone():
            return [type(verifier).__name__, verifier.dump()]
        case CommandCheck():
            return ["CommandCheck", {**verifier.dump(), "env": sorted(verifier.env or {})}]
        case _:
            home = verifier if hasattr(verifier, "__qualname__") else type(verifier)
            return [getattr(home, "__module__", ""), getattr(home, "__qualname__", "")]
