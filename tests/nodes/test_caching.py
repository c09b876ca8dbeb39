"""What a process remembers of its runs stays bounded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from interlock import contract, create_loop, open_store, start
from interlock.graphs.loop import deps_of
from interlock.nodes.caching import ByRun
from interlock.testing import ScriptedModel, answer, call


def test_only_the_runs_used_last_are_remembered() -> None:
    known = ByRun[int](runs=2)
    known.of("a")[1] = 1
    known.of("b")[1] = 2
    known.of("a")
    known.of("c")[1] = 3
    assert [dict(known.of(run)) for run in ("a", "b")] == [{1: 1}, {}]


@contract(effect="read", untrusted=True)
def look() -> str:
    """Look at outside content."""
    return "seen"


@contract(effect="write", targets=["to"])
def send(to: str) -> str:
    """Send something."""
    return "sent"


def test_an_ended_run_leaves_nothing_in_memory(store_path: Path) -> None:
    script: list[Any] = [call("look"), call("send", to="a@b.example"), answer("done")]
    with open_store(store_path) as store:
        loop = create_loop(ScriptedModel(script), [look, send], store=store)
        start(loop, "send it to a@b.example", run_id="r")
    assert deps_of(loop).read.of("r") == {}
    assert deps_of(loop).vault.of("r") == {}


@contract(effect="high_risk")
def login(user: str, password: str = "") -> str:
    """Log in."""
    return f"{user} is in"


def test_a_step_that_is_decided_anew_is_not_taken_for_what_it_was_before(store_path: Path) -> None:
    config: Any = {"configurable": {"thread_id": "r"}}
    with open_store(store_path) as store:
        model = ScriptedModel([call("login", user="ann", password="hunter2"), answer("x")])
        loop = create_loop(model, [login], store=store)
        start(loop, "log in", run_id="r")
        before = next(state for state in loop.get_state_history(config) if state.next == ("think",))
        model._script.steps[0].append(call("login", user="bob"))  # pyright: ignore[reportPrivateUsage]
        loop.invoke(None, before.config)
        record = store.traces.steps("r")[0]
        (asked,) = store.approvals.of_run("r")
    assert record["verdict"]["rule"] == "changed_after_approval"
    assert asked.status == "abandoned"
