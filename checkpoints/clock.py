"""Time, injected: for leases, for requests without a time of their own, and for pruning."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock"]


class Clock(Protocol):
    """What tells the store the time."""

    def now(self) -> datetime:
        """The current time, UTC, timezone-aware."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The current time, UTC, timezone-aware."""
        return datetime.now(UTC)
