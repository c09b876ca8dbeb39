"""What a process remembers of its runs outside the store. Losing it costs work or a question, no more."""

from __future__ import annotations

from typing import Generic, TypeVar

__all__ = ["RUNS", "ByRun"]

RUNS = 64
"""Runs that are remembered at once; the one used longest ago goes first."""


T = TypeVar("T")


class ByRun(Generic[T]):
    """Values by run and step, for the runs that were used last."""

    def __init__(self, runs: int = RUNS) -> None:
        self._limit = runs
        self._runs: dict[str, dict[int, T]] = {}

    def of(self, run_id: str) -> dict[int, T]:
        """The values of one run by step, to read and to write."""
        steps = self._runs.pop(run_id, {})
        self._runs[run_id] = steps
        while len(self._runs) > self._limit:
            self.drop(next(iter(self._runs)))
        return steps

    def forget(self, run_id: str, step: int) -> None:
        """Forget a run's values of this step and of later ones: what comes now may be a branch of its own."""
        known = self.of(run_id)
        for later in [one for one in known if one >= step]:
            del known[later]

    def drop(self, run_id: str) -> None:
        """Forget a run."""
        self._runs.pop(run_id, None)
