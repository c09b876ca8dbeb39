"""What a rule for one argument means: when a value breaks it, and when it meets it as a condition."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from interlock.policies.canonical import canonical_json
from interlock.policies.contracts import ArgumentRule

__all__ = ["breaks_item", "broken", "meets", "meets_item", "rule_words"]


def broken(arguments: Mapping[str, Any], rules: Mapping[str, ArgumentRule]) -> dict[str, str]:
    """What is wrong with the arguments, by argument: every part of its rule must hold, for every item.

    An argument that has a rule must be present; None counts as absent.
    """
    found: dict[str, str] = {}
    for name, rule in sorted(rules.items()):
        value = arguments.get(name)
        problem = "must be given" if value is None else _breaks(value, rule)
        if problem:
            found[name] = f"{name} {problem}"
    return found


def meets(value: Any, rule: ArgumentRule) -> bool:
    """Whether a condition holds. One item of a list is enough, so that nothing hides among others.

    A value of a kind that a part cannot judge (text against a number, a number against a pattern) meets that
    part: a condition only makes a verdict stricter. An absent value meets no condition.
    """
    if value is None:
        return False
    items = value if isinstance(value, list) else [value]
    if rule.max_items is not None and _count(value) > rule.max_items:
        return False
    if rule.model_copy(update={"max_items": None}) == ArgumentRule():
        return True
    return any(meets_item(item, rule) for item in items)


def meets_item(item: Any, rule: ArgumentRule) -> bool:
    """Whether one value may meet the parts of a condition other than the count.

    A list or an object where single values are listed cannot be judged: what is meant may be inside it.
    """
    if rule.allowed is not None and not (_holds_more(item, rule.allowed) or _is_among(item, rule.allowed)):
        return False
    if rule.pattern is not None and isinstance(item, str) and not re.fullmatch(rule.pattern, item):
        return False
    return not _is_number(item) or _out_of_bounds(item, rule) is None


def breaks_item(item: Any, rule: ArgumentRule) -> str | None:
    """What one value breaks of a rule, the count aside, in words; None when every part holds."""
    if rule.allowed is not None and not _is_among(item, rule.allowed):
        return f"is {item!r}; allowed: {', '.join(repr(one) for one in rule.allowed)}"
    if rule.pattern is not None and not (isinstance(item, str) and re.fullmatch(rule.pattern, item)):
        return f"is {item!r}, which does not match {rule.pattern!r} as a whole"
    if rule.minimum is None and rule.maximum is None:
        return None
    return _out_of_bounds(item, rule) if _is_number(item) else f"is {item!r}, which is not a number"


def rule_words(rule: ArgumentRule) -> str:
    """The rule as the end of a sentence that begins with the argument's name."""
    words: list[str] = []
    if rule.allowed is not None:
        words.append(f"is one of {json.dumps(rule.allowed, ensure_ascii=False)}")
    if rule.pattern is not None:
        words.append(f"matches {rule.pattern} as a whole")
    if rule.minimum is not None:
        words.append(f"is at least {rule.minimum:.15g}")
    if rule.maximum is not None:
        words.append(f"is at most {rule.maximum:.15g}")
    if rule.max_items is not None:
        words.append(f"has at most {rule.max_items} items")
    return " and ".join(words) or "is given"


def _breaks(value: Any, rule: ArgumentRule) -> str | None:
    items = value if isinstance(value, list) else [value]
    if rule.max_items is not None and (count := _count(value)) > rule.max_items:
        return f"has {count} items; at most {rule.max_items} are allowed"
    return next((problem for item in items if (problem := breaks_item(item, rule))), None)


def _count(value: Any) -> int:
    """Entries of a list or an object; anything else is one."""
    return len(value) if isinstance(value, list | dict) else 1


def _is_among(item: Any, allowed: list[Any]) -> bool:
    """Equality of canonical forms: 1.0 is 1, as in the arguments, and true is not 1, at any depth."""
    return canonical_json(item) in {canonical_json(one) for one in allowed}


def _holds_more(item: Any, allowed: list[Any]) -> bool:
    return isinstance(item, list | dict) and not any(isinstance(one, list | dict) for one in allowed)


def _is_number(item: Any) -> bool:
    return isinstance(item, int | float) and not isinstance(item, bool)


def _out_of_bounds(item: Any, rule: ArgumentRule) -> str | None:
    if rule.minimum is not None and item < rule.minimum:
        return f"is {item}; at least {rule.minimum:.15g} is required"
    if rule.maximum is not None and item > rule.maximum:
        return f"is {item}; at most {rule.maximum:.15g} is allowed"
    return None
