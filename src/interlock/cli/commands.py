"""The commands. What they need is imported when they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import click

from interlock import __version__
from interlock.cli.bounds import bounding, granting
from interlock.cli.policy import policy
from interlock.cli.refusals import Cli
from interlock.cli.reports import DEFAULT_STORE

__all__ = ["cli"]

EXIT = "Exit status: 0 completed, 1 failed or stopped, 2 bad input, 3 waiting for a person, 130 interrupted."


@click.group(cls=Cli, context_settings={"help_option_names": ["-h", "--help"]}, epilog=EXIT)
@click.version_option(__version__, message="interlock %(version)s")
def cli() -> None:
    """An agent loop in which the model proposes and the application decides."""


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that every command on a store has."""
    store = click.option(
        "--store", default=DEFAULT_STORE, show_default=True, envvar="INTERLOCK_STORE", show_envvar=True,
        metavar="PATH", help="The file that holds the runs.",
    )  # fmt: skip
    return store(as_json(command))


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
by = click.option("--by", help="Who decides; your login name by default.")


@cli.command(epilog='For example: interlock run oncall "Which service caused the checkout incident?"')
@click.argument("words", nargs=-1, metavar="[LOOP] GOAL")
@click.option("--tools", metavar="MODULE:NAME", help="Your tools: a list of LangChain tools or functions.")
@click.option(
    "--model", metavar="MODEL", help="scripted, local, openai:NAME, or MODULE:NAME of a chat model."
)
@click.option("--policy", metavar="FILE", help="A policy file that the run works under.")
@bounding
@click.option("--run-id", help="Id of the run; a new one by default.")
@common
def run(words: tuple[str, ...], store: str, as_json: bool, **options: Any) -> int:
    """Work on a goal until it is reached, a limit stops it, or a person is asked.

    LOOP is a ready-made loop (billing, cleanup, coding, crm, notify, oncall, operations, tickets); without
    one, give your own --tools and --model.
    """
    from interlock.cli.driving import run_command

    return run_command(words, store=store, as_json=as_json, **options)


def deciding(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that make up a person's decision."""
    for option in (
        click.option("--reason", help="Why; kept with the decision."),
        click.option("--respond", metavar="TEXT", help="Answer the question."),
        click.option("--edit", metavar="JSON", help="Let it run with these arguments instead."),
        click.option("--reject", is_flag=True, help="Do not let it run. This is final for the run."),
        click.option("--approve", is_flag=True, help="Let the action run as it was shown."),
    ):
        command = option(command)
    return by(command)


@cli.command()
@click.argument("run_id", metavar="RUN")
@deciding
@granting
@click.option("--approval-id", metavar="ID", help="The question that the decision is for.")
@click.option("--model", metavar="MODEL", help="Go on with another model.")
@common
def resume(run_id: str, store: str, as_json: bool, **options: Any) -> int:
    """Decide what a run asks, or go on with one that a crash or a limit has stopped."""
    from interlock.cli.driving import resume_command

    return resume_command(run_id, store=store, as_json=as_json, **options)


@cli.command()
@click.argument("approval_id", metavar="[APPROVAL]", required=False)
@common
def approvals(approval_id: str | None, store: str, as_json: bool) -> int:
    """List the open questions, or print one in full."""
    from interlock.cli.asking import approvals_command

    return approvals_command(approval_id, store=store, as_json=as_json)


@cli.command()
@click.argument("approval_id", metavar="APPROVAL")
@deciding
@common
def decide(approval_id: str, store: str, as_json: bool, **options: Any) -> int:
    """Decide one question by its id, and go on with its run."""
    from interlock.cli.asking import decide_command

    return decide_command(approval_id, store=store, as_json=as_json, **options)


@cli.command()
@click.argument("run_id", metavar="RUN")
@by
@common
def cancel(run_id: str, store: str, as_json: bool, by: str | None) -> int:
    """End a run before its next action, wherever it is driven."""
    from interlock.cli.driving import cancel_command

    return cancel_command(run_id, store=store, as_json=as_json, by=by)


@cli.command()
@click.option(
    "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="How many, newest first."
)
@common
def runs(store: str, as_json: bool, limit: int) -> int:
    """List the runs, newest first."""
    from interlock.cli.reading import runs_command

    return runs_command(store=store, as_json=as_json, limit=limit)


@cli.command()
@click.argument("run_id", metavar="RUN")
@click.option("--facts", "what", flag_value="facts", help="Only the facts, with source and other values.")
@click.option("--prompts", "what", flag_value="prompts", help="Only what each prompt took, in tokens.")
@common
def show(run_id: str, store: str, as_json: bool, what: Literal["facts", "prompts"] | None) -> int:
    """Print the steps of a run, and how it ended or what it asks."""
    from interlock.cli.reading import show_command

    return show_command(run_id, store=store, as_json=as_json, what=what or "steps")


@cli.command()
@click.argument("loop", required=False, metavar="[LOOP]")
@as_json
def graph(loop: str | None, as_json: bool) -> int:
    """Draw a loop as Mermaid text."""
    from interlock.cli.reading import graph_command

    return graph_command(loop, as_json=as_json)


cli.add_command(policy)
