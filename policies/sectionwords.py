"""A policy file in words, for the model and for whoever reviews it."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.policies.argumentrules import rule_words
from interlock.policies.sections import Conditional, PolicyFile, Section, ToolSection

__all__ = ["condition_words", "file_words", "verdict_words"]

_WORDS = {"allow": "allowed", "deny": "denied", "needs_approval": "needs a person's approval"}


def file_words(file: PolicyFile) -> str:
    """One line for each tool of the file and one for the others; the same for files of the same meaning."""
    lines = [
        f"- {name}: {'; '.join(_tool_words(section)) or 'as its contract says'}"
        for name, section in file.tools.items()
    ]
    if file.default is not None:
        lines.append(f"- a tool without a verdict above: {verdict_words(file.default)}")
    return "\n".join(lines)


def verdict_words(section: Section) -> str:
    """The section's verdict with who, how long and why. Empty when it has none."""
    if section.verdict is None:
        return ""
    words = _WORDS[section.verdict]
    if section.verdict == "needs_approval" and section.approvers:
        words += f" by {' or '.join(section.approvers)}"
    if section.verdict == "needs_approval" and section.expires_s is not None:
        words += f" within {section.expires_s:.15g} s"
    return f"{words} ({section.reason})" if section.reason else words


def condition_words(rule: Conditional) -> str:
    """When the rule applies."""
    words: list[str] = []
    for how, conditions in (("when", rule.when), ("unless", rule.unless)):
        if conditions:
            parts = [f"{name} {rule_words(one)}" for name, one in conditions.items()]
            words.append(f"{how} {' and '.join(parts)}")
    return " ".join(words)


def _tool_words(section: ToolSection) -> Iterator[str]:
    if section.verdict is not None:
        yield verdict_words(section)
    for name, rule in section.arguments.items():
        yield f"denied unless {name} {rule_words(rule)}"
    for conditional in section.rules.values():
        yield f"{verdict_words(conditional)} {condition_words(conditional)}"
