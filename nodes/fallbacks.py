"""Several models in place of one: the first answers until it is down, then the next takes over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel

from interlock.nodes.model import ChatModel
from interlock.nodes.turns import Turn
from interlock.policies.errors import BadLoop
from interlock.policies.prompt import Prompt
from interlock.policies.replies import Learned

__all__ = ["Fallbacks", "port_of"]


class Fallbacks:
    """Models in the order in which they take over.

    A model is down when its transport faults have used up their attempts, or when its key, its quota or the
    model itself is gone. The next one then gives this decision and stays for the rest of the run, so that a
    run does not wait for the same outage at every step and the new model's cache stays warm. When that one is
    down as well, the list goes round, and each model is asked at most once for a decision.

    Raises:
        BadLoop: no model, or two with the same name.
    """

    def __init__(self, models: Sequence[ChatModel | BaseChatModel]) -> None:
        self._models = [one if isinstance(one, ChatModel) else ChatModel(one) for one in models]
        if not self._models:
            raise BadLoop("a loop needs a model; the list is empty")
        named = Counter(one.name for one in self._models)
        if twice := [name for name, count in named.items() if count > 1]:
            raise BadLoop(f"two models are named {twice[0]}: tell them apart with ChatModel(model, name=…)")

    @property
    def name(self) -> str:
        """Names of the models whose price is not known, or else of all."""
        unpriced = [one.name for one in self._models if not one.priced]
        return ", ".join(unpriced or [one.name for one in self._models])

    @property
    def priced(self) -> bool:
        """True when it is known what every model's calls cost."""
        return all(one.priced for one in self._models)

    def prepare(self, prompt: Prompt, learned: Learned | None = None) -> Turn:
        """The call that this prompt comes to, beginning with the model that the run has come to."""
        known = learned or Learned()
        at = next((number for number, one in enumerate(self._models) if one.name == known.model), 0)
        return Turn(prompt, [*self._models[at:], *self._models[:at]], known)


def port_of(model: BaseChatModel | ChatModel | Sequence[BaseChatModel | ChatModel]) -> ChatModel | Fallbacks:
    """The model, or the list of models, as the port of a loop. Raises BadLoop."""
    if isinstance(model, Sequence):
        return Fallbacks(model)
    return model if isinstance(model, ChatModel) else ChatModel(model)
