"""What a tool takes: the arguments that are judged and shown are those that run."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain_core.tools import InjectedToolArg, StructuredTool
from pydantic import BaseModel, field_validator

from interlock.nodes.tools import bind_tools
from interlock.policies.canonical import ArgumentsError
from interlock.policies.contracts import Contract
from interlock.policies.errors import BadLoop


class Payment(BaseModel):
    amount: int
    idempotency_key: Annotated[str, InjectedToolArg] = ""

    @field_validator("amount")
    @classmethod
    def in_cents(cls, amount: int) -> int:
        return amount * 100 if amount < 100 else amount


def pay(amount: int, idempotency_key: str = "") -> int:
    return amount


def test_a_validator_that_only_the_call_itself_runs_may_not_change_what_was_shown() -> None:
    tool: Any = StructuredTool.from_function(pay, name="pay", description="Pay.", args_schema=Payment)
    bound = bind_tools([tool], {"pay": Contract(effect="write")})["pay"]
    with pytest.raises(ArgumentsError, match="validators have to leave valid values alone"):
        bound.validate({"amount": 5})
    assert bound.validate({"amount": 500}) == {"amount": 500}
    assert tool.invoke({"amount": 500, "idempotency_key": "k"}) == 500


def test_a_trusted_tool_may_not_get_its_result_from_outside_by_way_of_reconcile() -> None:
    def find(amount: int) -> str:
        """Find a payment."""
        return "a note of a stranger"

    def send(amount: int) -> str:
        """Send a payment."""
        return "sent"

    trusted = Contract(effect="write", reconcile="find", untrusted=False)
    with pytest.raises(BadLoop, match="trust both or neither"):
        bind_tools([find, send], {"find": Contract(effect="read"), "send": trusted})
    bind_tools([find, send], {"find": Contract(effect="read", untrusted=False), "send": trusted})
