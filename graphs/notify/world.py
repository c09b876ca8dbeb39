"""The world of the example: support tickets, the on-call rota, and the notifications that were sent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from interlock.graphs.worlds import changing, one_row, opened, write_world
from interlock.policies.tool_errors import NotFound

__all__ = ["World", "make_world", "utc"]

UTC_TIME = "strftime('%Y-%m-%dT%H:%M:%SZ', :now, {column})"
TIMES = (("tickets", "due_at"), ("shifts", "starts_at"), ("shifts", "ends_at"))


def make_world(path: Path, *, now: datetime | None = None) -> None:
    """Write the world anew: of three tickets of high priority one is overdue, and one is solved.

    Args:
        now: the moment at which the example plays, timezone-aware; the present by default.
    """
    write_world(path, Path(__file__).with_name("notify.sql"))
    moment = {"now": (now or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")}
    with changing(path) as connection:
        for table, column in TIMES:
            connection.execute(f"UPDATE {table} SET {column} = {UTC_TIME.format(column=column)}", moment)


def utc(moment: datetime) -> str:
    """A time as the database writes it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class World:
    """The database, one connection for each use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def overdue(self, priority: str, now: datetime) -> list[dict[str, Any]]:
        """Open tickets of a priority whose due time has passed, the longest overdue first."""
        sql = (
            "SELECT id, subject, due_at, CAST(round((julianday(:now) - julianday(due_at)) * 1440) AS INTEGER)"
            " AS minutes_overdue FROM tickets"
            " WHERE priority = :priority AND status = 'open' AND due_at < :now ORDER BY due_at, id"
        )
        with opened(self._path) as connection:
            rows = connection.execute(sql, {"priority": priority, "now": utc(now)})
            return [dict(row) for row in rows]

    def on_call(self, now: datetime) -> dict[str, Any]:
        """The shift that covers this moment. Raises NotFound."""
        sql = "SELECT * FROM shifts WHERE starts_at <= ?1 AND ?1 < ends_at"
        with opened(self._path) as connection:
            return one_row(connection, "shift at", sql, utc(now))

    def notify(
        self, engineer_id: str, ticket_ids: Sequence[str], message: str, now: datetime, key: str
    ) -> dict[str, Any]:
        """Send one notification. The same key gives the first one and sends nothing.

        Raises:
            NotFound: there is no such engineer or ticket. Nothing was sent.
        """
        values = (key, engineer_id, json.dumps(list(ticket_ids)), message, utc(now))
        with changing(self._path) as connection:
            one_row(connection, "engineer", "SELECT * FROM shifts WHERE engineer_id = ?", engineer_id)
            for ticket in ticket_ids:
                one_row(connection, "ticket", "SELECT * FROM tickets WHERE id = ?", ticket)
            connection.execute(
                "INSERT INTO notifications (idempotency_key, engineer_id, ticket_ids, message, sent_at)"
                " VALUES (?, ?, ?, ?, ?) ON CONFLICT (idempotency_key) DO NOTHING",
                values,
            )
        return self.sent_under(key)

    def notification(self, notification_id: str) -> dict[str, Any]:
        """The notification with this id, for example "N-1". Raises NotFound."""
        number = notification_id.removeprefix("N-")
        with opened(self._path) as connection:
            found = connection.execute("SELECT * FROM notifications WHERE id = ?", (number,)).fetchone()
        if found is None:
            raise NotFound(f"there is no notification {notification_id!r}")
        return _notification(dict(found))

    def sent_under(self, key: str) -> dict[str, Any]:
        """The notification that was sent under an idempotency key. Raises NotFound."""
        sql = "SELECT * FROM notifications WHERE idempotency_key = ?"
        with opened(self._path) as connection:
            return _notification(one_row(connection, "notification with the key", sql, key))

    def notifications(self) -> list[dict[str, Any]]:
        """Everything that was sent, oldest first."""
        with opened(self._path) as connection:
            rows = connection.execute("SELECT * FROM notifications ORDER BY id").fetchall()
        return [_notification(dict(row)) for row in rows]


def _notification(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "notification_id": f"N-{row['id']}",
        "engineer_id": row["engineer_id"],
        "ticket_ids": json.loads(row["ticket_ids"]),
        "message": row["message"],
        "sent_at": row["sent_at"],
    }
