"""Whether somebody wants the pieces of a reply: LangGraph's `messages` stream, LangChain's event streams."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables.config import ensure_config

__all__ = ["somebody_listens"]


def somebody_listens() -> bool:
    """True when a handler that takes a reply in pieces is attached to the running node.

    Such handlers are known by their method, because LangChain names their class for its own use only.
    """
    attached: Any = ensure_config().get("callbacks")
    handlers: Any = getattr(attached, "handlers", attached) or []
    return any(hasattr(handler, "tap_output_aiter") for handler in handlers)
