"""Which faults of a model call are worth a second try, and how long to wait. The only layer that retries."""

from __future__ import annotations

import re
from typing import Any

from tenacity import RetryCallState

__all__ = ["OutOfTime", "charged", "is_transport_fault", "wait_for"]

FIRST_WAIT_S = 0.5
_CONNECTION = frozenset({"APIConnectionError", "ConnectError", "TimeoutException", "TransportError"})
"""Base classes of the faults that providers' clients raise without a status."""
_NEVER_SENT = frozenset({"ConnectError", "ConnectionRefusedError", "ConnectTimeout"})
"""Faults before the request left."""


class OutOfTime(Exception):
    """The model did not answer within the run's remaining time."""


def is_transport_fault(error: BaseException) -> bool:
    """True for 408, 429 and 5xx, for timeouts and for broken connections."""
    status = _status(error)
    if status is not None:
        return status in (408, 429) or status >= 500
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    return any(kind.__name__ in _CONNECTION for kind in type(error).__mro__)


def charged(error: BaseException) -> bool:
    """True when the provider may have done the work, and charge for it, before the call failed."""
    if isinstance(error, OutOfTime):
        return True
    if _status(error) == 429 or not is_transport_fault(error):
        return False
    return not any(type(cause).__name__ in _NEVER_SENT for cause in _causes(error))


def wait_for(state: RetryCallState, cap_s: float) -> float:
    """Seconds until the next attempt: what the server asks for, else doubled each time; capped."""
    error = state.outcome.exception() if state.outcome else None
    asked = _retry_after(error)
    return min(cap_s, FIRST_WAIT_S * 2 ** (state.attempt_number - 1) if asked is None else asked)


def _status(error: BaseException | None) -> int | None:
    response: Any = getattr(error, "response", None)
    for status in (getattr(error, "status_code", None), getattr(response, "status_code", None)):
        if isinstance(status, int) and not isinstance(status, bool):
            return status
    return None


def _causes(error: BaseException) -> list[BaseException]:
    """The error and what it was raised from, outermost first, bounded."""
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and len(chain) < 10:
        chain.append(current)
        current = current.__cause__
    return chain


def _retry_after(error: BaseException | None) -> float | None:
    """The header's seconds. A date in it is not read: our clock and the server's may differ."""
    response: Any = getattr(error, "response", None)
    headers: Any = getattr(response, "headers", None) or {}
    value = str(headers.get("retry-after") or "").strip()
    return float(value) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", value) else None
