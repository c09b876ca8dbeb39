"""Secrets stay out of the store, the trace and the prompt; the digest is taken before they are hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel, SecretStr

from interlock import (
    ArgumentRule,
    BadDecision,
    Contract,
    HumanDecision,
    contract,
    create_loop,
    open_store,
    resume,
    start,
)
from interlock.testing import ScriptedModel, answer, ask, call

SENTINEL = "hunter2-7f3a"


@contract(effect="read")
def read_vault(name: str) -> dict[str, Any]:
    """Read a login."""
    return {"user": "a", "password": SENTINEL, "inner": [{"api_key": SENTINEL, "typed": SecretStr(SENTINEL)}]}


def make_login(seen: list[str], effect: str) -> Any:
    @contract(effect=effect)
    def login(user: str, password: str) -> str:
        """Log in."""
        seen.append(password)
        return "ok"

    return login


def make_typed(seen: list[str]) -> Any:
    @contract(effect="write")
    def unlock(code: SecretStr) -> str:
        """Unlock."""
        seen.append(code.get_secret_value())
        return "ok"

    return unlock


def everything_in(file: Path) -> bytes:
    return b"".join(path.read_bytes() for path in file.parent.glob(file.name + "*"))


def saved(path: Path) -> str:
    """Every value that the store can show, unpacked."""
    with open_store(path) as store:
        records = store.traces.steps("r")
        refs = [record.get("result", {}).get("raw_ref") for record in records]
        raws = [store.payloads.get(ref) for ref in refs if ref]
        asked = [approval.dump() for approval in store.approvals.of_run("r")]
        effects = [row.dump() for row in store.ledger.of_run("r")]
        loop = create_loop(ScriptedModel([]), [], store=store)
        states = [state.values for state in loop.get_state_history({"configurable": {"thread_id": "r"}})]
    return repr([records, raws, asked, effects, states])


def test_a_secret_in_a_result_reaches_neither_store_nor_prompt(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    model = ScriptedModel([call("read_vault", name="x"), answer("read")])
    with open_store(path) as store:
        start(create_loop(model, [read_vault], store=store), "read", run_id="r")
    assert SENTINEL not in str(model.prompts)
    assert SENTINEL not in saved(path)
    assert SENTINEL.encode() not in everything_in(path)


@pytest.mark.parametrize("effect", ["read", "write"])
def test_a_secret_argument_runs_in_clear_and_is_saved_hidden(tmp_path: Path, effect: str) -> None:
    path, seen = tmp_path / "runs.db", list[str]()
    model = ScriptedModel([call("login", user="a", password=SENTINEL), answer("in")])
    with open_store(path) as store:
        ended = start(create_loop(model, [make_login(seen, effect)], store=store), "log in", run_id="r")
    assert ended.status == "completed"
    assert seen == [SENTINEL]
    assert SENTINEL not in str(model.prompts)
    assert SENTINEL not in saved(path)


def test_a_secret_by_type_runs_in_clear_and_is_saved_hidden(tmp_path: Path) -> None:
    path, seen = tmp_path / "runs.db", list[str]()
    model = ScriptedModel([call("unlock", code=SENTINEL), answer("in")])
    with open_store(path) as store:
        start(create_loop(model, [make_typed(seen)], store=store), "unlock", run_id="r")
    assert seen == [SENTINEL]
    assert SENTINEL not in saved(path)


def test_an_approved_secret_runs_here_but_is_refused_where_it_is_not_known(tmp_path: Path) -> None:
    for elsewhere in (False, True):
        path, seen = tmp_path / f"runs{elsewhere}.db", list[str]()
        steps = [call("login", user="a", password=SENTINEL), answer("tried")]
        tools = [make_login(seen, "high_risk")]
        with open_store(path) as store:
            loop = create_loop(ScriptedModel(steps), tools, store=store)
            waiting = start(loop, "log in", run_id="r")
            assert SENTINEL not in str(waiting.pending)
            with pytest.raises(BadDecision, match="secret"):
                resume(loop, "r", HumanDecision(type="edit", arguments={"user": "b", "password": "x"}))
            if elsewhere:
                loop = create_loop(ScriptedModel(steps), tools, store=store)
            resume(loop, "r", HumanDecision(type="approve"))
        assert seen == ([] if elsewhere else [SENTINEL])
        assert SENTINEL not in saved(path)


class Login(BaseModel):
    user: str
    code: SecretStr


@contract(effect="read")
def read_mail(number: int) -> str:
    """Read a mail."""
    return "hello"


@pytest.mark.parametrize("effect", ["read", "write"])
@pytest.mark.parametrize("given", [{"maybe": SENTINEL}, {"login": {"user": "a", "code": SENTINEL}}])
def test_a_secret_by_type_is_hidden_wherever_it_stands_and_runs_in_clear(
    tmp_path: Path, effect: str, given: dict[str, Any]
) -> None:
    path, seen = tmp_path / "runs.db", list[str]()

    @contract(effect=effect)
    def unlock(maybe: SecretStr | None = None, login: Login | None = None) -> str:
        """Unlock."""
        code = maybe or (login and login.code)
        seen.append(code.get_secret_value() if code else "")
        return "ok"

    model = ScriptedModel([call("unlock", **given), answer("in")])
    with open_store(path) as store:
        start(create_loop(model, [unlock], store=store), "unlock", run_id="r")
    assert seen == [SENTINEL]
    assert SENTINEL not in str(model.prompts)
    assert SENTINEL not in saved(path)


@pytest.mark.parametrize("fails", [True, False])
def test_a_secret_that_the_tool_repeats_is_hidden(tmp_path: Path, fails: bool) -> None:
    path = tmp_path / "runs.db"

    @contract(effect="write")
    def login(user: str, password: str) -> str:
        """Log in."""
        if fails:
            raise ValueError(f"{user} cannot log in with {password}")
        return f"{user} logged in with {password}"

    model = ScriptedModel([call("login", user="a", password=SENTINEL), answer("in")])
    with open_store(path) as store:
        ended = start(create_loop(model, [login], store=store), "log in", run_id="r")
    assert SENTINEL not in str(model.prompts) + str(ended)
    assert SENTINEL not in saved(path)


WRONG = call("login", user="a", password=SENTINEL)
TWO_CALLS = AIMessage(
    "",
    tool_calls=[
        {"name": "login", "args": {"user": "a", "password": SENTINEL}, "id": "1"},
        {"name": "unlock", "args": {"code": SENTINEL}, "id": "2"},
    ],
)


@pytest.mark.parametrize(
    ("step", "contracts"),
    [
        (WRONG, {"login": Contract(effect="write", scope={"password": ArgumentRule(pattern="[0-9]+")})}),
        (WRONG, {"login": Contract(effect="write")}),
        (call("unlock", code=SENTINEL, more=1), {}),
        (TWO_CALLS, {}),
        (ask(f"Is password={SENTINEL} right?"), {}),
    ],
    ids=["out of scope", "made up after a mail", "does not fit", "two calls", "in a question"],
)
def test_what_is_said_of_a_call_does_not_repeat_its_secrets(
    tmp_path: Path, step: Any, contracts: dict[str, Contract]
) -> None:
    path = tmp_path / "runs.db"
    tools = [make_login([], "write"), make_typed([]), read_mail]
    model = ScriptedModel([call("read_mail", number=1), step, answer("done")])
    with open_store(path) as store:
        ended = start(
            create_loop(model, tools, store=store, contracts=contracts), "read the mail", run_id="r"
        )
    assert SENTINEL not in str(model.prompts) + str(ended)
    assert SENTINEL not in saved(path)
