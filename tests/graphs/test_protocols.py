"""One script in three protocols, streamed and not: the same decisions and the same trace but for the name."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from interlock import HumanDecision, Thought, astart, contract, create_loop, open_store, resume, start
from interlock.nodes.model import ChatModel
from interlock.policies.proposals import Decision, FinalAnswer
from interlock.policies.replies import ProtocolName
from interlock.testing import FakeClock, ScriptedModel, ask, call, request_approval

PROTOCOLS: list[ProtocolName] = ["tools", "json_schema", "json"]
KEY = "sk-abcdefghijklmnop1234567890"


@contract(effect="read", untrusted=False)
def look(name: str, depth: int = 1) -> dict[str, Any]:
    """Look somebody up."""
    return {"name": name, "depth": depth}


@contract(effect="high_risk", untrusted=False)
def pay(to: str, amount: float | None = None, note: str = "") -> str:
    """Pay somebody."""
    return f"paid {to}"


SCRIPT = [
    call("look", 'Who is "ana"?\nLook first.', name="ana"),
    call("look", name="bo", depth="deep"),
    request_approval("pay", "large", to="ana", amount=2.5),
    Decision(
        proposal=call("pay", to="bo", amount=None).proposal, thought="Bo too.", missing_info=["a receipt"]
    ),
    ask("Anything else?"),
    Decision(proposal=FinalAnswer(answer="paid both"), thought=f"Done with {KEY} here."),
]


def trace(path: Path, protocol: ProtocolName, stream: bool, tell: Any = None) -> list[dict[str, Any]]:
    """The records of a run, without what may differ: the protocol, its tokens, and times."""
    with open_store(path) as store, ScriptedModel(list(SCRIPT)) as model:
        loop = create_loop(
            ChatModel(model, protocol, stream=stream or None), [look, pay], store=store, clock=FakeClock()
        )
        run = start(loop, "Pay what is due", run_id="r", on_thought=tell)
        while run.status == "waiting":
            respond = run.pending[0]["kind"] == "ask"
            decision = (
                HumanDecision(type="respond", message="No.") if respond else HumanDecision(type="approve")
            )
            run = resume(loop, "r", decision, on_thought=tell)
        assert run.outcome is not None
        records = store.traces.steps("r")
    for record in records:
        assert record["model"].pop("protocol") == protocol
        sizes = {key for key in record["model"] if "tokens" in key or key == "context"}
        record["model"] = {key: value for key, value in record["model"].items() if key not in sizes}
        if protocol != "tools" and record.get("invalid"):
            assert record["invalid"].pop("raw")
        elif record.get("invalid"):
            del record["invalid"]["raw"]
    return records


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_trace_is_the_same_in_every_protocol(
    tmp_path: Path, protocol: ProtocolName, stream: bool
) -> None:
    expected = trace(tmp_path / "expected.db", "tools", stream=False)
    assert len(expected) == len(SCRIPT)
    assert trace(tmp_path / "runs.db", protocol, stream) == expected


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_thoughts_are_told_in_whole_words_while_they_come_and_without_secrets(
    tmp_path: Path, protocol: ProtocolName
) -> None:
    told: list[Thought] = []
    records = trace(tmp_path / "runs.db", protocol, stream=False, tell=told.append)
    for record in records:
        pieces = [one.text for one in told if one.step == record["step"]]
        thought = (record.get("decision") or {}).get("thought", "")
        assert "".join(pieces) == thought
        assert len(pieces) == (len(thought.split(" ")) if thought else 0)
    assert KEY not in "".join(one.text for one in told)


def test_an_async_run_tells_its_thoughts_too() -> None:
    told: list[Thought] = []

    async def run() -> None:
        with open_store() as store:
            loop = create_loop(ScriptedModel([SCRIPT[0], SCRIPT[-1]]), [look], store=store)
            await astart(loop, "Look", run_id="r", on_thought=told.append)

    asyncio.run(run())
    assert "".join(one.text for one in told if one.step == 1) == SCRIPT[0].thought


def test_nothing_is_streamed_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("streamed without being asked to")

    monkeypatch.setattr(ScriptedModel, "_stream", never)
    with open_store() as store:
        run = start(create_loop(ScriptedModel([SCRIPT[0], SCRIPT[-1]]), [look], store=store), "Look")
    assert run.status == "completed"
