"""Pseudo-relevance feedback: what the best passages of a first pass say about a question."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from ..language.analysis import Word, words_of
from ..runtime.services import Embedder, Index
from ..values.types import Hit, Passage

DEPTH = 50  # of each of the two searches of the first pass
MAX_FEEDBACK_PASSAGES = 3  # taken to be relevant at most
AGREEMENT_DEPTH = (
    20  # and only when both searches have them among so many; dev: 20 gives more than 10 or no check
)
SMOOTHING = 60  # reciprocal rank fusion's constant (Cormack et al., SIGIR 2009)
MIN_TERM_LENGTH = 4  # letters of a feedback term


@dataclass(frozen=True, slots=True)
class Feedback:
    """A first pass: its best passages, and all it found as the background they stand out from."""

    best: tuple[Passage, ...]
    background: tuple[Passage, ...]

    def titles(self) -> list[str]:
        """Titles and headings of the best passages, without repetition, best first."""
        return list(dict.fromkeys(passage.full_title for passage in self.best if passage.full_title))

    def terms(self, language: str, known: str, most: int) -> list[str]:
        """The terms that set the best passages apart, in their commonest form, weightiest first.

        RM3 (Lavrenko and Croft, SIGIR 2001; Abdul-Jaleel et al., UMass at TREC 2004): a term's weight is
        its mean share of the best passages, each weighted by its place. As the terms are put behind the
        question as text, the interpolation is the embedding's; each weight is multiplied by the share of
        the first pass's passages that lack the term, in place of an idf.

        Args:
            known: a text whose words are left out.
        """
        weights: defaultdict[str, float] = defaultdict(float)
        forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for place, passage in enumerate(self.best, start=1):
            words = [word for word in words_of(passage.indexed_text, language) if _carries(word)]
            for word in words:
                weights[word.stem] += 1 / (place * len(words))
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
    """Search both ways, fuse by reciprocal rank, and keep the passages in the question's language.

    Where none is in it, passages of any language serve. A passage that only one of the searches puts high
    is no good feedback: feedback harms the questions whose first pass is wrong (selective feedback; Amati,
    Carpineto and Romano, ECIR 2004), and lay questions often match by a chance word.
    """
    vectors, _ = embedder.embed([question])
    rankings = [index.dense(vectors[0], DEPTH), index.lexical(question, DEPTH, 1.5, 0.75)]
    found = fused(rankings)
    agreed = set.intersection(*({hit.id for hit in hits[:AGREEMENT_DEPTH]} for hits in rankings))
    own = [hit.passage for hit in found if hit.passage.language == language]
    passages = own or [hit.passage for hit in found]
    best = [passage for passage in passages[:MAX_FEEDBACK_PASSAGES] if passage.id in agreed]
    return Feedback(tuple(best), tuple(passages))


def fused(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """Hits of all rankings by Σ 1 / (60 + rank), best first."""
    scores: defaultdict[str, float] = defaultdict(float)
    held: dict[str, Hit] = {}
    for hits in rankings:
        for rank, hit in enumerate(hits, start=1):
            scores[hit.id] += 1 / (SMOOTHING + rank)
            held.setdefault(hit.id, hit)
    return [held[name] for name in sorted(scores, key=lambda name: (-scores[name], name))]


def _carries(word: Word) -> bool:
    return not word.stop and len(word.form) >= MIN_TERM_LENGTH and word.form.isalpha()
