"""The commands that only look: runs, show, graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from interlock import create_loop, open_store
from interlock import inspect as inspect_run
from interlock.cli.building import Spec, build_loop
from interlock.cli.memory import facts_of, prompts_of, report_facts, report_prompts
from interlock.cli.refusals import COMPLETED
from interlock.cli.reports import report_run, report_steps
from interlock.cli.terminal import Terminal
from interlock.policies.runs import RunRow
from interlock.testing import ScriptedModel

__all__ = ["graph_command", "runs_command", "show_command"]

Part = Literal["steps", "facts", "prompts"]
"""What of a run is shown."""

TONES = {"completed": "green", "failed": "red", "waiting": "yellow", "lost": "yellow"}


def runs_command(*, store: str, as_json: bool, limit: int) -> int:
    """`interlock runs`: a table, newest first."""
    terminal = Terminal(as_json)
    with open_store(store, must_exist=True) as opened:
        rows = opened.runs.list(limit=limit)
    if as_json:
        terminal.document([_listed(row) for row in rows])
        return COMPLETED
    width = max([len(row.run_id) for row in rows], default=0)
    for row in rows:
        reason = f" ({row.outcome.reason})" if row.outcome else ""
        head = f"{row.run_id:<{width}}  {row.status + reason:<28} {row.created_at[:16].replace('T', ' ')}"
        terminal.line(f"{head}  {row.loop or '-':<7} {row.goal}", TONES.get(row.status))
    if not rows:
        terminal.line(f"no runs in {store}")
    return COMPLETED


def show_command(run_id: str, *, store: str, as_json: bool, what: Part = "steps") -> int:
    """`interlock show`: the steps and where the run stands, or only its facts or its prompts."""
    terminal = Terminal(as_json)
    with open_store(store, must_exist=True) as opened:
        row, run = opened.runs.get(run_id), inspect_run(opened, run_id)
        records = opened.traces.steps(run_id)
    if what != "steps":
        return _show_part(run_id, records, what, terminal)
    if as_json:
        terminal.document({**run.document(), "goal": row.goal, "loop": row.loop, "records": records})
        return COMPLETED
    terminal.line(f"run {run_id}: {row.goal}", "bold", whole=True)
    report_steps(records, terminal, ended=row.outcome is not None)
    if row.cancel_requested_at and row.outcome is None:
        terminal.line(f"{row.cancel_by} asked for its end at {row.cancel_requested_at[:16]}", label="cancel")
    report_run(run, store, terminal)
    return COMPLETED


def _show_part(run_id: str, records: Sequence[Mapping[str, Any]], what: Part, terminal: Terminal) -> int:
    found = facts_of(records) if what == "facts" else prompts_of(records)
    if terminal.as_json:
        terminal.document({"run_id": run_id, what: found})
    report = report_facts if what == "facts" else report_prompts
    report(found, terminal)
    return COMPLETED


def graph_command(loop: str | None, *, as_json: bool) -> int:
    """`interlock graph`: the nodes and edges, drawn without the network."""
    terminal = Terminal(as_json)
    with open_store() as nowhere:
        if loop is None:
            built = create_loop(ScriptedModel([]), [], store=nowhere)
        else:
            spec = Spec(loop=loop, model="scripted", world=f"{loop}.db")
            built = build_loop(spec, nowhere, "", model=ScriptedModel([]))
        drawn = built.get_graph().draw_mermaid().expandtabs(4)
    if as_json:
        terminal.document({"loop": loop or "", "mermaid": drawn})
    terminal.line(drawn.rstrip(), whole=True)
    return COMPLETED


def _listed(row: RunRow) -> dict[str, object]:
    return {
        "run_id": row.run_id,
        "status": row.status,
        "reason": row.outcome.reason if row.outcome else None,
        "loop": row.loop,
        "goal": row.goal,
        "steps": row.outcome.steps if row.outcome else None,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "ended_at": row.ended_at,
    }
