"""The commands that take a run on: run, resume, cancel."""

from __future__ import annotations

import getpass
import json
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from interlock import cancel as cancel_run
from interlock import open_store
from interlock import resume as resume_run
from interlock import start as start_run
from interlock.checkpoints import Store
from interlock.cli.bounds import bounds_of, grant_of
from interlock.cli.building import (
    LOOPS,
    SCRIPTED,
    Spec,
    build_loop,
    no_such_loop,
    prepare_world,
    spec_of,
    world_of,
)
from interlock.cli.refusals import Interrupted
from interlock.cli.reports import Progress, command_for, exit_status, report_run
from interlock.cli.terminal import Terminal
from interlock.graphs.loop import deps_of
from interlock.policies.canonical import ArgumentsError, parse_object
from interlock.policies.errors import AlreadyDecided, BadDecision, BadLoop, RunFinished
from interlock.policies.questions import HumanDecision
from interlock.policies.runs import Run
from interlock.testing import ScriptedModel

__all__ = ["cancel_command", "resume_command", "run_command"]

RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def run_command(
    words: Sequence[str],
    *,
    store: str,
    as_json: bool,
    tools: str | None,
    model: str | None,
    policy: str | None,
    price: str | None,
    run_id: str | None,
    **bounds: Any,
) -> int:
    """`interlock run`: start a run and show its steps."""
    if run_id is not None and not RUN_ID.fullmatch(run_id):
        raise click.BadParameter("a run id has letters, digits, '.', '_' and '-'", param_hint="--run-id")
    spec, goal = _wanted(words, store, tools, model, policy)
    spec = spec.model_copy(update={"bounds": bounds_of(bounds), "price": price})
    terminal = Terminal(as_json)
    with open_store(store) as opened, terminal.kept_clean():
        loop = build_loop(spec, opened, goal)
        run_id = run_id or deps_of(loop).ids()
        prepare_world(spec, opened)
        terminal.line(f"run {run_id}: {goal}", "bold", whole=True)
        terminal.line(_about(spec.model), "dim", label="model")
        with _interruptible(run_id, store):
            run = start_run(
                loop, goal, run_id=run_id, name=spec.loop, spec=spec.dump(), on_event=Progress(terminal)
            )
    return _finished(run, store, terminal)


def resume_command(
    run_id: str,
    *,
    store: str,
    as_json: bool,
    model: str | None,
    approval_id: str | None,
    reason: str | None,
    respond: str | None,
    edit: str | None,
    reject: bool,
    approve: bool,
    by: str | None,
    **added: Any,
) -> int:
    """`interlock resume`: decide, add to the bounds, or go on after a crash."""
    decision = _decision(approve, reject, edit, respond, reason, by)
    add = grant_of(added)
    terminal = Terminal(as_json)
    with open_store(store, must_exist=True) as opened, terminal.kept_clean():
        row = opened.runs.get(run_id)
        if row.outcome is not None and add is None:  # said before tools are loaded that may be gone
            raise RunFinished(f"run {run_id} ended: {row.outcome.status}, {row.outcome.reason}")
        spec = spec_of(row)
        spec = spec.model_copy(update={"model": model}) if model else spec
        loop = build_loop(spec, opened, row.goal)
        if decision is not None and approval_id is None:
            approval_id = _seen(opened, run_id)
        terminal.line(f"run {run_id}: {row.goal}", "bold", whole=True)
        with _interruptible(run_id, store):
            run = resume_run(
                loop, run_id, decision, approval_id=approval_id, add=add, on_event=Progress(terminal)
            )
    return _finished(run, store, terminal)


def _seen(store: Store, run_id: str) -> str | None:
    """The question that a decision without an id is for: one that was asked before this command began.

    Raises:
        AlreadyDecided: the question that was open then is closed, and another one took its place.
    """
    asked = store.approvals.pending(run_id)
    if len(asked) != 1:
        return None
    question = asked[0].question
    if datetime.fromisoformat(question.created_at) > click.get_current_context().obj:
        raise AlreadyDecided(
            f"run {run_id} has moved on: it now asks {question.approval_id}, after this command had begun; "
            "look at it before you decide"
        )
    return question.approval_id


def cancel_command(run_id: str, *, store: str, as_json: bool, by: str | None) -> int:
    """`interlock cancel`: ask for the end, and bring it about when nobody drives the run."""
    terminal = Terminal(as_json)
    with open_store(store, must_exist=True) as opened, terminal.kept_clean():
        run = cancel_run(opened, run_id, by=by or _login())
        said = f"asked run {run_id} to stop; the process that drives it does so before its next action"
        if run.status != "running":
            try:
                run, said = _driven_to_its_end(opened, run_id), ""
            except BadLoop as error:
                said = f"the request is recorded and holds when the run is resumed: {error}"
    if said:
        terminal.line(said)
    return _finished(run, store, terminal, quiet=bool(said))


def _driven_to_its_end(store: Store, run_id: str) -> Run:
    """Bring a run that nobody drives to its cancelled outcome; no model is asked on the way.

    Raises:
        BadLoop: the loop cannot be built here.
    """
    row = store.runs.get(run_id)
    loop = build_loop(spec_of(row), store, row.goal, model=ScriptedModel([]))
    return cancel_run(store, run_id, by=row.cancel_by or _login(), loop=loop)


def _wanted(
    words: Sequence[str],
    store: str,
    tools: str | None,
    model: str | None,
    policy: str | None,
) -> tuple[Spec, str]:
    """What is to be run, and for which goal."""
    loop, goal = _split(words, tools)
    if not goal.strip():
        raise click.UsageError("the goal is empty")
    if not loop and model is None:
        raise click.UsageError("name the model for your tools: --model openai:NAME or --model MODULE:NAME")
    spec = Spec(
        loop=loop,
        tools=tools,
        model=model or SCRIPTED,
        world=str(world_of(store, loop)) if loop else None,
        policy=str(Path(policy).absolute()) if policy else None,
        folder="" if loop else str(Path.cwd()),
    )
    return spec, goal


def _split(words: Sequence[str], tools: str | None) -> tuple[str, str]:
    """Name of the ready-made loop, or nothing, and the goal."""
    if len(words) > 2:
        raise click.UsageError("too many words: put the goal in quotes")
    if words and words[0] in LOOPS:
        if tools is not None:
            raise click.UsageError(f"{words[0]} has its own tools: give LOOP or --tools, not both")
        return words[0], words[1] if len(words) == 2 else LOOPS[words[0]].goal
    if len(words) == 2:
        raise no_such_loop(words[0])
    ready = f"a ready-made loop: {', '.join(LOOPS)}"
    if not words:
        raise click.UsageError(f"give a goal, or {ready}")
    if tools is None:
        raise click.UsageError(f"give your tools with --tools MODULE:NAME, or {ready}")
    return "", words[0]


def _decision(
    approve: bool, reject: bool, edit: str | None, respond: str | None, reason: str | None, by: str | None
) -> HumanDecision | None:
    """The decision that the options say, if any. Raises BadDecision."""
    given = [
        name
        for name, value in (("approve", approve), ("reject", reject), ("edit", edit), ("respond", respond))
        if value not in (False, None)
    ]
    if len(given) > 1:
        raise BadDecision(
            f"{' and '.join(f'--{name}' for name in given)} exclude each other; nothing was recorded"
        )
    if not given:
        if reason or by:
            raise BadDecision(
                "--reason and --by belong to a decision: --approve, --reject, --edit or --respond"
            )
        return None
    return HumanDecision.load(
        {
            "type": given[0],
            "message": respond,
            "arguments": _edited(edit) if edit is not None else None,
            "by": by or _login(),
            "reason": reason,
        }
    )


def _edited(text: str) -> dict[str, Any]:
    try:
        return parse_object(text)
    except ArgumentsError as error:
        raise BadDecision(f"--edit takes a JSON object of arguments: {error}; nothing was recorded") from None


def _login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"


def _about(model: str) -> str:
    if model != SCRIPTED:
        return model
    return "scripted: the decisions were written in advance; --model openai:NAME asks a real one"


@contextmanager
def _interruptible(run_id: str, store: str) -> Generator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Interrupted(
            f"interrupted; nothing is lost, go on with: {command_for('resume', run_id, store=store)}"
        ) from None


def _finished(run: Run, store: str, terminal: Terminal, quiet: bool = False) -> int:
    if terminal.as_json:
        terminal.document(json.loads(json.dumps(run.document())))
    elif not quiet:
        report_run(run, store, terminal)
    return exit_status(run)
