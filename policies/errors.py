"""Refusals by name, in words that a person can act on."""

from __future__ import annotations

__all__ = [
    "AlreadyDecided",
    "BadDecision",
    "BadLoop",
    "BadPolicy",
    "InterlockError",
    "LoopBroken",
    "LoopChanged",
    "NothingToDecide",
    "RunBusy",
    "RunExists",
    "RunFinished",
    "StoreError",
    "UnknownApproval",
    "UnknownRun",
]


class InterlockError(Exception):
    """Base of every refusal. Its text is one line that a person can act on."""


class BadLoop(InterlockError):
    """The loop cannot be built as described."""


class BadPolicy(InterlockError):
    """A policy file, or the cases that go with one, cannot be used as written."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems
        """One line each, with the place in the file."""


class UnknownRun(InterlockError):
    """No run with this id in the store."""


class RunExists(InterlockError):
    """A run with this id exists; a new task needs a new id."""


class RunFinished(InterlockError):
    """The run has an outcome; nothing can be resumed."""


class RunBusy(InterlockError):
    """Another live process drives the run."""


class LoopChanged(InterlockError):
    """The run was started by another loop: its graph, tools, contracts or policy differ."""


class LoopBroken(InterlockError):
    """The graph stopped without an outcome and without a question: an edge or a node is broken."""


class UnknownApproval(InterlockError):
    """No question with this approval id."""


class AlreadyDecided(InterlockError):
    """The question is closed: decided by someone else, expired or abandoned."""


class NothingToDecide(InterlockError):
    """A decision was given, but the run asks nothing."""


class BadDecision(InterlockError):
    """The decision does not fit the question; nothing was recorded."""


class BadGrant(InterlockError):
    """What is added to a run's bounds does not lift the limit that stopped it; nothing was changed."""


class StoreError(InterlockError):
    """The store's file is missing, unreadable, locked or of a newer version."""
