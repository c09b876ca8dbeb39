"""Secrets by their type at any depth, and secrets that are repeated elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, SecretStr

from interlock.policies.hiding import secret_fields, secret_values, without, without_typed
from interlock.policies.redaction import REDACTED


class Login(BaseModel):
    user: str
    code: SecretStr


class Everything(BaseModel):
    plain: str
    maybe: SecretStr | None
    login: Login
    logins: list[Login]
    by_name: dict[str, SecretStr]


LOOP: dict[str, Any] = {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}


def test_whatever_a_schema_marks_as_a_password_is_hidden_at_any_depth() -> None:
    login = {"user": "a", "code": "x"}
    value = {"plain": "p", "maybe": "x", "login": login, "logins": [login], "by_name": {"b": "x"}}
    schema = Everything.model_json_schema()
    hidden = without_typed(value, schema, schema)
    clean = {"user": "a", "code": REDACTED}
    assert hidden == {
        "plain": "p",
        "maybe": REDACTED,
        "login": clean,
        "logins": [clean],
        "by_name": {"b": REDACTED},
    }
    assert without_typed(hidden, schema, schema) == hidden
    assert secret_fields(schema) >= {"maybe", "code"}
    assert set(secret_values(value, hidden)) == {"x"}


@pytest.mark.parametrize("schema", [LOOP, {"$ref": "#/$defs/gone"}, {"$ref": "#/a"} | {"a": {"$ref": "#/a"}}])
def test_a_schema_that_leads_nowhere_changes_nothing(schema: dict[str, Any]) -> None:
    assert without_typed({"a": 1}, schema, schema) == {"a": 1}


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ("no hunter2 here", f"no {REDACTED} here"),
        ({"hunter2": ["xhunter2", 3]}, {REDACTED: [f"x{REDACTED}", 3]}),
        ('a quote\\"d', f"a {REDACTED}"),
        ("21 of 12", f"21 of {REDACTED}"),
    ],
)
def test_a_secret_is_not_repeated_plain_or_quoted_or_inside_a_word(value: Any, cleaned: Any) -> None:
    assert without(value, ("hunter2", 'quote"d', "12")) == cleaned
