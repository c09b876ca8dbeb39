"""Permission to execute one exact action. execute refuses to run anything without one that matches."""

from __future__ import annotations

from interlock.policies.record import JsonValue, Record

__all__ = ["Ticket"]


class Ticket(Record):
    """Permission for exactly one action, issued by authorize."""

    tool: str
    arguments: dict[str, JsonValue]
    """Validated, canonical arguments: what will run."""
    digest: str
    """SHA-256 over tool, arguments, schema hash and policy version."""
    idempotency_key: str
    """Passed to the tool; the key of the effect in the ledger."""
    approver: str | None = None
    """Who approved it; None when the policy allowed it without a person."""
    approval_id: str | None = None
    expires_at: str | None = None
    """UTC time, ISO 8601, after which execute refuses the ticket."""
