"""Services whose models raise when they are called."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_core.prompts.prompt import Prompt
from rag_core.runtime.services import Services
from rag_core.values.types import Hit, ModelCall


class Raises:
    """A model that must not be called."""

    name = key = "raises"
    offline = False

    def stream(self, prompt: Prompt, stop: object) -> Sequence[str | ModelCall]:
        raise AssertionError(f"a language model was asked: {prompt.template.name}")

    def score(self, query: str, hits: Sequence[Hit]) -> object:
        raise AssertionError("the reranker was asked")


@dataclass(frozen=True)
class Deaf:
    """An embedding model that names itself and must not be called."""

    real: object

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)

    def embed(self, *_: object) -> object:
        raise AssertionError("the embedding model was asked")


def silenced(services: Services) -> Services:
    """The same services with models that raise."""
    silent = Raises()
    return replace(
        services,
        llms=dict.fromkeys(services.llms, silent),
        embedder=Deaf(services.embedder),  # type: ignore[arg-type]
        reranker=silent,  # type: ignore[arg-type]
    )
