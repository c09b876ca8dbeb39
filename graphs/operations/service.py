"""One service of the example, as a process of its own: a health endpoint and a log on loopback.

Started with the world's database and a name, it prints its address and serves it. The address holds a secret,
so that no other program that happens to ask the port is answered. It ends when it is told to, and by itself
when nobody has asked for a while. Only the standard library is imported, so that it starts fast.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

IDLE_S = 20.0
"""Seconds without a request after which the process ends."""


class Service(HTTPServer):
    """Serves one request after the other until it is stopped."""

    timeout = IDLE_S

    def __init__(self, database: str, name: str) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.database = f"{Path(database).absolute().as_uri()}?mode=ro"
        self.name, self.serving = name, True
        self.prefix = f"/{secrets.token_urlsafe(16)}"

    def handle_timeout(self) -> None:
        """Nobody has asked for a while."""
        self.serving = False

    def health(self) -> dict[str, Any]:
        """What the service knows of itself. Raises sqlite3.Error when its database is gone."""
        row = self.rows("SELECT * FROM services WHERE name = ?")[0]
        free = row["pool_size"] - row["leaked"]
        status = "healthy" if free >= row["demand"] else "degraded"
        return {
            "service": self.name,
            "status": "starting" if time.time() < row["ready_at"] else status,
            "version": row["version"],
            "connections": {"size": row["pool_size"], "free": free, "needed": row["demand"]},
        }

    def rows(self, sql: str) -> list[sqlite3.Row]:
        """Rows about this service."""
        with closing(sqlite3.connect(self.database, uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(sql, (self.name,)).fetchall()


class Requests(BaseHTTPRequestHandler):
    """Three endpoints: GET /health (503 unless healthy), GET /log, POST /stop."""

    server: Service  # pyright: ignore[reportIncompatibleVariableOverride]
    timeout = 5.0

    def do_GET(self) -> None:
        """Health or log."""
        if self.path == f"{self.server.prefix}/health":
            health = self.server.health()
            self._answer(200 if health["status"] == "healthy" else 503, health)
        elif self.path == f"{self.server.prefix}/log":
            rows = self.server.rows("SELECT line FROM log WHERE service = ? ORDER BY id DESC LIMIT 20")
            self._answer(200, {"service": self.server.name, "lines": [row["line"] for row in rows]})
        else:
            self._answer(404, {})

    def do_POST(self) -> None:
        """Stop."""
        if self.path == f"{self.server.prefix}/stop":
            self.server.serving = False
            self._answer(200, {})
        else:
            self._answer(404, {})

    def log_message(self, format: str, *args: Any) -> None:
        """Nobody reads what would be written here."""

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def main(database: str, name: str) -> None:
    """Serve until stopped."""
    with Service(database, name) as service:
        print(f"http://127.0.0.1:{service.server_port}{service.prefix}", flush=True)
        while service.serving:
            service.handle_request()


if __name__ == "__main__":
    main(*sys.argv[1:])
