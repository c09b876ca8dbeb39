"""An answer and the schema that it has to fit."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import BaseModel, ValidationError

from interlock.policies.record import JsonValue
from interlock.policies.redaction import redact_text
from interlock.policies.text import bounded, visible

__all__ = ["Fitted", "fitted"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """An answer as it was validated, or why it does not fit."""

    answer: JsonValue = None
    problem: str = ""
    """Empty when it fits."""


def fitted(answer: JsonValue, schema: type[BaseModel] | None) -> Fitted:
    """The answer as the schema dumps it; unchanged without a schema. Strict: nothing is coerced."""
    if schema is None:
        return Fitted(answer)
    try:
        checked = schema.model_validate_json(json.dumps(answer, allow_nan=False), strict=True)
        return Fitted(json.loads(checked.model_dump_json(by_alias=True)))
    except ValidationError as error:
        parts = [
            f"{'.'.join(str(part) for part in item['loc']) or 'answer'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)[:5]
        ]
        problem = "; ".join(parts)
    except Exception as error:  # a validator of the user's own, which failed; nothing of the graph runs in it
        problem = f"its validation failed: {type(error).__name__}: {error}"
    return Fitted(
        problem=f"the answer does not fit its schema: {bounded(visible(redact_text(problem)), 1000)}"
    )
