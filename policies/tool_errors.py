"""Errors that a tool raises on purpose: each says which status its failure has."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

__all__ = [
    "Conflict",
    "FailureStatus",
    "InvalidInput",
    "NotFound",
    "PermissionDenied",
    "Retryable",
    "ToolFailure",
]

FailureStatus = Literal[
    "retryable_error",
    "invalid_input",
    "permission_denied",
    "not_found",
    "conflict",
    "unknown_outcome",
    "tool_error",
]
"""The statuses of an observation that are no success."""


class ToolFailure(Exception):
    """A failure with a status, for a tool to raise. Its subclasses stand for the usual ones."""

    def __init__(self, status: FailureStatus, message: str = "") -> None:
        """
        Args:
            status: how the call ended, for example `unknown_outcome` when the tool cannot tell.
            message: what the model is told.

        Raises:
            ValueError: no such status, or `ok`.
        """
        if status not in get_args(FailureStatus):
            raise ValueError(f"{status!r} is no status of a failure; use one of {get_args(FailureStatus)}")
        super().__init__(status, message)
        self.status: FailureStatus = status
        self.message = message

    def __str__(self) -> str:
        return self.message


class _Named(ToolFailure):
    STATUS: ClassVar[FailureStatus]

    def __init__(self, message: str = "") -> None:
        super().__init__(self.STATUS, message)
        self.args = (message,)  # what pickle calls the class with, when a worker process sends it back


class NotFound(_Named):
    """The thing does not exist: a confirmed absence, not a failed request."""

    STATUS = "not_found"


class Conflict(_Named):
    """The world is not in the state that the action needs. Nothing happened."""

    STATUS = "conflict"


class InvalidInput(_Named):
    """The arguments are well-formed but wrong. Nothing happened."""

    STATUS = "invalid_input"


class PermissionDenied(_Named):
    """The tool's own credentials do not allow it. Nothing happened."""

    STATUS = "permission_denied"


class Retryable(_Named):
    """Nothing happened, and the same call may succeed later."""

    STATUS = "retryable_error"
