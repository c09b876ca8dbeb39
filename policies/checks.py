"""What one look at the world came to: the evidence that an answer was accepted on."""

from __future__ import annotations

from interlock.policies.record import Record

__all__ = ["Check"]


class Check(Record):
    """The result of one verifier for one answer."""

    name: str
    """Name of the verifier, unique in its loop."""
    passed: bool
    """True only when the verifier looked and found the claim to hold. An error or a timeout is no pass."""
    detail: str = ""
    """What was found, or why it is not enough, in words; bounded, without secrets."""
    outside: bool = False
    """True when the detail holds outside content."""
    at: str
    """UTC time at which the verifier had looked, ISO 8601."""
