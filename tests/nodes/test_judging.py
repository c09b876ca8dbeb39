"""A policy that fails denies, however it fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from interlock import Action, Policy, contract, create_loop, open_store, start
from interlock.testing import ScriptedModel, call, cannot_complete


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError()]
)
def test_a_rule_cannot_end_the_process_and_denies(error: BaseException) -> None:
    seen: list[str] = []

    @contract(effect="write")
    def write(line: str) -> str:
        """Write."""
        seen.append(line)
        return "ok"

    def leave(action: Action) -> Any:
        raise error

    with open_store(":memory:") as store:
        model = ScriptedModel([call("write", line="a"), cannot_complete("denied")])
        loop = create_loop(model, [write], store=store, policy=Policy(rules=[leave]))
        assert start(loop, "write", run_id="r").status == "failed"
        verdict = store.traces.steps("r")[0]["verdict"]
    assert verdict["rule"] == "policy_error"
    assert type(error).__name__ in verdict["reason"]
    assert seen == []
