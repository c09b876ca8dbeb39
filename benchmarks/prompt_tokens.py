"""What the prompts of a run cost: input tokens of all model calls together, beside langchain's create_agent.

The same job for both, a run of N steps with a tool that returns a few KB at each, and a model that answers at
once and keeps what it was sent. One counter for both, over tools and messages as JSON: characters, four to a
token (see `interlock.policies.counting`), so no tokenizer has to be downloaded.

    python benchmarks/prompt_tokens.py [--steps N] [--payload BYTES] [--json]

`reusable_prefix` is the smallest share of a prompt that the next one begins with, which is what a provider's
prompt cache can serve. A step at which old steps were folded is left out: there a prompt begins anew.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from _cases import CreateAgent, InstantModel, Interlock
from _measure import table_of
from langchain_core.messages import BaseMessage, messages_to_dict
from langchain_core.outputs import ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from interlock.policies.context import common_length
from interlock.policies.counting import tokens_in

STEPS = 50
PAYLOAD = 4096
SENT = ("content", "tool_calls", "tool_call_id", "name")
"""What of a message goes to a provider."""

Prompt = list[str]
"""Tools and messages, each as JSON."""


class Recording(InstantModel):
    """The instant model, keeping what it is sent."""

    _tools: Prompt = PrivateAttr(default_factory=list)

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Itself, with the tools as they would be sent."""
        self._tools = [json.dumps(convert_to_openai_tool(tool), ensure_ascii=False) for tool in tools]
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        sent.append([*self._tools, *(_as_sent(message) for message in messages_to_dict(messages))])
        return super()._generate(messages, *args, **kwargs)


class OurPrompts(Interlock):
    """Ours, with the model that records."""

    model = Recording


class TheirPrompts(CreateAgent):
    """The peer, with the model that records."""

    model = Recording


sent: list[Prompt] = []
"""What the model of the run that is measured was sent."""


def prompts_of(case: type[Interlock | CreateAgent], steps: int, size: int) -> list[Prompt]:
    """What a run sends to its model. Raises RuntimeError when calls are missing."""
    sent.clear()
    with tempfile.TemporaryDirectory() as folder:
        run = case(Path(folder) / "runs.db", steps, size)
        run.open()
        run.build()
        run.run()
        run.close()
    if len(sent) != steps:
        raise RuntimeError(f"{case.__name__} called the model {len(sent)} times in {steps} steps")
    return list(sent)


def tokens_of(prompts: Sequence[Prompt]) -> int:
    """Input tokens of all calls together."""
    return sum(tokens_in(sum(len(part) for part in prompt)) for prompt in prompts)


def reusable(prompts: Sequence[Prompt]) -> float:
    """The smallest share of a prompt that the next one begins with, between foldings."""
    pairs = pairwise(prompts)
    return min((_common(old, new) for old, new in pairs if len(new) > len(old)), default=1.0)


def _common(old: Prompt, new: Prompt) -> float:
    before, after = "".join(old), "".join(new)
    return common_length(before, after) / len(before)


def _as_sent(message: dict[str, Any]) -> str:
    kept = {key: message["data"][key] for key in SENT if message["data"].get(key)}
    return json.dumps({"role": message["type"], **kept}, ensure_ascii=False)


def measured(steps: int, size: int) -> dict[str, int | float]:
    """The figures of both."""
    ours, theirs = prompts_of(OurPrompts, steps, size), prompts_of(TheirPrompts, steps, size)
    mine, other = tokens_of(ours), tokens_of(theirs)
    return {
        "interlock": mine,
        "create_agent": other,
        "ratio": round(mine / other, 4),
        "reusable_prefix": round(reusable(ours), 4),
    }


def main() -> None:
    """Measure what the arguments name, and print it."""
    parser = argparse.ArgumentParser(description="What the prompts of a run cost.")
    parser.add_argument("--steps", type=int, metavar="N", default=STEPS, help="model calls of a run: 50")
    parser.add_argument("--payload", type=int, metavar="BYTES", default=PAYLOAD, help="of each result: 4096")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.steps < 2 or options.payload < 1:
        parser.error("--steps takes numbers from 2, --payload from 1")
    figures = measured(options.steps, options.payload)
    print(json.dumps(figures) if options.json else table_of([figures]))


if __name__ == "__main__":
    main()
