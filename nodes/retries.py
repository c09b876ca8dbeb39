"""Which faults of a model call are worth a second try, and how long to wait. The only layer that retries."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tenacity import RetryCallState

from interlock.nodes.complaints import about_output, header_of, is_quota, refuses, retry_after, status_of

__all__ = ["BrokenStream", "OutOfTime", "charged", "is_transport_fault", "wait_for"]

FIRST_WAIT_S = 0.5
_CONNECTION = frozenset(
    {"APIConnectionError", "ConnectError", "TimeoutException", "TransportError", "JSONDecodeError"}
)
"""Base classes of the faults that providers' clients raise without a status. A body that is no JSON has
broken off where nobody had said how long it would be."""
_NEVER_SENT = frozenset({"ConnectError", "ConnectionRefusedError", "ConnectTimeout"})
"""Faults before the request left."""
_BUSY = frozenset({"server_error", "internal_error", "overloaded_error", "rate_limit_error", "api_error"})
"""Kinds of errors that servers send inside a stream, where there is no status any more."""


class OutOfTime(Exception):
    """The model did not answer within the run's remaining time."""


class BrokenStream(ConnectionError):
    """A streamed reply ended before the model said that it was done."""


def is_transport_fault(error: BaseException) -> bool:
    """True for 408, 429 and 5xx, for timeouts and for broken connections.

    Not for a used-up quota, for a protocol that the server refuses, nor for output that it could not read:
    trying again would give the same.
    """
    if is_quota(error) or about_output(error) or refuses(error, "tools") or refuses(error, "json_schema"):
        return False
    status = status_of(error)
    if status is not None and status >= 400:  # below that, the answer's own body was the fault
        return status in (408, 429) or status >= 500
    if isinstance(error, TimeoutError | ConnectionError) or getattr(error, "type", None) in _BUSY:
        return True
    return any(kind.__name__ in _CONNECTION for kind in type(error).__mro__)


def charged(error: BaseException) -> bool:
    """True when the provider may have done the work, and charge for it, before the call failed."""
    if isinstance(error, OutOfTime) or about_output(error):
        return True
    if status_of(error) == 429 or not is_transport_fault(error):
        return False
    return not any(type(cause).__name__ in _NEVER_SENT for cause in _causes(error))


def wait_for(state: RetryCallState, cap_s: float) -> float:
    """Seconds until the next attempt: what the server asks for, else doubled each time; capped."""
    error = state.outcome.exception() if state.outcome else None
    asked = _asked(error)
    return min(cap_s, FIRST_WAIT_S * 2 ** (state.attempt_number - 1) if asked is None else asked)


def _asked(error: BaseException | None) -> float | None:
    """Seconds that the server asks for. A date is read against its own clock: ours may differ."""
    value = retry_after(error) or ""
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", value):
        return float(value)
    until, now = _date(value), _date(header_of(error, "date") or "")
    return None if until is None or now is None else max(0.0, (until - now).total_seconds())


def _date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _causes(error: BaseException) -> list[BaseException]:
    """The error and what it was raised from, outermost first, bounded."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 10:
        chain.append(current)
        current = current.__cause__
    return chain
