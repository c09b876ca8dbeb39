"""Exceptions of a tool as data: a status by type and by HTTP status, and a bounded text."""

from __future__ import annotations

import asyncio
import concurrent.futures
from typing import Any

from langgraph.errors import GraphBubbleUp

from interlock.policies.observations import Status
from interlock.policies.text import bounded, visible
from interlock.policies.tool_errors import ToolFailure

__all__ = ["failure_of", "is_control_flow"]

MAX_TEXT = 1_000
"""Longest text of an error, characters."""

_BY_HTTP: dict[int, Status] = {
    400: "invalid_input",
    401: "permission_denied",
    403: "permission_denied",
    404: "not_found",
    408: "retryable_error",
    409: "conflict",
    412: "conflict",
    422: "invalid_input",
    429: "retryable_error",
}
"""Statuses by HTTP status; 5xx is retryable. Meaning of the codes: RFC 9110, RFC 6585."""

_BY_TYPE: tuple[tuple[type[BaseException], Status], ...] = (
    (PermissionError, "permission_denied"),
    (FileNotFoundError, "not_found"),
    (FileExistsError, "conflict"),
    (TimeoutError, "retryable_error"),
    (asyncio.TimeoutError, "retryable_error"),
    (concurrent.futures.TimeoutError, "retryable_error"),
    (ConnectionError, "retryable_error"),
)
"""Statuses by type. Everything else is a `tool_error`: a KeyError inside a tool is no confirmed absence, and
a ValueError may be the tool's own fault."""

_UNDECIDED = ("timeout", "timedout", "connect", "disconnect", "remoteprotocol", "readerror", "writeerror")


def failure_of(error: BaseException, *, mutates: bool) -> tuple[Status, str]:
    """The status of a failed call, and what happened in words.

    Args:
        mutates: the tool changes something. When it broke off (a timeout, a lost connection, a server error),
            its effect may have happened all the same: the outcome is unknown.
    """
    status = _status(error)
    if mutates and status == "retryable_error" and not _nothing_happened(error):
        status = "unknown_outcome"
    return status, _text(error)


def is_control_flow(error: BaseException) -> bool:
    """True for LangGraph's own signals (a pause, a command to the parent), which no handler may swallow."""
    return isinstance(error, GraphBubbleUp)


def _status(error: BaseException) -> Status:
    if isinstance(error, ToolFailure):
        return error.status
    code = _http_status(error)
    if code is not None:
        return _BY_HTTP.get(code, "retryable_error" if code >= 500 else "tool_error")
    known = next((status for kind, status in _BY_TYPE if isinstance(error, kind)), None)
    if known is not None:
        return known
    name = type(error).__name__.lower()
    return "retryable_error" if any(word in name for word in _UNDECIDED) else "tool_error"


def _nothing_happened(error: BaseException) -> bool:
    """A tool that says `Retryable`, and a server that turned the request away, have changed nothing."""
    return isinstance(error, ToolFailure | ConnectionRefusedError) or _http_status(error) == 429


def _http_status(error: BaseException) -> int | None:
    response: Any = getattr(error, "response", None)
    for holder in (error, response):
        for name in ("status_code", "status", "code"):
            value = getattr(holder, name, None)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
                return value
    return None


def _text(error: BaseException) -> str:
    """The exception's type and message, in one line; an exception without a message still says its type."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # a broken __str__ of a foreign exception; nothing of the graph runs in it
        message = "(its text cannot be read)"
    name = type(error).__name__
    return bounded(visible(f"{name}: {message}" if message else name), MAX_TEXT)
