"""Runs as people read them: steps as they happen, the outcome, what is asked and how to decide."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.cli.bounds import lifting
from interlock.cli.refusals import COMPLETED, FAILED, WAITING
from interlock.cli.terminal import Terminal
from interlock.cli.words import call_text, counted, parts_of, usage_text

if TYPE_CHECKING:
    from interlock.graphs.running import Event, Thought
    from interlock.policies.outcomes import Outcome
    from interlock.policies.runs import Run

__all__ = [
    "DEFAULT_STORE",
    "Progress",
    "command_for",
    "exit_status",
    "report_question",
    "report_run",
    "report_steps",
]

DEFAULT_STORE = "runs.db"

_TONES = {"completed": "green", "failed": "red", "stopped": "yellow", "cancelled": "yellow"}


class Progress:
    """Prints each part of a step once, when it happens."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._shown: set[tuple[int, str]] = set()
        self._thinking = (0, 0)

    def __call__(self, event: Event) -> None:
        """Take one event of a run."""
        if event.record:
            self.show(event.record, ended=event.outcome is not None)

    def think(self, thought: Thought) -> None:
        """Print a piece of a thought as it comes; the whole is not printed once more."""
        self._once(thought.step, "", f"step {thought.step}", tone="bold")
        begins = (thought.step, thought.attempt) != self._thinking
        self._thinking = (thought.step, thought.attempt)
        self._shown.add((thought.step, "thought"))
        self._terminal.piece(thought.text, "dim", label="thought" if begins else "")

    def show(self, record: Mapping[str, Any], ended: bool) -> None:
        """Print what is new about a step (dumped StepRecord)."""
        step = int(record["step"])
        self._once(step, "", f"step {step}", tone="bold")
        for part in parts_of(record, ended):
            self._once(step, part.key, part.text, tone=part.tone, label=part.label)

    def _once(self, step: int, key: str, text: str, tone: str | None, label: str = "") -> None:
        if (step, key) in self._shown:
            return
        self._shown.add((step, key))
        if not key:
            self._terminal.line()
        self._terminal.line(text, tone, label=label)


def report_steps(records: Sequence[Mapping[str, Any]], terminal: Terminal, ended: bool) -> None:
    """Print the steps of a run that is not going on right now."""
    progress = Progress(terminal)
    for record in records:
        progress.show(record, ended)


def report_run(run: Run, store: str, terminal: Terminal) -> None:
    """Print how a run ended, or what it waits for and how to decide."""
    terminal.line()
    if run.outcome is not None:
        _report_outcome(run.run_id, run.outcome, store, terminal)
    elif run.pending:
        for question in run.pending:
            report_question(run.run_id, question, store, terminal)
    else:
        terminal.line(f"{run.status}: run {run.run_id} after {counted(run.steps, 'step')}", "yellow")
        if run.status == "lost":
            terminal.line(command_for("resume", run.run_id, store=store), label="go on")


def exit_status(run: Run) -> int:
    """The exit status that stands for where a run is."""
    match run.status:
        case "completed" | "running":
            return COMPLETED
        case "waiting":
            return WAITING
        case _:
            return FAILED


def command_for(command: str, run_id: str, *options: str, store: str) -> str:
    """A command that works from where the user is."""
    where = [] if store == DEFAULT_STORE else ["--store", store]
    return f"{_program()} {shlex.join([command, run_id, *options, *where])}"


def _report_outcome(run_id: str, outcome: Outcome, store: str, terminal: Terminal) -> None:
    ended = outcome.model_dump(mode="json")
    head = f"{ended['status']} ({ended['reason']}) after {counted(ended['steps'], 'step')}: run {run_id}"
    terminal.line(head, _TONES.get(ended["status"]))
    if ended["answer"] is None:
        terminal.line(ended["message"], label="why", whole=True)
    else:
        answer = ended["answer"]
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, indent=2)
        terminal.line(text, label="answer", whole=True)
    for fact in (one for one in ended["evidence"] if one["previous"]):
        others = ", ".join(json.dumps(one["value"], ensure_ascii=False) for one in fact["previous"])
        terminal.line(f"{fact['key']} was also {others}", "yellow", label="conflict")
    for check in ended["checks"]:
        terminal.line(f"{check['name']}: {check['detail'] or 'holds'}", "green", label="verified")
    for change in ended["changes"]:
        who = f", approved by {change['approved_by']}" if change["approved_by"] else ""
        text = (
            f"{call_text(change['tool'], change['arguments'])}: {change['status']} in step {change['step']}"
        )
        terminal.line(f"{text}{who}", label="changed", whole=True)
    for item in ended["unfinished"]:
        terminal.line(f"{item['what']}: {item['why']}", label="open", whole=True)
    terminal.line(usage_text(ended["usage"]), "dim", label="used")
    if options := lifting(outcome):
        terminal.line(command_for("resume", run_id, *options, store=store), label="go on", whole=True)


def report_question(run_id: str, question: Mapping[str, Any], store: str, terminal: Terminal) -> None:
    """Print a question (an interrupt's payload), and the commands that decide it."""
    terminal.line(f"waiting for a person: run {run_id}, step {question['step']}", "yellow")
    terminal.line(question["text"], label="asks", whole=True)
    if question["kind"] in ("approval", "in_doubt"):
        runs = call_text(question["tool"], question["arguments"])
        terminal.line(runs, "bold", label="would run", whole=True)
        terminal.line(f"{question['digest'][:16]} (risk {question['risk']}, rule {question['rule']})", "dim",
                      label="digest")  # fmt: skip
    for name, source in (question.get("provenance") or {}).items():
        terminal.line(f"{name} comes from {source}", label="source", whole=True)
    if question.get("preview") is not None:
        terminal.line(json.dumps(question["preview"], ensure_ascii=False), label="preview", whole=True)
    if question.get("expires_at"):
        terminal.line(f"{question['expires_at'][:16].replace('T', ' ')} UTC", "dim", label="expires")
    if question.get("approvers"):
        terminal.line(" or ".join(question["approvers"]), label="who")
    terminal.line("decide with one of")
    for options in _decisions(question):
        terminal.line(f"  {command_for('resume', run_id, *options, store=store)}", whole=True)


def _decisions(question: Mapping[str, Any]) -> list[list[str]]:
    """The options of `resume` that answer this question."""
    arguments = json.dumps(question["arguments"], ensure_ascii=False)
    known = {
        "approve": ["--approve"],
        "reject": ["--reject", "--reason", "WHY"],
        "edit": ["--edit", arguments],
        "respond": ["--respond", "TEXT"],
    }
    allowed = question["review_configs"][0]["allowed_decisions"]
    bound = ["--approval-id", str(question["approval_id"])]
    return [[*known[name], *bound] for name in known if name in allowed]


def _program() -> str:
    """How the user can call this program again."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m interlock"
    found = shutil.which("interlock")
    if called.name != "interlock" or (found and os.path.realpath(found) == os.path.realpath(called)):
        return "interlock"
    return shlex.quote(sys.argv[0])
