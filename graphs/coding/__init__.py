"""The coding loop: change a package until its tests pass; their exit status decides, not what the model says.

Only files of the package can be written: not the tests, nothing outside of the repository, nothing through a
link. An answer is a claim; the suite runs when it is given, and a claim over failing tests goes back to the
model with what failed. Git, and pytest in the environment of this package, are needed.

The tests run the suite of the repository by themselves, and look at what differs from its commit.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from interlock.graphs.coding.script import SCRIPTS, script_for
from interlock.graphs.coding.tools import coding_tools, suite_command
from interlock.graphs.coding.world import make_world
from interlock.graphs.loop import Loop, create_loop
from interlock.nodes.model import ChatModel
from interlock.policies.budget import Budget
from interlock.policies.errors import BadLoop
from interlock.policies.rules import Policy
from interlock.policies.verifiers import CommandCheck

__all__ = ["GOAL", "SCRIPTS", "build", "make_world", "script_for"]

GOAL = "The volume discount in pricing/discounts.py is wrong. Change the file until the tests pass."
"""The task of the example."""

INSTRUCTIONS = """\
You work on a small Python package. Read the code and its tests, run the tests, and change the package with as
little as it takes. Never change what the tests expect. You are done when all tests pass, and not before."""


def build(
    model: BaseChatModel | ChatModel,
    store: Any,
    *,
    world: Path,
    budget: Budget | None = None,
    policy: Policy | None = None,
    tests_timeout_s: float = 60.0,
) -> Loop:
    """The coding loop over a repository that `make_world` wrote.

    Args:
        store: what `open_store` returns.
        world: the repository that the tools read and change.
        tests_timeout_s: seconds after which a run of the tests is killed, which is no pass.

    Raises:
        BadLoop: model and tools do not fit together, or pytest is not installed.
    """
    if importlib.util.find_spec("pytest") is None:
        raise BadLoop("this example runs a real test suite: install pytest beside interlock first")
    return create_loop(
        model,
        coding_tools(world, tests_timeout_s=tests_timeout_s),
        store=store,
        budget=budget or Budget(max_steps=20),
        policy=policy,
        instructions=INSTRUCTIONS,
        verifiers=[CommandCheck(argv=suite_command(world), timeout_s=tests_timeout_s, name="the test suite")],
        name="coding",
    )
