"""Exceptions of a tool as data: which failure it was, and what the model is told of it."""

from __future__ import annotations

import asyncio
import pickle
import socket
import sqlite3
import subprocess
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import httpx
import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import ToolException
from langgraph.errors import GraphBubbleUp, GraphInterrupt, ParentCommand
from langgraph.types import Command
from pydantic import BaseModel, ValidationError

from interlock.nodes.failures import MAX_BYTES, failure_of, is_control_flow
from interlock.policies.tool_errors import (
    Conflict,
    InvalidInput,
    NotFound,
    PermissionDenied,
    Retryable,
    ToolFailure,
)

BY_CODE = {
    400: "invalid_input",
    401: "permission_denied",
    403: "permission_denied",
    404: "not_found",
    405: "tool_error",
    408: "retryable_error",
    409: "conflict",
    410: "not_found",
    412: "conflict",
    418: "tool_error",
    422: "invalid_input",
    429: "retryable_error",
    500: "retryable_error",
    503: "retryable_error",
}


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(int(self.path.strip("/")))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answering) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def by_urllib(url: str) -> None:
    with urllib.request.urlopen(url):
        pass


def by_httpx(url: str) -> None:
    httpx.get(url, trust_env=False).raise_for_status()


def by_requests(url: str) -> None:
    with requests.Session() as session:
        session.trust_env = False
        session.get(url).raise_for_status()


def error_of(call: Any, *args: Any) -> BaseException:
    try:
        call(*args)
    except Exception as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        return error
    raise AssertionError("nothing was raised")


CLIENTS = [by_urllib, by_httpx, by_requests]


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize(("code", "status"), BY_CODE.items())
def test_the_http_status_of_a_real_client_decides(server: str, client: Any, code: int, status: str) -> None:
    found, text = failure_of(error_of(client, f"{server}/{code}"), mutates=False)
    assert found == status
    assert str(code) in text


@pytest.mark.parametrize("client", CLIENTS)
def test_a_server_that_is_not_there_is_retryable_for_every_client(client: Any) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    assert failure_of(error_of(client, f"http://127.0.0.1:{port}/200"), mutates=False)[0] == "retryable_error"


@pytest.mark.parametrize("code", [408, 500, 502, 503, 504])
def test_a_server_error_leaves_the_outcome_of_an_effect_unknown(server: str, code: int) -> None:
    assert failure_of(error_of(by_httpx, f"{server}/{code}"), mutates=True)[0] == "unknown_outcome"


@pytest.mark.parametrize("code", [400, 401, 404, 409, 422, 429])
def test_a_request_that_was_turned_away_changed_nothing(server: str, code: int) -> None:
    assert failure_of(error_of(by_httpx, f"{server}/{code}"), mutates=True)[0] == BY_CODE[code]


def rejected_by_a_model() -> ValidationError:
    class Row(BaseModel):
        id: int

    with pytest.raises(ValidationError) as caught:
        Row.model_validate({"id": "x"})
    return caught.value


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TimeoutError(), "retryable_error"),
        (subprocess.TimeoutExpired("ls", 3), "retryable_error"),
        (ConnectionResetError("reset"), "retryable_error"),
        (httpx.ReadTimeout("slow"), "retryable_error"),
        (httpx.RemoteProtocolError("cut"), "retryable_error"),
        (requests.ConnectionError("lost"), "retryable_error"),
        (urllib.error.URLError(TimeoutError("slow")), "retryable_error"),
        (socket.gaierror(-2, "no such name"), "retryable_error"),
        (PermissionError("no"), "permission_denied"),
        (FileNotFoundError("a.txt"), "not_found"),
        (FileExistsError("a.txt"), "conflict"),
        (ToolException("no"), "tool_error"),
        (ValueError("no"), "tool_error"),
        (rejected_by_a_model(), "tool_error"),
        (sqlite3.IntegrityError("UNIQUE"), "tool_error"),
        (NotFound("no such deploy"), "not_found"),
        (Conflict("moved on"), "conflict"),
        (InvalidInput("no such zone"), "invalid_input"),
        (PermissionDenied("token"), "permission_denied"),
        (Retryable("busy"), "retryable_error"),
        (ToolFailure("unknown_outcome", "the gateway did not say"), "unknown_outcome"),
        (ExceptionGroup("two", [TimeoutError(), ValueError()]), "retryable_error"),
        (ExceptionGroup("one", [NotFound("x")]), "not_found"),
        (ExceptionGroup("mixed", [NotFound("x"), Conflict("y")]), "tool_error"),
    ],
)
def test_the_type_of_an_exception_decides(error: Exception, status: str) -> None:
    assert failure_of(error, mutates=False)[0] == status


@pytest.mark.parametrize("error", [KeyError("id"), IndexError("x"), AttributeError("x"), LookupError("x")])
@pytest.mark.parametrize("mutates", [True, False])
def test_a_mistake_inside_a_tool_never_counts_as_a_confirmed_absence(error: Exception, mutates: bool) -> None:
    assert failure_of(error, mutates=mutates)[0] == "tool_error"


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        ConnectionResetError(),
        httpx.ReadTimeout("slow"),
        ExceptionGroup("g", [TimeoutError(), Retryable("x")]),
    ],
)
def test_an_effect_that_broke_off_has_an_unknown_outcome(error: Exception) -> None:
    assert failure_of(error, mutates=True)[0] == "unknown_outcome"


@pytest.mark.parametrize(
    "error",
    [
        Retryable("busy"),
        ConnectionRefusedError("refused"),
        urllib.error.URLError(ConnectionRefusedError("refused")),
        ExceptionGroup("g", [Retryable("x")]),
    ],
)
def test_an_effect_that_never_began_may_be_tried_again(error: Exception) -> None:
    assert failure_of(error, mutates=True)[0] == "retryable_error"


class Nested(Exception):
    """The shape of botocore's ClientError."""

    def __init__(self) -> None:
        self.response = {"ResponseMetadata": {"HTTPStatusCode": 404}}


class Hostile(Exception):
    @property
    def response(self) -> Any:
        raise RuntimeError("no response")

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_a_status_inside_of_a_response_of_plain_data_counts() -> None:
    assert failure_of(Nested(), mutates=False)[0] == "not_found"


def test_an_exception_that_cannot_be_read_still_says_its_type() -> None:
    assert failure_of(Hostile(), mutates=False) == ("tool_error", "Hostile: (its text cannot be read)")


def test_an_exception_without_a_message_still_says_its_type() -> None:
    assert failure_of(TimeoutError(), mutates=False) == ("retryable_error", "TimeoutError")


@given(st.text(st.characters()) | st.text("é\u202e\n \x00", min_size=900))
def test_the_text_of_an_error_is_one_short_line_without_hidden_characters(message: str) -> None:
    text = failure_of(RuntimeError(message), mutates=False)[1]
    assert len(text.splitlines()) == 1
    assert len(text.encode("utf-8")) <= MAX_BYTES
    assert "\u202e" not in text


def test_a_long_text_says_that_it_was_cut() -> None:
    assert failure_of(RuntimeError("x" * 9_000), mutates=False)[1].endswith("… [cut]")


@pytest.mark.parametrize(
    "error", [GraphInterrupt(), ParentCommand(Command()), ExceptionGroup("g", [GraphBubbleUp()])]
)
def test_the_graphs_own_signals_are_recognised(error: Exception) -> None:
    assert is_control_flow(error)


@pytest.mark.parametrize(
    "error", [ValueError(), asyncio.CancelledError(), ExceptionGroup("g", [ValueError()])]
)
def test_other_exceptions_are_no_signals_of_the_graph(error: BaseException) -> None:
    assert not is_control_flow(error)


@pytest.mark.parametrize("error", [NotFound("no such deploy"), ToolFailure("conflict", "no such deploy")])
def test_a_failure_survives_the_way_out_of_a_worker_process(error: ToolFailure) -> None:
    back = pickle.loads(pickle.dumps(error))
    assert (type(back), back.status, str(back)) == (type(error), error.status, "no such deploy")


def test_a_failure_cannot_claim_success() -> None:
    with pytest.raises(ValueError, match="no status of a failure"):
        ToolFailure("ok", "fine")  # type: ignore[arg-type]
