"""A server for one model in a child process, on a port of 127.0.0.1 that was free."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Self
from urllib.request import ProxyHandler, build_opener

from interlock.local.weights import HOW
from interlock.policies.errors import BadLoop

__all__ = ["LocalServer"]


class LocalServer:
    """Runs until it is closed, until this process ends, or until this process is killed.

    Args:
        weights: a GGUF file.
        threads: threads that compute.
        context: tokens of prompt and reply together.
        output_tokens: tokens of one reply at most.
        ready_s: seconds that loading may take.

    Raises:
        BadLoop: the library is not installed, or the server did not start; with its last words.
    """

    def __init__(
        self,
        weights: Path,
        *,
        threads: int = 2,
        context: int = 8192,
        output_tokens: int = 400,
        ready_s: float = 120.0,
    ) -> None:
        if find_spec("xllamacpp") is None:
            raise BadLoop(HOW)
        settings = {
            "weights": str(weights),
            "threads": threads,
            "context": context,
            "output_tokens": output_tokens,
        }
        self._said = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  # see close
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "interlock.local.child", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env={**os.environ, "OMP_WAIT_POLICY": "passive"},  # idle threads would spin on a busy machine
            start_new_session=True,  # Ctrl-C is for the run, which may still need an answer to end well
        )
        atexit.register(self.close)
        self.address = self._ready(ready_s)
        """Where the server listens, without a path."""

    @property
    def url(self) -> str:
        """Base address for a client of the OpenAI API."""
        return f"{self.address}/v1"

    @property
    def alive(self) -> bool:
        """Whether the child process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Id of the child process."""
        return self._process.pid

    def close(self) -> None:
        """End the child process. A second time does nothing."""
        atexit.unregister(self.close)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._said.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ready(self, ready_s: float) -> str:
        """The address, once the server answers there."""
        late = Timer(ready_s, self._process.kill)
        late.start()
        try:
            address = self._process.stdout.readline().strip() if self._process.stdout else ""
            if address:
                with build_opener(ProxyHandler({})).open(f"{address}/health", timeout=ready_s) as answer:
                    answer.read()
                return address
        except OSError:
            pass  # told below, with what the server said
        finally:
            late.cancel()
        words = self._last_words()
        self.close()
        raise BadLoop(f"the local model's server did not start within {ready_s:g} s. Its last words: {words}")

    def _last_words(self) -> str:
        self._said.seek(0)
        return " / ".join(line.strip() for line in self._said.readlines()[-3:]) or "none"
