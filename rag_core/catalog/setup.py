"""What one column of a comparison runs: a strategy with its settings, on language models and a corpus."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..documents.documents import BUILTIN
from ..pipeline.strategy import Strategy
from ..values.errors import ConfigError
from ..values.message import Message
from ..values.model_choice import AS_SET, ModelChoice
from ..values.settings import read_settings
from ..values.trace import Trace
from ..values.where import where_text
from . import StrategySpec, build, check_chosen, describe, recipe_of
from .presets import preset_of
from .registry import CORPUS, RUNS_ON, WHERE


@dataclass(frozen=True, slots=True)
class Setup:
    """A column of a comparison, with models in place of the settings', and a corpus and a filter (`values.where`) in place of its lab's."""

    strategy: Strategy
    models: ModelChoice = AS_SET
    corpus: str = ""
    where: str = ""

    @property
    def runs_on(self) -> str:
        """The models, the corpus and the filter it chose, in a few words; empty if it chose none."""
        return _joined(str(self.models), _searched(self.corpus) if self.corpus else "", self.where)

    @property
    def chosen(self) -> Mapping[str, str]:
        """What it chose beside its controls, by the names in `RUNS_ON`."""
        found = {**self.models.named, CORPUS: self.corpus, WHERE: self.where}
        return {name: value for name, value in found.items() if value}

    def __str__(self) -> str:
        """In words: "Hybrid RRF + MMR · λ 0.3 · model: gpt-4o-mini"."""
        return str(_joined(describe(self.strategy), self.runs_on))


SetupSpec = StrategySpec | Setup


def set_up(chosen: SetupSpec, /, **values: object) -> Setup:
    """A column from a strategy, or from its name or (name, values).

    Values named `model`, `rewriter_model`, `judge_model`, `reranker` and `corpus` say what it runs on, and `where` is a
    filter of passages by metadata (`where_text`); the others are controls. A preset's own rewriting model is chosen if
    the current settings offer it.

    Raises ConfigError as `build` does, or for a name that no model or corpus could have, or a wrong filter.

    >>> str(set_up(("bm25", {"k1": 1.2, "model": "gpt-4o-mini", "corpus": "leaflets"})))
    'BM25 keywords · k1 1.2 · model: gpt-4o-mini · documents: leaflets'
    """
    if isinstance(chosen, Setup):
        if values:
            raise ConfigError(
                Message("A column that is set up takes no further values."),
                Message("Pass its strategy's name instead."),
            )
        return chosen
    spec: Any = chosen
    if isinstance(chosen, tuple):
        name, given = chosen
        spec, values = name, {**given, **values}
    where = where_text(values.pop(WHERE, ""))
    own = {name: _name(name, values.pop(name)) for name in RUNS_ON if name in values}
    corpus = own.pop(CORPUS, "")
    if model := _rewriter_of(spec):
        own.setdefault("rewriter_model", model)
    return Setup(build(spec, **values), ModelChoice(**own), corpus, where)


def set_up_all(chosen: Sequence[SetupSpec]) -> list[Setup]:
    """Columns in order; a name alone is one column. Raises ConfigError as `set_up` does, or if nothing was chosen."""
    check_chosen(chosen)
    return [set_up(one) for one in ([chosen] if isinstance(chosen, str) else chosen)]


def _rewriter_of(spec: object) -> str:
    """The offered model that a preset's source rewrites with: servers spell "Llama-3.1-8B-Instruct" in many ways."""
    name, _, preset = spec.partition("@") if isinstance(spec, str) else ("", "", "")
    wanted = preset and preset_of(recipe_of(name), preset).rewriter
    if not wanted:
        return ""
    return next((model for model in read_settings().choosable_models if _letters(wanted) in _letters(model)), "")


def _letters(model: str) -> str:
    """A model's name without the signs that servers put between its parts."""
    return re.sub(r"[\W_]+", "", model.casefold())


def _name(what: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(Message("{what} must be a name, not {value}.", what=what, value=repr(value)))
    return value.strip()


def titles_of(traces: Sequence[Trace]) -> list[str]:
    """What tells the traces of one comparison apart, in words: their corpora only where they differ."""
    several = len({trace.corpus for trace in traces}) > 1
    return [
        _joined(
            describe((trace.strategy, trace.controls)),
            str(trace.models),
            _searched(trace.corpus) if several else "",
            trace.where,
        )
        for trace in traces
    ]


def _searched(corpus: str) -> Message:
    if corpus == BUILTIN:
        return Message("Built-in documents")
    return Message("documents: {name}", name=corpus)


def _joined(*parts: str) -> Message:
    return Message.joined(filter(None, parts), " · ")
