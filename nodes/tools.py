"""A tool with its contract: validation, schema hash, and the one place that calls it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from jsonschema import Draft202012Validator
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, SecretBytes, SecretStr, ValidationError

from interlock.policies.canonical import ArgumentsError, canonical_json, check_bounds
from interlock.policies.contracts import Contract
from interlock.policies.errors import BadLoop
from interlock.policies.hiding import secret_values, without_typed
from interlock.policies.redaction import redact

__all__ = ["BoundTool", "bind_tools", "contract"]

C = TypeVar("C")
_CONTRACT = "interlock_contract"


def contract(*misplaced: Any, **fields: Any) -> Callable[[C], C]:
    """Attach a contract to a tool or to a function that becomes one.

    Args:
        fields: the fields of `Contract`: `effect`, `idempotent`, `timeout_s`, `scope`, …

    Example:
        ``@contract(effect="read", untrusted=False)`` above a function or above LangChain's ``@tool``.
    """
    if misplaced:
        raise BadLoop('write @contract(effect="read") with the fields of Contract, not a bare @contract')
    made = Contract(**fields)

    def attach(target: C) -> C:
        if isinstance(target, BaseTool):
            target.metadata = {**(target.metadata or {}), _CONTRACT: made.dump()}
        else:
            setattr(target, _CONTRACT, made.dump())
        return target

    return attach


@dataclass(frozen=True, slots=True)
class BoundTool:
    """One tool of a loop, with its contract."""

    tool: BaseTool
    contract: Contract
    schema: dict[str, Any]
    """JSON schema of the arguments that the model may send, closed for tools that change something."""
    schema_hash: str
    """SHA-256 over name, description and schema."""
    keeps_secrets: bool = False
    """True when an argument, or a part of one, is a secret by its type (SecretStr, SecretBytes)."""

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def mutates(self) -> bool:
        """True unless the contract says that the tool only reads."""
        return self.contract.effect != "read"

    def validate(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The canonical arguments: what would run, defaults included, as plain JSON.

        Tools that change something get no coercion and no unknown argument; for reads unknown arguments are
        dropped and values coerced as the schema allows.

        Raises:
            ArgumentsError: the arguments do not fit, in words that name the argument.
        """
        check_bounds(arguments)
        model = self.tool.tool_call_schema
        if isinstance(model, type) and issubclass(model, BaseModel):
            value = self._by_model(model, arguments)
            if self.mutates and not (self._by_model(model, value) == value == self._as_called(value)):
                raise ArgumentsError(
                    f"the schema of {self.name} changes values each time it validates them, so what would "
                    "run is not what would be shown; its validators have to leave valid values alone"
                )
        else:
            value = self._by_schema(arguments)
        return cast("dict[str, Any]", json.loads(canonical_json(value)))

    def _by_model(self, model: type[BaseModel], arguments: dict[str, Any]) -> dict[str, Any]:
        extra: Literal["forbid", "ignore"] = "forbid" if self.mutates else "ignore"
        try:
            checked = model.model_validate_json(
                json.dumps(arguments, allow_nan=False), strict=self.mutates, extra=extra
            )
        except ValidationError as error:
            known = ", ".join(model.model_fields) or "none"
            raise ArgumentsError(f"{_problems(error)}; accepted arguments: {known}") from None
        dumped = checked.model_dump(mode="json", by_alias=True)
        return _revealed(checked.model_dump(by_alias=True), dumped) if self.keeps_secrets else dumped

    def _as_called(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments after the validation of the call itself, which knows the injected ones as well."""
        model, name = self.tool.args_schema, self.key_argument()
        if name is None or not (isinstance(model, type) and issubclass(model, BaseModel)):
            return arguments
        try:
            checked = model.model_validate({**arguments, name: "0" * 32})
        except ValidationError:
            return arguments  # the call itself will fail, before anything happens
        dumped = checked.model_dump(mode="json", by_alias=True)
        shown = _revealed(checked.model_dump(by_alias=True), dumped)
        return {argument: shown[argument] for argument in arguments if argument in shown}

    def _by_schema(self, arguments: dict[str, Any]) -> dict[str, Any]:
        if not self.mutates:
            known = self.schema.get("properties", {})
            arguments = {key: value for key, value in arguments.items() if key in known}
        errors = sorted(Draft202012Validator(self.schema).iter_errors(arguments), key=str)
        if errors:
            where = "; ".join(f"{error.json_path}: {error.message}" for error in errors[:5])
            known_names = ", ".join(self.schema.get("properties", {})) or "none"
            raise ArgumentsError(f"{where}; accepted arguments: {known_names}")
        return arguments

    def redacted(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """The arguments as they may be saved and shown: without secrets, by type, name or shape."""
        typed = without_typed(arguments, self.schema, self.schema) if self.keeps_secrets else arguments
        return cast("dict[str, Any]", redact(typed))

    def secrets_in(self, arguments: dict[str, Any]) -> tuple[str, ...]:
        """The values among the arguments that are secrets, by type or name."""
        return secret_values(arguments, self.redacted(arguments))

    def key_argument(self) -> str | None:
        """Name of the injected argument that takes the idempotency key, if the tool has one."""
        fields = getattr(self.tool.args_schema, "model_fields", {})
        visible = self.schema.get("properties", {})
        return "idempotency_key" if "idempotency_key" in fields and "idempotency_key" not in visible else None


def bind_tools(
    tools: Sequence[BaseTool | Callable[..., Any]], contracts: Mapping[str, Contract]
) -> dict[str, BoundTool]:
    """Tools with their contracts, by name. A tool without a contract counts as high-risk and untrusted.

    Raises:
        BadLoop: two tools of one name, a contract for a tool that is not there, a contract that names an
            argument or a tool that does not exist.
    """
    for name, given in contracts.items():
        if not isinstance(given, Contract):
            raise BadLoop(f"the contract of {name} has to be a Contract, not {type(given).__name__}")
    bound: dict[str, BoundTool] = {}
    for thing in tools:
        tool, own = _as_tool(thing)
        if tool.name in bound:
            raise BadLoop(f"two tools are named {tool.name!r}; names must be unique")
        bound[tool.name] = _bind(tool, contracts.get(tool.name) or own or Contract())
    unknown = sorted(set(contracts) - set(bound))
    if unknown:
        raise BadLoop(f"contracts for tools that are not there: {', '.join(unknown)}")
    for one in bound.values():
        _check_contract(one, bound)
    return bound


def _as_tool(thing: BaseTool | Callable[..., Any]) -> tuple[BaseTool, Contract | None]:
    import inspect

    if isinstance(thing, BaseTool):
        own = (thing.metadata or {}).get(_CONTRACT)
        if own is None:
            own = getattr(getattr(thing, "func", None) or getattr(thing, "coroutine", None), _CONTRACT, None)
        return thing, Contract.load(own) if own else None
    if not callable(thing):
        raise BadLoop(f"{thing!r} is neither a LangChain tool nor a function")
    raw = getattr(thing, _CONTRACT, None)
    try:
        made = (
            StructuredTool.from_function(coroutine=thing)
            if inspect.iscoroutinefunction(thing)
            else StructuredTool.from_function(thing)
        )
    except ValueError as error:
        raise BadLoop(f"{getattr(thing, '__name__', thing)} cannot be a tool: {error}") from None
    return made, Contract.load(raw) if raw else None


def _bind(tool: BaseTool, made: Contract) -> BoundTool:
    model = tool.tool_call_schema
    schema: dict[str, Any] = model if isinstance(model, dict) else _json_schema(model)
    if made.effect != "read":
        schema = _closed(schema)
    text = json.dumps([tool.name, tool.description, schema], sort_keys=True, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return BoundTool(tool, made, schema, digest, keeps_secrets='"format": "password"' in text)


def _json_schema(model: type[Any]) -> dict[str, Any]:
    if not issubclass(model, BaseModel):
        raise BadLoop(f"{model.__name__} is a pydantic v1 model; tools need pydantic v2 argument schemas")
    return model.model_json_schema()


def _closed(schema: Any) -> Any:
    """The schema with every object closed that lists its properties."""
    if isinstance(schema, dict):
        closed = {key: _closed(value) for key, value in schema.items()}
        if "properties" in closed and closed.get("type", "object") == "object":
            closed["additionalProperties"] = False
        return closed
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    return schema


def _revealed(kept: Any, dumped: Any) -> Any:
    """The dumped arguments with their secrets in clear, which pydantic writes as asterisks."""
    if isinstance(kept, SecretStr):
        return kept.get_secret_value()
    if isinstance(kept, SecretBytes):
        return kept.get_secret_value().decode(errors="surrogateescape")
    if isinstance(kept, dict) and isinstance(dumped, dict) and len(kept) == len(dumped):
        return {key: _revealed(*pair) for key, pair in zip(dumped, _pairs(kept, dumped), strict=True)}
    if isinstance(kept, list | tuple) and isinstance(dumped, list) and len(kept) == len(dumped):
        return [_revealed(*pair) for pair in zip(kept, dumped, strict=True)]
    return dumped


def _pairs(kept: dict[Any, Any], dumped: dict[Any, Any]) -> zip[tuple[Any, Any]]:
    return zip(kept.values(), dumped.values(), strict=True)


def _check_contract(one: BoundTool, tools: Mapping[str, BoundTool]) -> None:
    known = set(one.schema.get("properties", {}))
    named = set(one.contract.targets or []) | set(one.contract.scope)
    if missing := sorted(named - known):
        raise BadLoop(
            f"the contract of {one.name} names arguments that it does not have: {', '.join(missing)}"
        )
    if one.contract.poll is not None and one.mutates:
        raise BadLoop(
            f"the contract of {one.name} polls, but its effect is {one.contract.effect}: repeating it would "
            'change something each time; poll a tool with effect="read" instead'
        )
    for helper in (one.contract.dry_run, one.contract.reconcile):
        if helper is not None and (helper not in tools or tools[helper].mutates):
            raise BadLoop(
                f"the contract of {one.name} names {helper!r}, which is not a read tool of this loop"
            )
    if one.contract.reconcile and tools[one.contract.reconcile].contract.untrusted > one.contract.untrusted:
        raise BadLoop(
            f"{one.name} is trusted, but its result may come from {one.contract.reconcile}, which is not: "
            "trust both or neither (untrusted=False)"
        )


def _problems(error: ValidationError) -> str:
    parts = []
    for item in error.errors(include_url=False, include_input=False)[:5]:
        parts.append(f"{'.'.join(str(p) for p in item['loc']) or 'arguments'}: {item['msg']}")
    return "; ".join(parts)
