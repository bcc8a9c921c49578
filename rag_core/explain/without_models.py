"""A traced question under other settings, from what the trace remembers: no model can be called."""

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from ..catalog import MAX_PASSAGES, Recipe, recipe_of
from ..pipeline.cached_index import CachedIndex
from ..pipeline.strategy import Strategy
from ..pipeline.stream import remember
from ..runtime.context import Context
from ..runtime.run import Limits, Run
from ..runtime.services import Embedder, Reranker, Services
from ..values.errors import ConfigError, LimitReached, StageError
from ..values.message import Message
from ..values.trace import Trace

Values = Mapping[str, object]


class NeedsModel(Exception):
    """A setting cannot be replayed: one of its stages would call a model."""


def recipe_of_unchanged(trace: Trace, services: Services) -> Recipe:
    """The declaration of a trace's strategy; raises ConfigError if it is gone, or the models or the index have changed."""
    if trace.engine != services.engine:
        raise ConfigError(
            Message("The models or the index have changed since this result was made."),
            Message("Ask the question again."),
        )
    return recipe_of(trace.strategy)


class Replay:
    """Runs the strategy of a trace with other control values, without its answer.

    Unchanged stages and embeddings come from the trace, searches from the index. Models are out of reach: the limit of
    language model calls is 0, and the embedding model and the reranker refuse. So a result costs nothing, and equals
    the one of a run from scratch as far as models repeat their replies. Raises as `recipe_of_unchanged`.
    """

    def __init__(self, trace: Trace, services: Services) -> None:
        self.recipe = recipe_of_unchanged(trace, services)
        self.trace = trace
        self.services = replace(
            services,
            index=CachedIndex(services.index, MAX_PASSAGES),
            enriched=CachedIndex(services.enriched, MAX_PASSAGES) if services.enriched else None,
            embedder=cast(Embedder, _OutOfReach(services.embedder)),
            reranker=cast(Reranker, _OutOfReach(services.reranker)) if services.reranker else None,
            limits=Limits(calls=0),
            workers=1,
        )
        self._run = Run()
        remember(self._run.shared, trace, [], self.services)
        self._done: dict[Strategy, Trace | None] = {}

    def context(self) -> Context:
        return Context(self.services, self._run)

    def strategy(self, values: Values) -> Strategy:
        """The strategy with these values, without its answer; raises ConfigError if they conflict."""
        return self.recipe.build(**{**self.trace.controls, **values}).without_answer()

    def run(self, values: Values) -> Trace:
        """What the strategy finds with these values; raises NeedsModel, or ConfigError."""
        strategy = self.strategy(values)
        if strategy not in self._done:
            remember(self._run.shared, self.trace, [strategy], self.services)
            try:
                self._done[strategy] = strategy.run(self.trace.question, self.services, self._run)
            except StageError as error:
                if not isinstance(error.__cause__, LimitReached):
                    raise
                self._done[strategy] = None
        done = self._done[strategy]
        if done is None:
            raise NeedsModel
        return done

    def used(self, values: Values) -> frozenset[str]:
        """Ids of the passages the answer would be written from; raises as `run` does."""
        return frozenset(hit.id for hit in self.run(values).ranking)

    @functools.cached_property
    def used_now(self) -> frozenset[str]:
        return self.used({})


class _OutOfReach:
    """A model that can be named, but not called."""

    def __init__(self, model: object) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def embed(self, *_: object, **__: object) -> Any:
        raise LimitReached("A replay calls no embedding model.")

    def score(self, *_: object, **__: object) -> Any:
        raise LimitReached("A replay calls no reranker.")
