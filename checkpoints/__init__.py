"""The store: one SQLite file with checkpoints, runs, approvals, effects, payloads and step records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from interlock.checkpoints.saver import LoopSaver as LoopSaver
    from interlock.checkpoints.store import Store as Store
    from interlock.checkpoints.store import open_store as open_store

__all__ = ["LoopSaver", "Store", "open_store"]


def __getattr__(name: str) -> Any:
    # Opening a store loads LangGraph's records; a mere import of the package must not.
    if name == "LoopSaver":
        from interlock.checkpoints.saver import LoopSaver

        return LoopSaver
    if name in ("Store", "open_store"):
        from interlock.checkpoints import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
