"""Questions to people and their decisions. A decision becomes valid here, by one atomic compare-and-set."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from interlock.checkpoints.database import Database
from interlock.policies.errors import AlreadyDecided, UnknownApproval
from interlock.policies.questions import Approval, HumanDecision, Question

__all__ = ["ApprovalTable"]

GET = "SELECT * FROM approvals WHERE approval_id = ?"
SETTLE = (
    "UPDATE approvals SET status = ?, decision = ?, decided_at = ?"
    " WHERE approval_id = ? AND status = 'pending'"
)


class ApprovalTable:
    """The approvals of a store. Every method raises StoreError when the file fails."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, question: Question) -> Approval:
        """Store the question unless its `approval_id` is known; either way return what the store holds."""
        with self._database.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO approvals (approval_id, run_id, digest, status, question)"
                " VALUES (?, ?, ?, 'pending', ?)",
                (
                    question.approval_id,
                    question.run_id,
                    question.digest,
                    question.model_dump_json(exclude_none=True),
                ),
            )
            return _known(connection, question.approval_id)

    def get(self, approval_id: str) -> Approval | None:
        """The question with its decision, if there is one."""
        with self._database.single() as connection:
            row = connection.execute(GET, (approval_id,)).fetchone()
        return _approval(row) if row else None

    def decide(self, approval_id: str, decision: HumanDecision, at: str) -> Approval:
        """Compare-and-set from pending to decided; a question past its expiry becomes expired instead.

        Raises:
            AlreadyDecided: another decision was first, or the question expired or was abandoned.
            UnknownApproval: no such question.
        """
        with self._database.transaction() as connection:
            known = _known(connection, approval_id)
            if known.status == "pending" and _expired(known.question, at):
                connection.execute(SETTLE, ("expired", None, at, approval_id))
                known = _known(connection, approval_id)
            won = known.status == "pending"
            if won:
                decided = decision.model_dump_json(exclude_none=True)
                connection.execute(SETTLE, ("decided", decided, at, approval_id))
                known = _known(connection, approval_id)
        if not won:
            raise AlreadyDecided(_closed(known))
        return known

    def close(self, approval_id: str, status: str, at: str) -> Approval:
        """Compare-and-set from pending to `expired` or `abandoned`; returns what the store then holds.

        Raises:
            UnknownApproval: no such question.
            ValueError: another status.
        """
        if status not in ("expired", "abandoned"):
            raise ValueError(f"a question is closed as expired or abandoned, not {status!r}")
        with self._database.transaction() as connection:
            connection.execute(SETTLE, (status, None, at, approval_id))
            return _known(connection, approval_id)

    def rejected(self, run_id: str, digest: str) -> Approval | None:
        """The rejection of the same action in the same run, if there is one."""
        sql = "SELECT * FROM approvals WHERE run_id = ? AND digest = ? AND status = 'decided' ORDER BY rowid"
        with self._database.single() as connection:
            rows = connection.execute(sql, (run_id, digest)).fetchall()
        found = (_approval(row) for row in rows)
        return next((known for known in found if known.decision and known.decision.type == "reject"), None)

    def pending(self, run_id: str | None = None) -> list[Approval]:
        """Open questions, of one run or of all, oldest first."""
        sql = (
            "SELECT * FROM approvals WHERE status = 'pending' AND (?1 IS NULL OR run_id = ?1) ORDER BY rowid"
        )
        with self._database.single() as connection:
            return [_approval(row) for row in connection.execute(sql, (run_id,))]

    def of_run(self, run_id: str) -> list[Approval]:
        """All questions of a run, oldest first."""
        sql = "SELECT * FROM approvals WHERE run_id = ? ORDER BY rowid"
        with self._database.single() as connection:
            return [_approval(row) for row in connection.execute(sql, (run_id,))]


def _known(connection: sqlite3.Connection, approval_id: str) -> Approval:
    row = connection.execute(GET, (approval_id,)).fetchone()
    if row is None:
        raise UnknownApproval(f"there is no question with the approval id {approval_id}")
    return _approval(row)


def _approval(row: sqlite3.Row) -> Approval:
    return Approval(
        question=Question.model_validate_json(row["question"]),
        status=row["status"],
        decision=HumanDecision.model_validate_json(row["decision"]) if row["decision"] else None,
        decided_at=row["decided_at"],
    )


def _expired(question: Question, at: str) -> bool:
    expires = question.expires_at
    return expires is not None and datetime.fromisoformat(expires) <= datetime.fromisoformat(at)


def _closed(known: Approval) -> str:
    name = f"the question {known.question.approval_id}"
    if known.decision is not None:
        return (
            f"{name} was already answered: {known.decision.type} by {known.decision.by} at {known.decided_at}"
        )
    if known.status == "expired":
        return f"{name} expired at {known.question.expires_at or known.decided_at}; nobody had answered it"
    return f"{name} was abandoned at {known.decided_at}: its run went on without it"
