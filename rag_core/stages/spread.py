"""Spreading a ranking over documents, those in the question's language first."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..language.analysis import language_of
from ..runtime.context import Context
from ..values.errors import ConfigError
from ..values.types import Hit, Ranking, ordered_votes
from .base import SelectStage


@dataclass(frozen=True)
class Spread(SelectStage):
    """Moves passages down that repeat a document or are in another language than the question.

    The i-th passage of a document counts weight^(i − 1) of its worth, one in another language `foreign` of it.

    A passage's worth is its score as a share of the list's range, 0 (lowest) to 1 (highest), because scores of
    different scales are not comparable. Each further passage of a document tends to tell less that is new: the
    discount of α-nDCG (Clarke et al., "Novelty and diversity in information retrieval evaluation", SIGIR 2008)
    with documents in place of nuggets, and weight = 1 − α. Scores stay as they are; only the order changes.

    Args:
        weight: 0 to 1; 1 for no difference between documents.
        foreign: 0 to 1; 1 for no difference between languages.

    Example:
        >>> from rag_core.testing import ranking_of, sample_context  # each of these passages is a document
        >>> [hit.id for hit in Spread(0.9).select(ranking_of({"a": 3, "b": 2, "c": 1}), sample_context())]
        ['a', 'b', 'c']
    """

    weight: float = 0.85
    foreign: float = 1.0

    def __post_init__(self) -> None:
        for name, value in (("weight", self.weight), ("foreign", self.foreign)):
            if not 0 <= value <= 1:
                raise ConfigError(f"Spread: {name} must be from 0 to 1, not {value}.")

    def select(self, ranking: Ranking, ctx: Context) -> Sequence[Hit]:
        scores = [hit.score for hit in ranking]
        low, reach = min(scores, default=0.0), max(scores, default=0.0) - min(scores, default=0.0)
        spoken = language_of(ctx.as_read(ranking.query.text))
        seen: Counter[str] = Counter()
        worths: list[float] = []
        for hit in ranking:
            share = (hit.score - low) / reach if reach else 1.0
            language = 1.0 if hit.passage.language == spoken else self.foreign
            worths.append(share * language * self.weight ** seen[hit.passage.doc_id])
            seen[hit.passage.doc_id] += 1
        order = sorted(range(len(worths)), key=lambda row: -worths[row])
        return ordered_votes([ranking.hits[row] for row in order], ranking.query, self.name)
