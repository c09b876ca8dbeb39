"""What the tests of the store share: records, a clock to set, and processes that act at the same moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from interlock.policies.effects import EffectRow
from interlock.policies.outcomes import Outcome, Reason
from interlock.policies.questions import Question

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
AT = NOON.isoformat()
LATER = (NOON + timedelta(hours=1)).isoformat()


class SetClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = NOON) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def question(approval_id: str = "q1", run_id: str = "r1", **changes: Any) -> Question:
    known: dict[str, Any] = {
        "approval_id": approval_id,
        "run_id": run_id,
        "step": 1,
        "kind": "approval",
        "tool": "rollback",
        "arguments": {"deploy": 4471},
        "digest": "d1",
        "risk": "high_risk",
        "rule": "high_risk",
        "text": "rollback is high risk",
        "created_at": AT,
    }
    return Question.load({**known, **changes})


def intent(key: str = "k1", run_id: str = "r1", **changes: Any) -> EffectRow:
    known: dict[str, Any] = {
        "key": key,
        "run_id": run_id,
        "step": 1,
        "tool": "rollback",
        "arguments": {"deploy": 4471, "why": "höher"},
        "digest": "d1",
        "started_at": AT,
    }
    return EffectRow.load({**known, **changes})


def outcome(reason: Reason = Reason.GOAL_VERIFIED) -> Outcome:
    return Outcome(status="completed", reason=reason, message="done", answer={"cause": "retry budget"})


class Worker:
    """Another process. It runs `code`, and answers each line it is sent with one line."""

    def __init__(self, code: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def receive(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


@contextmanager
def workers(count: int, code: str, *arguments: str) -> Generator[list[Worker]]:
    """Processes that have all said that they are ready."""
    started = [Worker(code, *arguments) for _ in range(count)]
    try:
        for worker in started:
            assert worker.receive() == "ready"
        yield started
    finally:
        for worker in started:
            worker.close()


def at_once(started: list[Worker], line: str) -> list[str]:
    """Send all processes the same line, then collect their answers."""
    for worker in started:
        worker.send(line)
    return [worker.receive() for worker in started]
