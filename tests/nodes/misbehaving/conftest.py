"""The server as new, and a bench in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nodes.misbehaving.bench import Bench
from tests.nodes.misbehaving.server import Server, serving


@pytest.fixture(scope="session")
def running() -> Iterator[Server]:
    """One server for all tests: a client of a new address loads certificates, which takes longest."""
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Iterator[Server]:
    """A server whose answers all have to be asked for by the end of the test."""
    running.reset()
    yield running
    running.released.set()
    assert running.answers == [], "the server was asked less often than the test expects"


@pytest.fixture(params=[False, True], ids=["whole", "in pieces"])
def streaming(request: pytest.FixtureRequest) -> bool:
    """Whether replies are asked for in pieces: what comes of them has to be the same."""
    return bool(request.param)


@pytest.fixture
def bench(server: Server, tmp_path: Path, streaming: bool) -> Bench:
    return Bench(server, tmp_path, streaming)
