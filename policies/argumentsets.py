"""How two rules for one argument relate, without looking at any call. Sound, not complete.

A relation that is reported holds for every value; one that only an understanding of the regular expressions
would show is not reported.
"""

from __future__ import annotations

from interlock.policies.argumentrules import breaks_item, meets_item
from interlock.policies.contracts import ArgumentRule

__all__ = ["contradiction", "excludes", "narrower"]


def contradiction(rule: ArgumentRule) -> str | None:
    """Why no value can pass the rule, in words; None when some value might."""
    if rule.minimum is not None and rule.maximum is not None and rule.minimum > rule.maximum:
        return f"minimum {rule.minimum:.15g} is above maximum {rule.maximum:.15g}: no number passes"
    if rule.allowed is None:
        return None
    if not rule.allowed:
        return "allowed is empty: no value passes"
    rest = rule.model_copy(update={"allowed": None})
    problems = [breaks_item(item, rest) for item in rule.allowed]
    return f"no value of allowed passes the rest: it {problems[0]}" if all(problems) else None


def narrower(inner: ArgumentRule, outer: ArgumentRule) -> bool:
    """True when every value that meets, or passes, `inner` does the same with `outer`."""
    if outer.max_items is not None and (inner.max_items is None or inner.max_items > outer.max_items):
        return False
    if inner.allowed is not None:
        return all(breaks_item(item, outer) is None for item in inner.allowed)
    return (
        outer.allowed is None
        and outer.pattern in (None, inner.pattern)
        and (outer.minimum is None or (inner.minimum is not None and inner.minimum >= outer.minimum))
        and (outer.maximum is None or (inner.maximum is not None and inner.maximum <= outer.maximum))
    )


def excludes(rule: ArgumentRule, condition: ArgumentRule) -> bool:
    """True when every value that meets the condition breaks the rule."""
    if condition.allowed is not None:
        return all(breaks_item(item, rule) for item in condition.allowed)
    if rule.allowed:
        return not any(meets_item(item, condition) for item in rule.allowed)
    return _above(condition.minimum, rule.maximum) or _above(rule.minimum, condition.maximum)


def _above(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and low > high
