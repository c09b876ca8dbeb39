"""Which protocols a model is able to speak, which one it begins with, and what comes after a refusal."""

from __future__ import annotations

from typing import Any, get_args

from langchain_core.language_models import BaseChatModel

from interlock.nodes.clients import is_openai
from interlock.nodes.protocols.base import WireProtocol
from interlock.nodes.protocols.json_schema import StructuredOutput
from interlock.nodes.protocols.plain_json import PlainJson
from interlock.nodes.protocols.tools import ToolCalling
from interlock.policies.errors import BadLoop
from interlock.policies.replies import ProtocolName

__all__ = ["begin_with", "lesser", "made"]

ORDER: tuple[ProtocolName, ...] = ("tools", "json_schema", "json")
"""From the one that says most about a decision to the one that every model can do."""


def begin_with(model: BaseChatModel, wanted: str | None) -> ProtocolName:
    """The protocol that was asked for, or the first that the model's profile does not rule out.

    Raises:
        BadLoop: the protocol is unknown, or the model's class does not have it.
    """
    if wanted is None:
        return next(name for name in ORDER if _able(model, name) and _declared(model, name))
    if wanted not in get_args(ProtocolName):
        raise BadLoop(f"the protocol {wanted!r} is not known; known are: {', '.join(ORDER)}")
    found: ProtocolName = next(name for name in ORDER if name == wanted)
    if not _able(model, found):
        does = "cannot bind tools" if found == "tools" else "has no structured output"
        raise BadLoop(f"{type(model).__name__} {does}; use the protocol 'json'")
    return found


def lesser(model: BaseChatModel, refused: ProtocolName) -> ProtocolName | None:
    """The protocol to go on with after the server has refused one; None when there is no other."""
    behind = ORDER[ORDER.index(refused) + 1 :]
    return next((name for name in behind if _able(model, name) and _profile(model, name) is not False), None)


def made(name: ProtocolName, cap: int | None) -> WireProtocol:
    """The protocol of this name.

    Args:
        cap: output tokens that the model may use, where it says so.
    """
    match name:
        case "tools":
            return ToolCalling()
        case "json_schema":
            return StructuredOutput(cap)
        case "json":
            return PlainJson()


def _able(model: BaseChatModel, name: ProtocolName) -> bool:
    """True when the model's class has what the protocol needs."""
    kind = type(model)
    if name == "tools":
        return kind.bind_tools is not BaseChatModel.bind_tools
    own = kind.with_structured_output is not BaseChatModel.with_structured_output
    return name == "json" or own or is_openai(model)


def _declared(model: BaseChatModel, name: ProtocolName) -> bool:
    """Tools unless the profile says no; structured output only where it says yes."""
    return {"tools": _profile(model, name) is not False, "json_schema": _profile(model, name) is True}.get(
        name, True
    )


def _profile(model: BaseChatModel, name: ProtocolName) -> bool | None:
    """What the model's profile says about a protocol; None when it does not say."""
    profile: Any = getattr(model, "profile", None) or {}
    said = profile.get({"tools": "tool_calling", "json_schema": "structured_output"}.get(name, ""))
    return said if isinstance(said, bool) else None
