"""The provider's language models: those of the settings, and those that columns of a comparison choose."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping

from ..models import LlamaLlm, load_openai
from ..values.errors import SettingsError
from ..values.message import Message
from ..values.model_choice import OFFLINE_MODEL, ModelChoice
from ..values.pricing import PriceList
from ..values.settings import Role, Server, Settings

ROLES: tuple[Role, ...] = ("answer", "rewrite", "judge", "enrich")  # purposes of prompts
MOST_LOADED = 16  # models; people may type any name
NEEDS = "Set OPENAI_API_KEY or OPENAI_BASE_URL, and RAG_LLM=auto; or choose the offline engine."


class PaidModels:
    """A provider's models, each loaded once for its server and name; the one used longest ago goes first. Thread-safe.

    Args:
        settings: of their servers and names.
    """

    def __init__(self, settings: Settings, prices: PriceList) -> None:
        self._settings = settings
        self._prices = prices
        self._loaded: OrderedDict[tuple[Server | None, str], LlamaLlm] = OrderedDict()
        self._lock = threading.Lock()

    def of_settings(self) -> dict[str, LlamaLlm]:
        """The model of each role that has one; roles with the same model and server share it."""
        return {
            role: self._load(role, self._settings.model(role))
            for role in ROLES
            if self._settings.asks_provider(role)
        }

    def chosen(self, choice: ModelChoice, others: Mapping[str, LlamaLlm]) -> dict[str, LlamaLlm]:
        """The model of each role as chosen; roles that are missing are the offline engine's.

        The model that writes the answers plays the other roles too, on its own server, unless they have theirs.

        Args:
            others: those of the roles that nothing was chosen for.

        Raises:
            SettingsError: one needs a provider, and there is none.
        """
        found = dict(others)
        own: dict[Role, str] = {"rewrite": choice.rewriter_model, "judge": choice.judge_model}
        roles: dict[Role, tuple[Role, str]] = {"answer": ("answer", choice.model)}
        roles |= {role: (role, name) if name else ("answer", choice.model) for role, name in own.items()}
        for role, (server_of, name) in roles.items():
            if name == OFFLINE_MODEL:
                found.pop(role, None)
            elif name:
                found[role] = self._provided(server_of, name)
        return found

    def _provided(self, role: Role, name: str) -> LlamaLlm:
        if not self._settings.asks_provider(role):
            raise SettingsError(Message("The model {name} needs a provider.", name=name), NEEDS)
        return self._load(role, name)

    def _load(self, role: Role, name: str) -> LlamaLlm:
        key = (self._settings.server(role), name)
        with self._lock:
            if key not in self._loaded:
                self._loaded[key] = load_openai(self._settings, name, self._prices, role)
            self._loaded.move_to_end(key)
            while len(self._loaded) > MOST_LOADED:
                self._loaded.popitem(last=False)
            return self._loaded[key]
