"""Polling: when the condition holds, how long to wait, and when it is enough."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from interlock.policies.budget import Budget, Usage
from interlock.policies.contracts import Poll
from interlock.policies.control import Control
from interlock.policies.outcomes import Reason
from interlock.policies.polling import cap_reached, looked, out_of_time, seconds_to_wait, told

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POLL = Poll(interval_s=30, until="state == 'live'", max_calls=3)


def control(used: float = 0.0) -> Control:
    return Control(run_id="r", goal="g", fingerprint="f", usage=Usage(active_seconds=used))


def called(step: int, ended: datetime, digest: str = "d", **observation: Any) -> dict[str, Any]:
    return {
        "step": step,
        "ticket": {"digest": digest},
        "result": {"polled": {"held": False, "ended_at": ended.isoformat()}},
        "observation": {"status": "ok", "summary": "still building", "trust": "trusted", **observation},
    }


@pytest.mark.parametrize(
    ("until", "raw", "held"),
    [
        ("state == 'live'", {"state": "live"}, True),
        ("state == 'live'", {"state": "down"}, False),
        ("done_at", {"done_at": "12:00"}, True),
        ("done_at", {"done_at": None}, False),
        ("left", {"left": 0}, True),
        ("rows", {"rows": []}, False),
        ("rows", {"rows": {}}, False),
        ("name", {"name": ""}, False),
        ("ok", {"ok": False}, False),
        ("length(rows) > `1`", {"rows": [1, 2]}, True),
    ],
)
def test_a_condition_is_true_as_jmespath_sees_it(until: str, raw: Any, held: bool) -> None:
    seen = looked(Poll(interval_s=1, until=until, max_calls=1), "ok", raw, "now")
    assert (seen.held, seen.note) == (held, "")


def test_an_error_and_a_condition_that_cannot_be_evaluated_do_not_hold_and_the_latter_says_why() -> None:
    assert looked(POLL, "retryable_error", None, "now").held is False
    broken = looked(Poll(interval_s=1, until="length(rows) > `1`", max_calls=1), "ok", {"rows": None}, "now")
    assert broken.held is False
    assert "length(rows)" in broken.note


def test_a_condition_that_is_no_expression_is_refused() -> None:
    with pytest.raises(ValidationError, match="is not a JMESPath expression"):
        Poll(interval_s=1, until="state ==", max_calls=1)


def test_the_first_call_waits_for_nothing_and_other_arguments_do_not_count() -> None:
    assert seconds_to_wait(POLL, [], "d", NOW) == 0
    assert seconds_to_wait(POLL, [called(1, NOW, "other")], "d", NOW) == 0


@given(st.floats(-1e6, 1e6), st.floats(0.001, 1e5))
def test_a_wait_is_never_negative_nor_longer_than_the_interval(passed: float, interval: float) -> None:
    poll = Poll(interval_s=interval, until="x", max_calls=1)
    wait = seconds_to_wait(poll, [called(1, NOW)], "d", NOW + timedelta(seconds=passed))
    assert 0 <= wait <= interval
    if 0 <= passed <= interval:
        assert wait == pytest.approx(interval - passed, abs=1e-5)


def test_the_wait_counts_from_the_end_of_the_last_call() -> None:
    steps = [
        called(1, NOW - timedelta(seconds=50)),
        called(2, NOW - timedelta(seconds=10)),
        called(3, NOW, "other"),
    ]
    assert seconds_to_wait(POLL, steps, "d", NOW) == 20


def test_the_cap_names_itself_the_condition_and_the_last_result() -> None:
    steps = [called(n, NOW) for n in (1, 2, 4)]
    assert cap_reached("status", POLL, steps[:2], "d") is None
    denied = cap_reached("status", POLL, steps, "d")
    assert denied is not None
    assert denied.rule == "poll_cap"
    for part in ("at most 3 times", "state == 'live' did not hold yet", "step 4, ok: still building"):
        assert part in denied.reason


def test_the_cap_points_to_outside_content_and_does_not_quote_it() -> None:
    steps = [called(n, NOW, trust="untrusted", raw_ref="abc") for n in (1, 2, 3)]
    denied = cap_reached("status", POLL, steps, "d")
    assert denied is not None
    assert "still building" not in denied.reason
    assert "step 3, ok, raw_ref abc" in denied.reason


def test_a_wait_that_would_pass_the_time_budget_ends_the_run_instead() -> None:
    budget = Budget(max_seconds=100)
    assert out_of_time(control(60), budget, 5, 30, NOW) == {}
    stopped = out_of_time(control(60), budget, 15, 30, NOW)
    assert stopped["stop"] is Reason.TIME_LIMIT
    assert (stopped["limit"].name, stopped["limit"].value, stopped["limit"].go_on) == (
        "max_seconds",
        "100",
        "seconds",
    )
    assert out_of_time(control(60), budget, 15, 0, NOW) == {}


def test_a_wait_past_the_deadline_ends_the_run_instead() -> None:
    budget = Budget(deadline=NOW + timedelta(seconds=20))
    assert out_of_time(control(), budget, 0, 10, NOW) == {}
    assert out_of_time(control(), budget, 0, 30, NOW)["limit"].name == "deadline"


def test_the_model_is_told_what_is_left_of_a_poll() -> None:
    waiting = looked(POLL, "ok", {"state": "down"}, "now")
    assert told(POLL, waiting, 1) == [
        "state == 'live' does not hold yet; the same call again waits until 30 s have passed; "
        "2 more may be made"
    ]
    assert "no call is left, 3 were allowed" in told(POLL, waiting, 3)[0]
    assert told(POLL, looked(POLL, "ok", {"state": "live"}, "now"), 1) == []
