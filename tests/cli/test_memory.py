"""`interlock show RUN --facts` and `--prompts`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlock import Contract, create_loop, open_store, start
from interlock.testing import ScriptedModel, answer
from interlock.testing import call as calling
from tests.cli.conftest import Invoke


def read(number: int) -> dict[str, Any]:
    """Read one record."""
    return {"owner": f"owner\u202e {number}"}


@pytest.fixture
def run_id(folder: Path) -> str:
    contracts = {"read": Contract(effect="read", provides={"owner": "owner"})}
    model = ScriptedModel([calling("read", number=1), calling("read", number=2), answer("done")])
    with open_store(folder / "runs.db") as store:
        return start(create_loop(model, [read], store=store, contracts=contracts), "Look.").run_id


def test_facts_are_shown_with_value_source_trust_taint_step_time_and_other_values(
    run_id: str, call: Invoke
) -> None:
    lines = call("show", run_id, "--facts").stdout.splitlines()
    assert lines[0] == 'owner: "owner\\u202e 2"'
    assert 'from      tool:read {"number": 2}: observed, outside content, step 2, 20' in lines[1]
    assert (
        'other     "owner\\u202e 1", tool:read {"number": 1}: observed, outside content, step 1' in lines[2]
    )
    assert len(lines) == 3


def test_facts_are_one_json_document(run_id: str, call: Invoke) -> None:
    shown = json.loads(call("show", run_id, "--facts", "--json").stdout)
    assert shown["run_id"] == run_id
    (fact,) = shown["facts"]
    assert {"key", "value", "source", "call", "trust", "tainted", "step", "observed_at"} < fact.keys()
    (other,) = fact["previous"]
    assert (other["value"], other["step"], other["tainted"]) == ("owner\u202e 1", 1, True)


def test_prompts_are_shown_a_line_each_and_as_one_json_document(run_id: str, call: Invoke) -> None:
    lines = call("show", run_id, "--prompts").stdout.splitlines()
    assert lines[0].split() == ["step", "head", "folded", "steps", "closing", "total", "again"]
    assert [line.split()[0] for line in lines[1:4]] == ["1", "2", "3"]
    shown = json.loads(call("show", run_id, "--prompts", "--json").stdout)
    assert [prompt["step"] for prompt in shown["prompts"]] == [1, 2, 3]
    assert f"{sum(prompt['total'] for prompt in shown['prompts']):,} tokens in 3 prompts" in lines[-1]


def test_the_outcome_names_facts_that_conflict(run_id: str, call: Invoke) -> None:
    assert 'conflict  owner was also "owner\\u202e 1"' in call("show", run_id).stdout


def test_a_run_without_facts_says_so(folder: Path, call: Invoke) -> None:
    with open_store(folder / "runs.db") as store:
        run = start(create_loop(ScriptedModel([answer("done")]), [], store=store), "Look.")
    assert call("show", run.run_id, "--facts").stdout == "no facts were learned\n"
