"""JMESPath that a user writes into a loop: checked when the loop is built, not when a run depends on it."""

from __future__ import annotations

import jmespath
from jmespath.exceptions import ArityError, JMESPathError, UnknownFunctionError

__all__ = ["expression_problem"]


def expression_problem(expression: str) -> str | None:
    """What is wrong with a JMESPath expression, in words; None when nothing is, as far as can be seen.

    Unknown functions show only when the expression is applied, so it is applied to an empty object.
    """
    try:
        compiled = jmespath.compile(expression)
    except (JMESPathError, TypeError, ValueError, RecursionError) as error:
        return " ".join(str(error).split())[:200] or type(error).__name__
    try:
        compiled.search({})
    except (ArityError, UnknownFunctionError) as error:
        return " ".join(str(error).split())[:200]
    except (JMESPathError, TypeError, ValueError, RecursionError):
        return None  # the empty object has not what the expression needs
    return None
