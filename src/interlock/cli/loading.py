"""Tools and models that the user names as package.module:NAME."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Any

from interlock.graphs.loop import Loop, deps_of
from interlock.policies.errors import BadLoop, BadPolicy
from interlock.policies.policychecks import problems
from interlock.policies.policyfile import parse_policy
from interlock.policies.rules import Policy

__all__ = ["check_policy", "load_model", "load_policy", "load_tools"]


def load_tools(reference: str) -> list[Any]:
    """The list of tools at `package.module:NAME`. Raises BadLoop."""
    found = _load(reference, "--tools")
    if not isinstance(found, list | tuple):
        kind = type(found).__name__  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        raise BadLoop(f"--tools {reference} is a {kind}; it has to be a list of tools")
    return list(found)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]


def load_model(reference: str) -> Any:
    """The model of `local`, `local:FILE`, `openai:NAME` or `package.module:NAME`. Raises BadLoop."""
    if reference == "local" or reference.startswith("local:"):
        from interlock.local import local_model

        return local_model(reference.partition(":")[2] or None)
    if reference.startswith("openai:"):
        return _openai(reference.removeprefix("openai:"))
    found = _load(reference, "--model")
    from langchain_core.language_models import BaseChatModel

    from interlock.nodes.model import ChatModel

    if callable(found) and not isinstance(found, BaseChatModel | ChatModel):
        try:
            found = found()
        except (Exception, SystemExit) as error:  # a factory of the user's: no graph runs here
            raise BadLoop(f"--model {reference} failed: {_named(error)}") from error
    if not isinstance(found, BaseChatModel | ChatModel):
        raise BadLoop(f"--model {reference} is a {type(found).__name__}, not a LangChain chat model")
    return found


def _openai(name: str) -> Any:
    if not name:
        raise BadLoop("--model openai: needs the name of a model, for example openai:gpt-5")
    key, base = os.environ.get("OPENAI_API_KEY"), os.environ.get("OPENAI_BASE_URL")
    if not key and not base:
        raise BadLoop(
            "OPENAI_API_KEY is not set; set it, or OPENAI_BASE_URL for a server of your own that needs no key"
        )
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    try:
        return ChatOpenAI(model=name, api_key=SecretStr(key or "none"), base_url=base or None)
    except Exception as error:  # building a client: no graph runs here
        raise BadLoop(f"--model openai:{name} cannot be set up: {_named(error)}") from error


def _load(reference: str, option: str) -> Any:
    module, colon, name = reference.partition(":")
    if not (module and colon and name):
        raise BadLoop(f"{option} {reference!r} has to be written as package.module:NAME")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise BadLoop(f"{option}: there is no module {error.name} here or installed") from error
        raise BadLoop(f"{option}: {module} failed on import: {_named(error)}") from error
    except (Exception, SystemExit) as error:  # the user's module: no graph runs here
        raise BadLoop(f"{option}: {module} failed on import: {_named(error)}") from error
    if not hasattr(loaded, name):
        raise BadLoop(f"{option}: the module {module} has no {name}")
    return getattr(loaded, name)


def _named(error: BaseException) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def load_policy(file: str) -> Policy:
    """The policy in a file. Raises BadPolicy, also when the file cannot be read."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadPolicy(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    return parse_policy(text, file)


def check_policy(policy: Policy, loop: Loop) -> None:
    """Refuse a policy that speaks of tools or arguments that the loop does not have. Raises BadPolicy."""
    tools = deps_of(loop).tools
    contracts = {name: tool.contract for name, tool in tools.items()}
    if wrong := problems(policy, contracts, {name: tool.schema for name, tool in tools.items()}):
        raise BadPolicy(*wrong)
