"""Daemon threads that run one call at a time and are used again: a new thread per call costs more than most
tools, and the executor of the standard library would wait at exit for a tool that hangs."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any

__all__ = ["in_thread"]

Job = tuple[Callable[[], Any], "Future[Any]"]

_idle: deque[SimpleQueue[Job]] = deque()
os.register_at_fork(after_in_child=_idle.clear)


def in_thread(work: Callable[[], Any]) -> Future[Any]:
    """Start `work` in a daemon thread. Whatever it raises is in the future, control flow included."""
    future: Future[Any] = Future()
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        threading.Thread(target=_serve, args=(jobs,), name="interlock-tool", daemon=True).start()
    jobs.put((work, future))
    return future


def _serve(jobs: SimpleQueue[Job]) -> None:
    while True:
        work, future = jobs.get()
        try:
            result = work()
        except BaseException as error:  # control flow too: the waiting node raises it again
            future.set_exception(error)
        else:
            future.set_result(result)
        del work, future
        _idle.append(jobs)
