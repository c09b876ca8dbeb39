"""What a run remembers and what its prompts took, as people and programs read it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from interlock.cli.terminal import Terminal
from interlock.cli.words import counted
from interlock.policies.context import PARTS
from interlock.policies.facts import merge_facts
from interlock.policies.factwords import origin_of

__all__ = ["facts_of", "prompts_of", "report_facts", "report_prompts"]

Data = Mapping[str, Any]


def facts_of(records: Sequence[Data]) -> list[dict[str, Any]]:
    """The facts (dumped) that finished steps (as the trace holds them) taught, with their other values."""
    return list(merge_facts({}, [list(record.get("facts") or ()) for record in records]).values())


def report_facts(facts: Sequence[Data], terminal: Terminal) -> None:
    """Print each fact with its source, and below it the values that it had before."""
    for fact in facts:
        terminal.line(f"{fact['key']}: {_json(fact['value'])}", "bold", whole=True)
        terminal.line(_whence(fact), label="from")
        for one in reversed(fact.get("previous") or ()):
            terminal.line(f"{_json(one['value'])}, {_whence(one)}", "yellow", label="other")
    if not facts:
        terminal.line("no facts were learned")


def prompts_of(records: Sequence[Data]) -> list[dict[str, int]]:
    """What the prompt of each step took, in tokens by part; steps of runs that did not count are left out."""
    found = ((record["step"], (record.get("model") or {}).get("context")) for record in records)
    return [{"step": step, **context} for step, context in found if context]


def report_prompts(prompts: Sequence[Mapping[str, int]], terminal: Terminal) -> None:
    """Print a line for each prompt: tokens by part, and how much of the one before it could be used again."""
    columns = (*PARTS, "total")
    terminal.line("  ".join(["step", *(f"{name:>8}" for name in columns), "again"]), "dim")
    for prompt in prompts:
        sizes = "  ".join(f"{prompt.get(name, 0):>8,}" for name in columns)
        before = prompt.get("before")
        again = f"{prompt['reusable'] / before:>5.0%}" if before else f"{'-':>5}"
        terminal.line(f"{prompt['step']:>4}  {sizes}  {again}")
    total = sum(prompt["total"] for prompt in prompts)
    terminal.line(f"{total:,} tokens in {counted(len(prompts), 'prompt')}, four characters a token; "
                  "again: share of the prompt before that this one begins with")  # fmt: skip


def _whence(fact: Data) -> str:
    taint = ", outside content" if fact.get("tainted") else ""
    at = str(fact["observed_at"])[:19].replace("T", " ")
    return f"{origin_of(fact)}: {fact['trust']}{taint}, step {fact['step']}, {at}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
