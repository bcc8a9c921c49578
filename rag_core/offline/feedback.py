"""Pseudo-relevance feedback: terms and titles from the best passages of a first search."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from ..language.analysis import Word, words_of
from ..runtime.services import Embedder, Index
from ..stages import ReciprocalRankFusion
from ..values.types import Passage, Query, Ranking

DEPTH = 50  # hits per search of the first pass
MAX_FEEDBACK_PASSAGES = 3  # assumed to be relevant
AGREEMENT_DEPTH = 20  # both searches must rank them this high; on dev, 20 is better than 10 or no check
MIN_TERM_LENGTH = 4  # letters per feedback term


@dataclass(frozen=True, slots=True)
class Feedback:
    """A first pass: its best passages, and all passages it found, as background."""

    best: tuple[Passage, ...]
    background: tuple[Passage, ...]

    def titles(self) -> list[str]:
        """Titles and headings of the best passages, without duplicates, best first."""
        return list(dict.fromkeys(passage.full_title for passage in self.best if passage.full_title))

    def terms(self, language: str, known: str, most: int) -> list[str]:
        """The most distinctive terms of the best passages, in their most common form, highest weight first.

        RM3 (Lavrenko and Croft, SIGIR 2001; Abdul-Jaleel et al., UMass at TREC 2004): a term's weight is its
        share of each best passage, divided by the passage's rank and summed. Instead of interpolating, the
        terms are appended to the question as text; instead of an idf, each weight is multiplied by the share
        of first-pass passages without the term.

        Args:
            known: a text whose words are left out.
        """
        weights: defaultdict[str, float] = defaultdict(float)
        forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for rank, passage in enumerate(self.best, start=1):
            words = [word for word in words_of(passage.indexed_text, language) if _carries(word)]
            for word in words:
                weights[word.stem] += 1 / (rank * len(words))
                forms[word.stem][passage.indexed_text[word.start : word.end].lower()] += 1
        for word in words_of(known, language):
            weights.pop(word.stem, None)
        common = Counter(
            stem
            for passage in self.background
            for stem in {word.stem for word in words_of(passage.indexed_text, language)}
        )
        for stem in weights:
            weights[stem] *= 1 - common[stem] / (len(self.background) + 1)
        ranked = sorted(weights, key=lambda stem: (-weights[stem], stem))[:most]
        return [forms[stem].most_common(1)[0][0] for stem in ranked]


def first_pass(question: str, language: str, embedder: Embedder, index: Index) -> Feedback:
    """Search densely and lexically, fuse by reciprocal rank, and keep passages in the question's language.

    If there are none, passages in any language are used. A passage must rank high in both searches: feedback
    harms questions whose first pass is wrong (selective feedback; Amati, Carpineto and Romano, ECIR 2004), and
    lay questions often match on a chance word.
    """
    vectors, _ = embedder.embed([question])
    searches = [index.dense(vectors[0], DEPTH), index.lexical(question, DEPTH, 1.5, 0.75)]
    scores = ReciprocalRankFusion().fuse([Ranking(Query(question), tuple(hits)) for hits in searches])
    by_id = {hit.id: hit.passage for hits in searches for hit in hits}
    found = [by_id[name] for name in sorted(scores, key=lambda name: (-scores[name], name))]
    agreed = set.intersection(*({hit.id for hit in hits[:AGREEMENT_DEPTH]} for hits in searches))
    passages = [passage for passage in found if passage.language == language] or found
    best = [
        passage
        for passage in passages[:MAX_FEEDBACK_PASSAGES]
        if passage.id in agreed and not passage.gives_orders
    ]
    return Feedback(tuple(best), tuple(passages))


def _carries(word: Word) -> bool:
    return not word.stop and len(word.form) >= MIN_TERM_LENGTH and word.form.isalpha()
