"""Starting a service, asking it, and stopping it: over HTTP on loopback, never through a proxy."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

from interlock.policies.tool_errors import Retryable, ToolFailure

__all__ = ["ask", "start_service", "stop_service"]

ASK_TIMEOUT_S = 5.0
_open = build_opener(ProxyHandler({})).open


def start_service(database: Path, name: str) -> str:
    """Start the process of a service. Returns its address once it listens.

    Raises:
        ToolFailure: it ended before it listened.
    """
    program = str(Path(__file__).with_name("service.py"))
    process = subprocess.Popen(
        [sys.executable, "-I", program, str(database), name],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    url = ""
    if process.stdout is not None:
        with process.stdout as output:
            url = output.readline().strip()
    threading.Thread(target=process.wait, daemon=True).start()  # or a zombie would stay when it ends
    if not url:
        raise ToolFailure("tool_error", f"the service {name} ended while it was started")
    return url


def ask(url: str, path: str) -> dict[str, Any]:
    """What the service answers, whatever the status: an unhealthy one answers 503.

    Raises:
        Retryable: nobody answers there, or not in time.
    """
    return _request(Request(f"{url}/{path}"))


def stop_service(url: str | None) -> None:
    """Stop the process, if it still runs."""
    if url is None:
        return
    try:
        _request(Request(f"{url}/stop", method="POST"))
    except Retryable:  # it ended before
        return


def _request(request: Request) -> dict[str, Any]:
    try:
        with _open(request, timeout=ASK_TIMEOUT_S) as response:
            found: dict[str, Any] = json.load(response)
    except HTTPError as error:
        with error:
            found = json.load(error)
    except (URLError, HTTPException, OSError) as error:
        raise Retryable(f"the service does not answer: {error}") from error
    return found
