"""Verifiers as data: what has to be true of the world before an answer stands. Nodes look; this only says.

A verifier looks when the answer is given, so what it finds is newer than every effect of the run. All are
read-only by contract: they may run again after a crash or for the next answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from interlock.policies.facts import Fact
from interlock.policies.outcomes import Change
from interlock.policies.record import JsonValue, Record

__all__ = ["Claim", "CommandCheck", "EffectDone", "Fresh", "OwnVerifier", "ToolCheck", "Verifier", "Words"]

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


@dataclass(frozen=True, slots=True)
class Fresh:
    """A required fact that has to be observed after the run's last effect, in a later step.

    A plain key in `require` may have been observed at any time in this run: what an action rests on (whose
    invoice it is) is read before it and stays true. `Fresh` is for what the action is meant to change
    (whether the service is healthy): read before, it says nothing about now.
    """

    key: str
    """Key of the fact."""


class ToolCheck(Record):
    """A read tool of the loop, called once more when the answer is given, and an expectation of its result.

    The call passes the policy like any other read, is bounded by the contract's timeout and the time left
    for verifying, and does not count towards `max_calls`.
    """

    tool: str
    """Name of the tool; only tools whose effect is `read`."""
    arguments: dict[str, JsonValue] = {}
    """Its arguments. A value `{"$fact": KEY}` is the fact's observed value, `{"$answer": JMESPATH}` is taken
    from the answer."""
    expect: str
    """JMESPath over the result as plain data; the check passes when it gives `true` and nothing else."""
    within_s: Annotated[float, Field(ge=0, le=86_400, allow_inf_nan=False)] = 0.0
    """Seconds in which it may come true, tried again and again (a health signal); 0 looks once."""
    every_s: Seconds = 1.0
    """Seconds between two tries."""
    newer_than_run: str | None = None
    """JMESPath to an ISO 8601 timestamp with a time zone in the result, which must not be older than the
    run: a record left by an earlier run does not count."""
    name: str = ""
    """Name in reasons and evidence; by default made of the tool's."""


class CommandCheck(Record):
    """A command and the exit status that it has to end with.

    It runs without a shell, without input, in a process group of its own, which is killed as a whole at the
    time limit and at the end: a child that outlives it does not stay behind, unless it made itself a session.
    """

    argv: Annotated[list[str], Field(min_length=1)]
    """Program and arguments, one item each."""
    cwd: str | Path | None = None
    """Folder in which it runs; by default that of the process."""
    timeout_s: Seconds = 60.0
    """Seconds after which it is killed, which is no pass."""
    expect_status: int = 0
    """Exit status that passes."""
    env: dict[str, str] | None = None
    """Variables in addition to PATH, HOME, locale, time zone and folder for temporary files. Nothing else of
    the process's own environment is passed on, so no secret is."""
    untrusted: bool = True
    """True when its output is outside content; the end of it is what the model is told on failure."""
    name: str = ""
    """Name in reasons and evidence; by default made of the command."""


class EffectDone(Record):
    """Effects of a tool that this run has completed, by the ledger, each with an identifier in its result.

    What an earlier run did does not count.
    """

    tool: str
    """Name of a tool that changes something."""
    identifier: str
    """JMESPath over the recorded result, to the identifier of what was made: a text or a number."""
    answer: str | None = None
    """JMESPath over the answer, to the identifier that it has to name, or a list of such."""
    count: Annotated[int, Field(ge=1)] = 1
    """How many different identifiers there have to be at least."""
    name: str = ""
    """Name in reasons and evidence; by default made of the tool's."""


class Claim(Record):
    """A final answer, and what the run knows, as a verifier of the user's own sees it. A copy for each."""

    answer: JsonValue
    """The answer; with an answer schema, validated and dumped."""
    facts: dict[str, Fact] = {}
    """Observed facts by key."""
    changes: list[Change] = []
    """What this run changed, from the ledger."""
    run_id: str
    goal: str
    steps: int
    """Number of the step that gave the answer."""
    last_effect_at: str | None = None
    """UTC time at which the last effect of the run was completed, ISO 8601; None when there is none."""


Words = str | Iterable[str] | None
"""None or nothing: the claim holds. Words: why it does not."""
OwnVerifier = Callable[[Claim], Words | Awaitable[Words]]
"""A user's own verifier, sync or async. Whatever else it returns or raises is no pass."""
Verifier = ToolCheck | CommandCheck | EffectDone | OwnVerifier
