"""The example on a model behind an OpenAI-compatible server; the server is a real one, on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from tests.cli.conftest import Invoke, document

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("search_incidents", {"query": "checkout"}),
    ("search_deploy", {"deploy_id": "4471"}),
    ("final_answer", {"answer": "payments-api; from 5 s to 1 s"}),
]


class Handler(BaseHTTPRequestHandler):
    """Answers with the next call."""

    seen: list[dict[str, Any]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        number = len(self.seen)
        self.seen.append({"key": self.headers["Authorization"], **body})
        name, arguments = CALLS[number]
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reply = {
            "id": f"reply_{number}",
            "object": "chat.completion",
            "created": 0,
            "model": "local",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
        text = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is its own."""


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Address of a server, and what it was sent."""
    seen: list[dict[str, Any]] = []
    with HTTPServer(("127.0.0.1", 0), type("Mine", (Handler,), {"seen": seen})) as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/v1", seen
        running.shutdown()
        thread.join()


@pytest.mark.parametrize("key", [None, "secret-of-a-test"])
def test_the_example_runs_on_a_server_of_the_users_own_with_and_without_a_key(
    call: Invoke,
    server: tuple[str, list[dict[str, Any]]],
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
) -> None:
    address, seen = server
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    ended = call("run", "oncall", "--model", "openai:local", "--run-id", "r1", "--json")
    printed = document(ended)
    assert (ended.exit_code, printed["status"], printed["steps"]) == (0, "completed", 3)
    assert printed["answer"] == "payments-api; from 5 s to 1 s"
    assert (printed["usage"]["input_tokens"], printed["usage"]["estimated"]) == (300, False)
    assert {request["model"] for request in seen} == {"local"}
    assert {request["key"] for request in seen} == {f"Bearer {key or 'none'}"}
    assert key is None or key not in call("show", "r1", "--json").stdout


def test_a_server_that_is_not_there_is_an_outcome_and_not_a_traceback(
    call: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ended = call("run", "oncall", "--model", "openai:local", "--json")
    assert (ended.exit_code, document(ended)["reason"]) == (1, "model_error")
