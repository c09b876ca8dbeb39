"""The base of every saved record: frozen, closed, plain JSON on the way out."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, JsonValue

__all__ = ["JsonValue", "Record"]


class Record(BaseModel):
    """A frozen record that is saved as plain JSON, never as a class.

    Unknown fields are refused, so a record of a newer schema fails loudly instead of losing data.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def dump(self) -> dict[str, Any]:
        """This record as plain JSON data, without the fields that are None."""
        return self.model_dump(mode="json", exclude_none=True)

    @classmethod
    def load(cls, data: Any) -> Self:
        """The record that `dump` wrote. Raises pydantic.ValidationError when the data does not fit."""
        return cls.model_validate(data)
