"""Raw values by content hash: what tools returned, in full."""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any

from interlock.checkpoints.clock import Clock
from interlock.checkpoints.database import Database
from interlock.policies.errors import StoreError

__all__ = ["PayloadTable"]

PLAIN_UP_TO = 512
"""Bytes up to which a body is kept as it is; larger ones are deflated."""

PUT = (
    "INSERT INTO payloads (ref, size, packed, body, touched_at) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (ref) DO UPDATE SET touched_at = excluded.touched_at"
)


class PayloadTable:
    """The payloads of a store. Every method raises StoreError when the file fails."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def put(self, value: Any) -> tuple[str, int]:
        """Store plain JSON data. Equal values are stored once.

        Returns:
            Its reference (SHA-256 of the canonical JSON, hex) and its size in bytes.

        Raises:
            TypeError, ValueError: not plain JSON data.
        """
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        body = text.encode("utf-8", "surrogatepass")
        ref, size = hashlib.sha256(body).hexdigest(), len(body)
        packed = size > PLAIN_UP_TO
        stored = zlib.compress(body, 1) if packed else body
        with self._database.single() as connection:
            connection.execute(PUT, (ref, size, packed, stored, self._clock.now().isoformat()))
        return ref, size

    def get(self, ref: str) -> Any:
        """The stored value. Raises KeyError when the reference is unknown, StoreError when it is damaged."""
        with self._database.single() as connection:
            row = connection.execute("SELECT packed, body FROM payloads WHERE ref = ?", (ref,)).fetchone()
        if row is None:
            raise KeyError(ref)
        try:
            body = zlib.decompress(row["body"]) if row["packed"] else row["body"]
            return json.loads(body.decode("utf-8", "surrogatepass"))
        except (zlib.error, ValueError) as error:
            raise StoreError(f"the payload {ref} in {self._database.path} is damaged: {error}") from error
