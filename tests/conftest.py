"""Shared by all tests: a place for a store, and how hypothesis searches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The same examples on every run and no deadline: a slow machine must not fail a rule that holds.
# A busy machine makes data slow to draw; that says nothing about the code.
settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci")


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    """Where a test may open a store: a path in a fresh folder, no file there yet."""
    return tmp_path / "runs.db"
