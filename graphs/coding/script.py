"""What the scripted model of the example says. Written in advance: no model was asked.

Its first change is wrong and it says that it is done; the tests say otherwise, and it looks again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from langchain_core.messages import BaseMessage

from interlock.graphs.scripting import ScriptStep, decide, facts, give_up
from interlock.policies.proposals import Decision, FinalAnswer, ToolCall
from interlock.policies.record import JsonValue

__all__ = ["SCRIPTS", "script_for"]

FILE = "pricing/discounts.py"
TESTS = "tests/test_discounts.py"
MODULE = '''\
"""Discounts on an order, in cents."""


def discounted(total: int, percent: int) -> int:
    """The total less a discount."""
    return total - total * percent // 100


def with_volume_discount(total: int, pieces: int) -> int:
    """10 % off from 10 pieces on, 20 % off from 100 pieces on."""
    if pieces >= {first}:
        return discounted(total, {first_percent})
    if pieces >= {second}:
        return discounted(total, {second_percent})
    return total
'''
WRONG = MODULE.format(first=10, first_percent=10, second=100, second_percent=20)
"""The limits are right now, but nobody ever gets to the second one."""
RIGHT = MODULE.format(first=100, first_percent=20, second=10, second_percent=10)


def script_for(goal: str) -> Sequence[ScriptStep]:
    """The script that fits a goal: there is one."""
    return SCRIPTS["fix"]


def _act(thought: str, tool: str, **arguments: JsonValue) -> Decision:
    return decide(thought, ToolCall(tool=tool, arguments=arguments))


def _write(thought: str, content: str) -> Callable[[list[BaseMessage]], Decision]:
    def write(messages: list[BaseMessage]) -> Decision:
        if FILE not in facts(messages).get("files", []):
            return give_up(f"there is no {FILE} in this repository")
        return _act(thought, "write_file", path=FILE, content=content)

    return write


LIST = _act("What is here?", "list_files")
READ = _act("What does the code do?", "read_file", path=FILE)
READ_TESTS = _act("What do the tests expect?", "read_file", path=TESTS)
TEST = _act("Which tests fail?", "run_tests")
CLAIM = decide("The limits include their number now.", FinalAnswer(answer="The volume discount is fixed."))


def _report(messages: list[BaseMessage]) -> Decision:
    text = f"{FILE} was changed: the larger discount is looked at first, and each begins at its number."
    return decide("The failing test named 100 pieces.", FinalAnswer(answer=text))


SCRIPTS: dict[str, Sequence[ScriptStep]] = {
    "fix": (
        LIST,
        READ,
        TEST,
        _write("The comparison leaves the limit itself out.", WRONG),
        CLAIM,
        READ_TESTS,
        _write("100 pieces meet the first condition already: the order is wrong too.", RIGHT),
        _report,
    ),
    "insists": (LIST, *[CLAIM] * 8),
}
"""`fix` follows the goal; `insists` claims again and again without having changed anything."""
