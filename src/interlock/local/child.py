"""The child process: serves a model on loopback until its standard input ends.

The parent holds the other end, so that the child ends with it, also when the parent is killed.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__all__: list[str] = []


def _serve(weights: str, threads: int, context: int, output_tokens: int) -> Any:
    """Starts the server; it listens when this returns."""
    library: Any = import_module("xllamacpp")
    params = library.CommonParams()
    params.model.path = weights
    params.model_alias = {Path(weights).stem}  # else replies carry the path, and with them the trace
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # the system picks a free one, and nobody can take it in between
    params.offline = True
    params.use_jinja = True
    params.ui = False
    params.warmup = False
    params.n_parallel = 1
    params.n_ctx = context
    params.n_predict = output_tokens
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    return library.Server(params)


def main(settings: str) -> None:
    """Serve as the settings say, a JSON object of the arguments above; print the address as one line."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the library prints goes with its messages
    server = _serve(**json.loads(settings))
    print(server.listening_address, file=told, flush=True)
    sys.stdin.buffer.read()
    os._exit(0)  # its threads may be in the middle of a reply that nobody waits for


if __name__ == "__main__":
    main(sys.argv[1])
