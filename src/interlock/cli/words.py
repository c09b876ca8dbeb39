"""Step records in words, part by part. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["Part", "action_text", "call_text", "counted", "parts_of", "usage_text"]

Data = Mapping[str, Any]

_DECIDED = {"approve": "approved", "edit": "edited", "reject": "rejected", "respond": "answered"}
_TONES = {"allow": "green", "needs_approval": "yellow", "deny": "red"}


class Part(NamedTuple):
    """One line about a step."""

    key: str
    """What the line is about; each is printed once."""
    label: str
    text: str
    tone: str | None = None


def parts_of(record: Data, ended: bool = False) -> Iterator[Part]:
    """The lines about a step (dumped StepRecord), as far as it got.

    Args:
        ended: nothing more will come of the step.
    """
    decision = record.get("decision") or {}
    if decision.get("thought"):
        yield Part("thought", "thought", decision["thought"], "dim")
    if proposal := decision.get("proposal"):
        yield Part("action", "action", action_text(proposal), "bold")
    if invalid := record.get("invalid"):
        yield Part("action", "invalid", str(invalid["problem"]), "red")
    yield from _judged(record)
    if seen := record.get("observation"):
        tone = None if seen["status"] == "ok" else "yellow"
        yield Part("observation", "saw", f"{seen['status']}: {seen['summary']}{_shortened(seen)}", tone)
    if seen or ended:
        yield Part("cost", "cost", _cost(record), "dim")


def _judged(record: Data) -> Iterator[Part]:
    if verdict := record.get("verdict"):
        text = f"{verdict['kind']} (rule {verdict['rule']}): {verdict['reason']}"
        yield Part("verdict", "verdict", text, _TONES.get(verdict["kind"]))
    for number, answer in enumerate(record.get("answers") or []):
        yield Part(f"answer{number}", "person", _answer(answer))


def action_text(proposal: Data) -> str:
    """A proposal in one line."""
    match proposal["kind"]:
        case "tool_call":
            return call_text(proposal["tool"], proposal.get("arguments") or {})
        case "request_approval":
            asked = call_text(proposal["tool"], proposal.get("arguments") or {})
            return f"asks to approve {asked}: {proposal.get('reason', '')}"
        case "ask":
            return f"asks: {proposal['question']}"
        case "delegate":
            return f"delegates to {proposal['delegate']}: {proposal['goal']}"
        case "final_answer":
            return f"answers: {_text(proposal.get('answer'))}"
        case kind:
            return f"{kind}: {proposal.get('reason', '')}"


def call_text(tool: str, arguments: Data) -> str:
    """A call as it would be written, `tool(name="value")`."""
    inside = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return f"{tool}({inside})"


def usage_text(usage: Data) -> str:
    """What a run used (dumped Usage)."""
    about = "about " if usage.get("estimated") else ""
    return (
        f"{counted(usage['model_calls'], 'model call')}, {counted(usage['tool_calls'], 'tool call')}, "
        f"{about}{usage['input_tokens']} tokens in and {usage['output_tokens']} out{_money(usage)}, "
        f"{usage['active_seconds']:.2f} s at work"
    )


def _money(usage: Data) -> str:
    """What the model calls cost, as far as it is known; nothing when all of them are free or unpriced."""
    cost = str(usage.get("cost", "0"))
    if not float(cost):
        return ""
    about = "more than " if usage.get("unpriced_calls") else "about " if usage.get("estimated") else ""
    return f", {about}{cost} US dollars"


def counted(number: int, what: str) -> str:
    """`1 step`, `2 steps`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _answer(answer: Data) -> str:
    decision = answer.get("decision")
    if decision is None:
        return f"the question {answer['outcome']}"
    text = f"{_DECIDED[decision['type']]} by {decision.get('by', 'unknown')}"
    if decision.get("arguments") is not None:
        text += f" to {json.dumps(decision['arguments'], ensure_ascii=False)}"
    why = dict.fromkeys(filter(None, (decision.get("message"), decision.get("reason"))))
    return f"{text}: {'; '.join(why)}" if why else text


def _shortened(seen: Data) -> str:
    before, after = seen.get("size_before", 0), seen.get("size_after", 0)
    return f" [{before} bytes, {after} shown to the model]" if before > after else ""


def _cost(record: Data) -> str:
    model = record.get("model") or {}
    about = "about " if model.get("estimated") else ""
    tokens = f"{about}{model.get('input_tokens', 0)} tokens in, {model.get('output_tokens', 0)} out"
    spent = sum(ms for ms in (record.get("phases") or {}).values() if isinstance(ms, int | float))
    return f"{tokens}, {spent:.0f} ms"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
