"""Verifiers of the user's own: called with the claim, bounded in time; only silence is a pass."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from itertools import islice
from typing import Any

from interlock.nodes.failures import is_control_flow
from interlock.nodes.looking import Finding, Look, words
from interlock.nodes.workers import in_thread
from interlock.policies.verifiers import Claim, OwnVerifier

__all__ = ["asked"]

MAX_REASONS = 10
"""Reasons that are taken from one verifier."""
GRACE_S = 0.2
"""Seconds that an async verifier has to end after it was cancelled, before its thread is left behind."""


class _Odd(Exception):
    """What a verifier did that says neither yes nor no; the text says what."""


async def asked(verifier: OwnVerifier, look: Look) -> Finding:
    """Ask the verifier. Whatever it raises is no pass, except LangGraph's control flow."""
    claim, left = look.claim.model_copy(deep=True), look.left()
    in_place = look.deps.asynchronous and _is_async(verifier)
    run = _awaited(verifier, claim, left) if in_place else _in_thread(verifier, claim, left)
    try:
        reasons = await look.deps.io(run)
    except Exception as error:
        if is_control_flow(error):
            raise
        return Finding(False, words(_happened(error)))
    return Finding(not reasons, words("; ".join(reasons)))


def _is_async(verifier: OwnVerifier) -> bool:
    return inspect.iscoroutinefunction(verifier) or inspect.iscoroutinefunction(type(verifier).__call__)


def _awaited(verifier: OwnVerifier, claim: Claim, left: float) -> Callable[[], Any]:
    """An async verifier in the event loop of the async graph."""

    async def run() -> list[str]:
        task = asyncio.current_task()
        try:
            return _reasons(await _limited(verifier(claim), left))
        except asyncio.CancelledError as error:
            if task is not None and task.cancelling():
                raise  # the run itself was cancelled
            raise _Odd("raised CancelledError") from error
        except SystemExit as error:
            raise _Odd("raised SystemExit") from error

    return run


def _in_thread(verifier: OwnVerifier, claim: Claim, left: float) -> Callable[[], list[str]]:
    """Any verifier in a thread of its own. A sync one cannot be cancelled: its thread is left behind."""

    def work() -> list[str]:
        try:
            value = verifier(claim)
            if inspect.isawaitable(value):
                value = asyncio.run(_limited(value, left))
            return _reasons(value)
        except BaseException as error:  # the rest would end the process: a verifier may not
            if isinstance(error, Exception):
                raise
            raise _Odd(f"raised {type(error).__name__}: {error}") from error

    def run() -> list[str]:
        context = copy_context()
        future = in_thread(lambda: context.run(work))
        try:
            return future.result(left + (GRACE_S if _is_async(verifier) else 0))  # type: ignore[no-any-return]
        except TimeoutError:
            if future.done():
                return future.result()  # type: ignore[no-any-return]
            raise _Odd(f"did not answer within {left:.3g} s") from None

    return run


async def _limited(value: Any, left: float) -> Any:
    scope = asyncio.timeout(left)
    try:
        async with scope:
            return await value
    except TimeoutError:
        if scope.expired():
            raise _Odd(f"did not answer within {left:.3g} s") from None
        raise


def _reasons(value: Any) -> list[str]:
    """Why the claim does not hold; empty when it does. Raises _Odd for anything that is not words."""
    if value is None or value == "":
        return []
    given = [value] if isinstance(value, str) else _items(value)
    if any(not isinstance(one, str) or not one.strip() for one in given):
        raise _Odd("gave reasons that are not all words")
    return given


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple | set | frozenset | Iterator):
        raise _Odd(
            f"returned {_shown(value)}, which says nothing; return None when the claim holds, or words"
        )
    taken: Iterable[Any] = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    return list(islice(taken, MAX_REASONS))


def _shown(value: Any) -> str:
    return str(value) if isinstance(value, bool) else f"a {type(value).__name__}"


def _happened(error: Exception) -> str:
    if isinstance(error, _Odd):
        return f"it {error}"
    return f"it raised {type(error).__name__}: {error}" if str(error) else f"it raised {type(error).__name__}"
