"""The one token counter: characters, four to a token.

A tokenizer would count for one model only and has to be downloaded. What a provider reports is used wherever
it reports something; this counter is for what has to be known before, the same for every part of a prompt.
"""

from __future__ import annotations

__all__ = ["CHARACTERS_PER_TOKEN", "tokens_in"]

CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for English text: https://help.openai.com/en/articles/4936856"""


def tokens_in(characters: int) -> int:
    """Tokens that so many characters come to, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)
