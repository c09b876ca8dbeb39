"""Exceptions of a tool as data: a status by type and by HTTP status, and a bounded text."""

from __future__ import annotations

import re
import socket
import subprocess
import urllib.error
from typing import Any

from langgraph.errors import GraphBubbleUp

from interlock.policies.observations import Status
from interlock.policies.text import visible
from interlock.policies.tool_errors import Retryable, ToolFailure

__all__ = ["MAX_BYTES", "failure_of", "is_control_flow"]

MAX_BYTES = 1_024
"""Longest text of an error, bytes."""

_BY_HTTP: dict[int, Status] = {
    400: "invalid_input",
    401: "permission_denied",
    403: "permission_denied",
    404: "not_found",
    408: "retryable_error",
    409: "conflict",
    410: "not_found",
    412: "conflict",
    422: "invalid_input",
    425: "retryable_error",
    429: "retryable_error",
}
"""Statuses by HTTP status; 5xx is retryable, another 4xx a `tool_error`. Codes: RFC 9110, 6585, 8470."""

_BY_TYPE: tuple[tuple[type[BaseException], Status], ...] = (
    (PermissionError, "permission_denied"),
    (FileNotFoundError, "not_found"),
    (FileExistsError, "conflict"),
    (TimeoutError, "retryable_error"),
    (subprocess.TimeoutExpired, "retryable_error"),
    (ConnectionError, "retryable_error"),
    (socket.gaierror, "retryable_error"),
)
"""Statuses by type. Everything else is a `tool_error`: a KeyError inside a tool confirms no absence, and a
ValueError may be the tool's own fault. A tool that means the arguments raises InvalidInput."""

_TRANSPORT = re.compile(
    r"Time(d)?[Oo]ut|Connect(ion)?(Error|Closed|Reset|Aborted|Refused)|Disconnected"
    r"|(Transport|Network|RemoteProtocol|Read|Write|Protocol)Error$|IncompleteRead"
)
"""Names that HTTP clients give to timeouts and lost connections, without importing one of them."""


def failure_of(error: BaseException, *, mutates: bool) -> tuple[Status, str]:
    """The status of a failed call, and what happened in one line. Never raises.

    Args:
        mutates: the tool changes something. When the call broke off (a timeout, a lost connection, a server
            error), its effect may have happened all the same: the outcome is unknown, for an idempotent
            action too. Only `Retryable`, a refused connection and HTTP 429 say that nothing happened.
    """
    status = _status(error)
    if mutates and status == "retryable_error" and not _nothing_happened(error):
        status = "unknown_outcome"
    return status, _text(error)


def is_control_flow(error: BaseException) -> bool:
    """True for LangGraph's own signals (a pause, a command to the parent), which no handler may swallow."""
    if isinstance(error, BaseExceptionGroup):
        return any(is_control_flow(inner) for inner in error.exceptions)
    return isinstance(error, GraphBubbleUp)


def _status(error: BaseException) -> Status:
    if isinstance(error, ToolFailure):
        return error.status
    if isinstance(error, BaseExceptionGroup):
        return _status_of_group(error)
    code = _http_status(error)
    if code is not None:
        return "retryable_error" if code >= 500 else _BY_HTTP.get(code, "tool_error")
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        return _status(error.reason)
    for kind, status in _BY_TYPE:
        if isinstance(error, kind):
            return status
    if any(_TRANSPORT.search(name.__name__) for name in type(error).__mro__):
        return "retryable_error"
    return "tool_error"


def _status_of_group(group: BaseExceptionGroup[Any]) -> Status:
    """What all of them say, or that something broke off, or that the tool failed."""
    found: set[Status] = {_status(error) for error in group.exceptions}
    if "retryable_error" in found:
        return "retryable_error"
    return found.pop() if len(found) == 1 else "tool_error"


def _nothing_happened(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(_nothing_happened(inner) for inner in error.exceptions)
    if isinstance(error, urllib.error.URLError) and isinstance(error.reason, BaseException):
        return _nothing_happened(error.reason)
    return isinstance(error, Retryable | ConnectionRefusedError) or _http_status(error) == 429


def _http_status(error: BaseException) -> int | None:
    """The HTTP status that clients put on their exceptions or on the response they carry."""
    response = _read(error, "response")
    for holder in (error, response):
        for name in ("status_code", "status", "code"):
            value = _read(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 400 <= value <= 599:
                return int(value)
    if isinstance(response, dict):  # botocore's ClientError
        code = (response.get("ResponseMetadata") or {}).get("HTTPStatusCode")
        return code if isinstance(code, int) and 400 <= code <= 599 else None
    return None


def _read(holder: Any, name: str) -> Any:
    try:
        return getattr(holder, name, None)
    except Exception:  # a property of a foreign exception; nothing of the graph runs in it
        return None


def _text(error: BaseException) -> str:
    """The exception's type and message; an exception without a message still says its type."""
    try:
        message = " ".join(str(error)[: 4 * MAX_BYTES].split())
    except Exception:  # a broken __str__ of a foreign exception; nothing of the graph runs in it
        message = "(its text cannot be read)"
    name = type(error).__name__
    text = visible(f"{name}: {message}" if message else name)
    data = text.encode()
    if len(data) <= MAX_BYTES:
        return text
    note = " … [cut]"
    return data[: MAX_BYTES - len(note.encode())].decode(errors="ignore") + note
