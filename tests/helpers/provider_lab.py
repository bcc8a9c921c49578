"""A small lab whose models are all on the scripted server, and what that server is owed for its work."""

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rag_core.indexing import CorpusStore
from rag_core.lab.engines import Engines, PaidModels
from rag_core.lab.lab import Lab
from rag_core.language.thesaurus import Thesaurus
from rag_core.models.tokenizer import count_tokens
from rag_core.runtime.services import Reranker
from rag_core.values.labels import LabelRules
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.types import Hit, ModelCall, Scale

from .behaviours import Behaviour, Meet, Reply
from .fakes import Unfitted
from .openai_server import DEFAULT, OpenAIServer, Request, pieces_of, role_of, template_of

QUESTION = "Do cats and dogs sleep in one house?"
Bill = tuple[str, str, int, int, str]  # role, model, tokens sent, tokens received, who counted


@functools.cache
def listed() -> PriceList:
    """The prices of data/prices.toml."""
    return PriceList.read(Settings().data / "prices.toml")


class OverlapReranker:
    """Counts the words that query and passage share; `spoil` changes the scores it hands out."""

    name = key = "overlap"
    scale: Scale = "offline_scorer"

    def __init__(self, spoil: Callable[[list[float]], list[float]] = lambda scores: scores) -> None:
        self._spoil = spoil

    def score(self, query: str, hits: Sequence[Hit]) -> tuple[list[float], ModelCall]:
        words = set(re.findall(r"\w+", query.lower()))
        scores = [float(len(words & set(re.findall(r"\w+", hit.passage.text.lower())))) for hit in hits]
        return self._spoil(scores), ModelCall("rerank", self.name, 0, 0, 0.0, "tokenizer")


def provider_lab(
    server: OpenAIServer | None,
    store: CorpusStore,
    embedder: Any,
    labels: LabelRules,
    *,
    reranker: Reranker | None = None,
    **settings: Any,
) -> Lab:
    """A lab over conftest's documents; every language model is the server's, embeddings are made here."""
    settled = Settings(**{"openai_base_url": server and server.url, "timeout": 20} | settings)
    models = PaidModels(settled, listed())
    engines = Engines(
        prices=listed(),
        labels=labels,
        embedder=embedder,
        scorer=Unfitted(),  # type: ignore[arg-type]  # of the offline engine, which plays no role
        reranker=reranker or OverlapReranker(),
        thesaurus=Thesaurus(()),  # of the offline engine too
        paid=models.of_settings(),
        models=models,
    )
    return Lab(settled, "animals", engines, store)


def sources_in(body: dict[str, Any]) -> int:
    """Passages in a prompt."""
    return len(re.findall(r"<source n=", body["messages"][1]["content"]))


def obliging(body: dict[str, Any]) -> Reply:
    """What a model in good order replies; each role has a usage of its own."""
    if "input" in body:  # to embed
        return Reply()
    if template_of(body) == "hypothetical":
        return Reply("Cats and dogs sleep in one house when they meet young.", usage=(90, 30))
    match role_of(body):
        case "rewrite":
            return Reply(f"{QUESTION} {template_of(body)}", usage=(100, 20))
        case "judge":
            return Reply('{"reason": "It says so.", "score": 90}', usage=(300, 10))
        case _:
            return Reply("Cats and dogs can live in one house [1].", usage=(1000, 200))


def aimed(fault: Behaviour, at: Callable[[dict[str, Any]], bool]) -> Callable[[dict[str, Any]], Behaviour]:
    """A server that is in good order but for some requests."""
    return lambda body: fault if at(body) else obliging(body)


def owed(requests: Iterable[Request]) -> Counter[Bill]:
    """What requests cost: nothing where they were refused; by the usage where the server told one."""
    bills: Counter[Bill] = Counter()
    for request in requests:
        if request.refused:
            continue
        done = request.behaviour.reply if isinstance(request.behaviour, Meet) else request.behaviour
        model = request.body["model"]
        if isinstance(done, Reply) and done.usage and "stream_options" in request.body:
            bills[request.role, model, *done.usage, "provider"] += 1
            continue
        said = done.text if isinstance(done, Reply) else "".join(pieces_of(DEFAULT)[: getattr(done, "after", 0)])
        sent = "".join(content for _, content in request.messages)
        bills[request.role, model, count_tokens(sent, model), count_tokens(said, model), "tokenizer"] += 1
    return bills


def billed(calls: Iterable[ModelCall]) -> Counter[Bill]:
    """The bills of language models among calls; each has the price of its model."""
    bills: Counter[Bill] = Counter()
    for call in calls:
        if call.of_language_model:
            price = listed().get(call.model)
            if price is None:
                assert call.cost_usd is None
            else:
                cost = (call.input_tokens * price.input + call.output_tokens * price.output) / 1e6
                assert call.cost_usd is not None
                assert math.isclose(call.cost_usd, cost, rel_tol=1e-12)
            bills[call.purpose, call.model, call.input_tokens, call.output_tokens, call.counted_by] += 1
    return bills
