"""Time that passes only when a test says so."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

__all__ = ["FakeClock"]


@dataclass(slots=True)
class FakeClock:
    """A clock that stands still until it is told to advance."""

    start: datetime = datetime(2026, 1, 1, tzinfo=UTC)
    elapsed_s: float = 0.0
    """Seconds since the start."""

    def now(self) -> datetime:
        """The current time, UTC."""
        return self.start + timedelta(seconds=self.elapsed_s)

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return self.elapsed_s

    def advance(self, seconds: float) -> None:
        """Let time pass. It also serves as a `sleep` that takes no time. Raises ValueError below 0."""
        if seconds < 0:
            raise ValueError(f"time does not go back: {seconds}")
        self.elapsed_s += seconds
