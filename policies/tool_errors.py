"""Errors that a tool raises on purpose: each says which status its failure has."""

from __future__ import annotations

from interlock.policies.observations import Status

__all__ = ["Conflict", "InvalidInput", "NotFound", "PermissionDenied", "Retryable", "ToolFailure"]


class ToolFailure(Exception):
    """A failure with a status. Raise one of the subclasses from a tool."""

    status: Status = "tool_error"


class NotFound(ToolFailure):
    """The thing does not exist: a confirmed absence, not a failed request."""

    status = "not_found"


class Conflict(ToolFailure):
    """The world is not in the state that the action needs."""

    status = "conflict"


class InvalidInput(ToolFailure):
    """The arguments are well-formed but wrong."""

    status = "invalid_input"


class PermissionDenied(ToolFailure):
    """The tool's own credentials do not allow it."""

    status = "permission_denied"


class Retryable(ToolFailure):
    """Nothing happened, and the same call may succeed later."""

    status = "retryable_error"
