"""Real effects, counted outside the process."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

__all__ = ["EffectCounter"]


class EffectCounter:
    """Counts real effects in a file, so that a process that is killed loses none and several can count."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def hit(self, label: str, key: str = "") -> None:
        """Count one effect, on disk when this returns."""
        line = json.dumps({"label": label, "key": key}).encode() + b"\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line)
            os.fsync(handle)
        finally:
            os.close(handle)

    def count(self, label: str | None = None) -> int:
        """Effects so far, all of them or those with this label."""
        return sum(label is None or hit["label"] == label for hit in self._hits())

    def keys(self, label: str | None = None) -> list[str]:
        """Keys of the effects in their order, repeated where an effect was."""
        return [hit["key"] for hit in self._hits() if label is None or hit["label"] == label]

    def _hits(self) -> list[Mapping[str, str]]:
        if not self.path.exists():
            return []
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
