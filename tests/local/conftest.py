"""Weights and a server, where they are installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from interlock.local import find_weights
from interlock.policies.errors import BadLoop


@pytest.fixture(scope="session")
def weights() -> Path:
    """The small model's file; without it, or without the server's library, the test is skipped."""
    if find_spec("xllamacpp") is None:
        pytest.skip("xllamacpp is not installed: scripts/local installs it")
    try:
        return find_weights()
    except BadLoop:
        pytest.skip("the weights are not installed: scripts/local installs them")
