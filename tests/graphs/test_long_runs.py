"""A long run with large results: a file that grows linearly, a small prompt, and nothing old forgotten."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from interlock import Budget, Contract, create_loop, open_store, start
from interlock.nodes.protocols.reading import characters
from interlock.policies.counting import tokens_in
from interlock.policies.proposals import Decision
from interlock.testing import ScriptedModel, answer, call

STEPS = 200
RESULT = 20_000
LIMIT = 4_000
HEAD = 1_500
"""More than instructions, goal and the few facts of this run take, tokens."""


def look(number: int) -> dict[str, object]:
    """Look at one record."""
    found: dict[str, object] = {"number": number, "text": (f"{number * 7919:x} " * RESULT)[:RESULT]}
    return {**found, "owner": "ana"} if number == 2 else found


class Watching:
    """Looks at what the model is shown at each step, then lets the run go on."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.orphans = 0
        self.without_owner: list[int] = []

    def decide(self, messages: list[BaseMessage]) -> Decision:
        number = len(self.sizes) + 1
        self.sizes.append(tokens_in(characters(messages)))
        calls = [one["id"] for said in messages if isinstance(said, AIMessage) for one in said.tool_calls]
        self.orphans += calls != [one.tool_call_id for one in messages if isinstance(one, ToolMessage)]
        if '"owner": "ana" (observed, tool:look, step 2)' not in str(messages[-1].content):
            self.without_owner.append(number)
        return answer("ana", cites=["owner"]) if number == STEPS else call("look", number=number)


def checkpoint_bytes(path: Path) -> tuple[int, int]:
    """Bytes of all checkpoints and task writes: those of the first half of the rows, and of the second."""
    first = second = 0
    with sqlite3.connect(path) as file:
        for table in ("checkpoints", "writes"):
            names = [row[1] for row in file.execute(f"PRAGMA table_info({table})")]
            size = " + ".join(f"coalesce(length({name}), 0)" for name in names)
            rows = [int(row[0]) for row in file.execute(f"SELECT {size} FROM {table} ORDER BY rowid")]
            assert len(rows) > 3 * STEPS
            first += sum(rows[: len(rows) // 2])
            second += sum(rows[len(rows) // 2 :])
    return first, second


@pytest.mark.slow
def test_two_hundred_steps_grow_the_file_linearly_and_keep_the_prompt_small_and_the_facts_known(
    tmp_path: Path,
) -> None:
    path, watching = tmp_path / "runs.db", Watching()
    contract = Contract(effect="read", untrusted=False, provides={"owner": "owner"})
    with open_store(path) as store:
        loop = create_loop(
            ScriptedModel([watching.decide] * STEPS, keep_prompts=False),
            [look],
            store=store,
            contracts={"look": contract},
            budget=Budget(max_steps=STEPS, context_tokens=LIMIT, max_tokens=10_000_000),
            require=["owner"],
        )
        run = start(loop, "Who owns record 2?", run_id="long")
        records = store.traces.steps("long")
    assert run.outcome is not None
    assert (run.status, run.steps, run.outcome.answer) == ("completed", STEPS, "ana")

    assert max(watching.sizes) <= LIMIT + HEAD
    contexts = [record["model"]["context"] for record in records]
    assert all(one.get("steps", 0) + one.get("folded", 0) <= LIMIT for one in contexts)
    assert watching.orphans == 0
    assert watching.without_owner == [1, 2]

    first, second = checkpoint_bytes(path)
    assert second < 1.2 * first, f"{first} bytes in the first half, {second} in the second"
