"""The test kit: a model that follows a script, a clock that stands still, a counter of real effects.

    from interlock.testing import ScriptedModel, answer, call

    with ScriptedModel([call("search_deploy", id=4471), answer("the retry budget")]) as model:
        run = start(create_loop(model, tools), goal)

The model is an ordinary LangChain chat model. It says what the script says, in the protocol in which it is
asked, and fails on a call too many and on steps that nobody asked for.
"""

from interlock.testing.clock import FakeClock
from interlock.testing.effects import EffectCounter
from interlock.testing.model import ScriptedModel
from interlock.testing.script import (
    ScriptError,
    ScriptItem,
    answer,
    ask,
    call,
    cannot_complete,
    delegate,
    request_approval,
)

__all__ = [
    "EffectCounter",
    "FakeClock",
    "ScriptError",
    "ScriptItem",
    "ScriptedModel",
    "answer",
    "ask",
    "call",
    "cannot_complete",
    "delegate",
    "request_approval",
]
