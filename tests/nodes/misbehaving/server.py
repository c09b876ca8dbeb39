"""A server on loopback that speaks the OpenAI chat completions API, badly where a test asks for it.

It is as strict as the real ones about what it is sent: a history in which a call has no result, or a result
no call, is a 400, so that every test that talks to it checks the pairing of calls and results as well.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, cast

from tests.nodes.misbehaving.replies import chunks_of, problem_with

__all__ = [
    "Answer",
    "Exchange",
    "Server",
    "drops",
    "drops_in_stream",
    "fails",
    "hangs",
    "says",
    "sends",
    "serving",
    "streams",
]

Answer = Callable[["Exchange"], None]
"""What the server does with one request."""


class Server(ThreadingHTTPServer):
    """Answers with what it was given, one by one, and keeps what it was asked."""

    daemon_threads = True

    answers: list[Answer]
    requests: list[dict[str, Any]]
    refuses: Callable[[dict[str, Any]], str | None]
    """Why this server takes no such request at all; None when it does."""
    released: Event
    """Lets requests go that hang."""

    def __init__(self) -> None:
        self.reset()
        super().__init__(("127.0.0.1", 0), Exchange)

    def reset(self) -> None:
        """Forget what was asked and what would be answered."""
        self.answers, self.requests, self.released = [], [], Event()
        self.refuses = lambda request: None

    @property
    def url(self) -> str:
        """Base address, as a client wants it."""
        return f"http://127.0.0.1:{self.server_port}/v1"

    def says(self, status: int = 200, headers: dict[str, str] | None = None, **body: Any) -> None:
        """Add an answer: a body with a status, streamed where the client asks for that."""
        self.answers.append(says(body) if status == 200 else sends(status, json.dumps(body), headers))


class Exchange(BaseHTTPRequestHandler):
    """One request and its answer."""

    protocol_version = "HTTP/1.1"
    asked: dict[str, Any]

    @property
    def of(self) -> Server:
        """The server that was asked."""
        return cast(Server, self.server)

    def do_POST(self) -> None:
        self.close_connection = True
        self.asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        refused = problem_with(self.asked["messages"]) or self.of.refuses(self.asked)
        self.of.requests.append(self.asked)
        if refused is not None:
            fails(400, refused)(self)
        elif not self.of.answers:
            fails(418, "this server was asked more often than the test expects")(self)
        else:
            self.of.answers.pop(0)(self)

    def head(self, status: int, headers: dict[str, str]) -> None:
        """Status line and headers."""
        self.send_response(status)
        for name, value in {"content-type": "application/json", "connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def stream(self, chunks: Sequence[dict[str, Any]]) -> None:
        """Begins a body of events."""
        self.head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        for chunk in chunks:
            self.chunk(f"data: {json.dumps(chunk)}\n\n".encode())

    def chunk(self, data: bytes) -> None:
        """One chunk of a body without a known length; an empty one ends it."""
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is its own."""


@contextmanager
def serving() -> Generator[Server]:
    """A server that runs until the block ends."""
    with Server() as running:
        thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield running
        finally:
            running.released.set()
            running.shutdown()
            thread.join()


def says(body: dict[str, Any]) -> Answer:
    """A chat completion, whole or streamed, as the client asks."""

    def answer(exchange: Exchange) -> None:
        given = streams(chunks_of(body)) if exchange.asked.get("stream") else sends(200, json.dumps(body))
        given(exchange)

    return answer


def streams(chunks: Sequence[dict[str, Any]], *, hangs: bool = False) -> Answer:
    """A reply in these pieces.

    Args:
        hangs: the stream does not end.
    """

    def answer(exchange: Exchange) -> None:
        released = exchange.of.released
        exchange.stream(chunks)
        if hangs:
            released.wait(30)
        exchange.chunk(b"data: [DONE]\n\n")
        exchange.chunk(b"")

    return answer


def sends(status: int, text: str, headers: dict[str, str] | None = None) -> Answer:
    """Any status with any text."""

    def answer(exchange: Exchange) -> None:
        data = text.encode()
        exchange.head(status, {"content-length": str(len(data)), **(headers or {})})
        exchange.wfile.write(data)

    return answer


def fails(status: int, message: str, headers: dict[str, str] | None = None, **error: Any) -> Answer:
    """An error in the API's own shape."""
    body = {"error": {"message": message, "type": "error", "param": None, "code": None, **error}}
    return sends(status, json.dumps(body), headers)


def hangs(after: str | None = None) -> Answer:
    """No answer before the server is told to let go.

    Args:
        after: what is sent before that, as the beginning of a body; None sends not even a header.
    """

    def answer(exchange: Exchange) -> None:
        released = exchange.of.released
        if after is not None:
            exchange.head(200, {"content-length": str(len(after) + 1)})
            exchange.wfile.write(after.encode())
        released.wait(30)

    return answer


def drops(after: str | None = None) -> Answer:
    """The connection breaks off: before the headers, or after a part of the body."""

    def answer(exchange: Exchange) -> None:
        if after is not None:
            exchange.head(200, {"content-length": str(len(after) + 100)})
            exchange.wfile.write(after.encode())

    return answer


def drops_in_stream(body: dict[str, Any], *, chunks: int, politely: bool = False) -> Answer:
    """A stream that breaks off after some of its chunks.

    Args:
        politely: the body is ended as if it were complete, only without its last chunks.
    """

    def answer(exchange: Exchange) -> None:
        exchange.stream(chunks_of(body)[:chunks])
        if politely:
            exchange.chunk(b"")

    return answer
