"""Secrets are found by whole words of a name and by shapes that say so; everything else stays."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.policies.redaction import REDACTED, is_secret_name, redact, redact_text

SECRETS = ["password", "db_password", "apiKey", "API_KEY", "api-key", "accessToken", "token", "client_secret",
           "Authorization", "Set-Cookie", "private_key", "session_id", "sessionid", "api_keys",
           "cookies"]  # fmt: skip
PLAIN = ["token_count", "max_tokens", "tokens", "author", "secretary", "next_page_token", "keyboard", "key",
         "passwords_changed_at", "id", "cookie_banner_shown"]  # fmt: skip


@pytest.mark.parametrize("name", SECRETS)
def test_a_name_that_holds_a_secret_is_known(name: str) -> None:
    assert is_secret_name(name)
    assert redact({name: "hunter2"}) == {name: REDACTED}


@pytest.mark.parametrize("name", PLAIN)
def test_a_name_that_only_looks_like_one_stays(name: str) -> None:
    assert redact({name: "value"}) == {name: "value"}


@pytest.mark.parametrize(
    "secret",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "a1" * 18,
        "sk-proj-" + "x1" * 20,
        "Bearer " + "a7" * 15,
        "bearer " + "a7" * 15,
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
        "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
        "xoxb-123456789012-abcdef",
    ],
)
def test_a_shape_that_says_so_is_hidden_wherever_it_stands(secret: str) -> None:
    assert redact({"note": [f"use {secret} here"]}) == {"note": [f"use {REDACTED} here"]}
    assert secret not in redact_text(f"error: {secret}")


@pytest.mark.parametrize(
    "text",
    [
        "the bearer responsibilities.of.the.office",
        "sk-fading-circle-of-the-spinner",
        "see https://example.org:8080/path and mail bob@example.org",
        "AKIA is a prefix, ghp_ too",
        '{"token_count": "12", "author": "Ann"}',
    ],
)
def test_a_text_that_only_resembles_a_secret_stays(text: str) -> None:
    assert redact({"note": text}) == {"note": text}


@pytest.mark.parametrize(
    ("value", "hidden"),
    [
        ("postgres://app:hunter2@db:5432/x", f"postgres://app:{REDACTED}@db:5432/x"),
        ("Authorization: Basic dXNlcjpwYXNz", f"Authorization: Basic {REDACTED}"),
        ('{"user": "a", "apiKey": "hunter\\"2"}', f'{{"user": "a", "apiKey": "{REDACTED}"}}'),
        (
            [{"name": "Authorization", "value": "hunter2"}, {"name": "Accept", "value": "x"}],
            [{"name": "Authorization", "value": REDACTED}, {"name": "Accept", "value": "x"}],
        ),
    ],
    ids=["address", "header", "JSON in a text", "headers as a list"],
)
def test_a_secret_is_hidden_where_only_its_surroundings_tell(value: Any, hidden: Any) -> None:
    assert redact(value) == hidden
    assert redact(hidden) == hidden


@pytest.mark.parametrize(
    "piece",
    [
        "eyJ-",
        "sk-",
        "Bearer ",
        "xoxb",
        "-----BEGIN ",
        "-----END ",
        "password",
        'a://b:"',
        '"token":"',
        "\\",
        "A",
    ],
)
def test_the_time_grows_with_the_size_and_no_faster(piece: str) -> None:
    def seconds(size: int) -> float:
        text = "-----BEGIN PRIVATE KEY-----" * (piece == "-----END ") + piece * (size // len(piece))
        started = time.perf_counter()
        redact_text(text)
        return time.perf_counter() - started

    assert seconds(1_000_000) < 40 * seconds(100_000) + 1


def test_a_secret_behind_its_name_is_hidden_in_free_text() -> None:
    assert "hunter2" not in redact_text('login failed: {"password": "hunter2"}')
    assert "hunter2" not in redact_text("password=hunter2&user=a")


names = st.sampled_from([*SECRETS, *PLAIN]) | st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)


@given(value=values)
def test_redacting_twice_changes_nothing_and_the_structure_stays(value: Any) -> None:
    once = redact(value)
    assert redact(once) == once
    assert shape(once) == shape(value)


@given(value=values)
def test_no_secret_survives_at_any_depth(value: Any) -> None:
    marked = {"outer": [value, {"inner": {"password": "SENTINEL-7f3a"}}], "token": ["SENTINEL-7f3a"]}
    assert "SENTINEL-7f3a" not in json.dumps(redact(marked))


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return [shape(item) for item in value] if isinstance(value, list) else None
