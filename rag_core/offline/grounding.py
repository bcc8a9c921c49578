"""Whether the passages shown support the sentences of an answer: classical features, no language model.

Measured on the test part of data/grounding (156 sentences written for it, 80 of them made wrong by one number, unit,
negation, medicine or subject): precision of "supported" 0.87 (41 of 47; 95 % interval 0.75 to 0.94), recall 0.54 (41 of
76; 0.43 to 0.65). On dev, where the constants were chosen, 0.89 and 0.66.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..language.thesaurus import Thesaurus
from ..values.answers import Claim, Grounded, Support
from ..values.markers import references_after_words, without_references
from ..values.types import Passage, Vectors
from .amounts import contains
from .clauses import SUBJECT, Clause, clauses, names_of, read
from .memory import RememberingEmbedder
from .quotable import sentences_in

# Chosen on the dev part of data/grounding and on 1,200 sentences of neighbouring documents: those of the latter that
# score 0.6 or more mostly say what a passage shown says too; between 0.5 and 0.6 many are only on the same subject.
SUPPORTED = 0.6  # mean score of a sentence's clauses from which it is supported
WEAK = 0.4  # and from which it is weak
NEAR = 0.1  # sentences within this of the best one are evidence too
CLAUSE, SENTENCE, WORDS = 0.5, 0.2, 0.5  # weights of the two cosines and of the share of words
MOST = 60  # sentences of an answer that are checked
CACHED = 512  # passages


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a passage: as quoted, whole and in clauses as read in English."""

    text: str
    whole: Clause
    parts: tuple[Clause, ...]


@dataclass(frozen=True, eq=False)
class _Source:
    """A passage: its sentences with their vectors, and its title and headings."""

    title: Clause
    sentences: tuple[_Sentence, ...]
    vectors: Vectors


@dataclass(frozen=True, slots=True)
class _Match:
    """A claim and one passage: the mean over clauses of the best sentence's score, and faults, worst first."""

    score: float
    faults: tuple[_Fault, ...]
    quote: tuple[str, ...]

    @property
    def support(self) -> Support:
        if self.score < WEAK or any(fault.contradicts for fault in self.faults):
            return "unsupported"
        return "supported" if self.score >= SUPPORTED and not self.faults else "weak"

    @property
    def reason(self) -> str:
        if self.score < WEAK:
            return "No passage shown says this."
        if self.faults:
            return self.faults[0].reason
        return "" if self.score >= SUPPORTED else "A passage is near, but not near enough to be sure."


class _Fault(NamedTuple):
    contradicts: bool
    reason: str


class OfflineGrounder:
    """Marks the sentences of an answer as supported, weak or unsupported by the passages shown. Thread-safe.

    Sentences are compared clause by clause, in English (Spanish is read through the gloss). The score of a clause
    is CLAUSE · cosine of clause and passage sentence + SENTENCE · cosine of the whole sentence and it + WORDS ·
    share of the clause's stems in it; the best sentence and those within NEAR are its evidence. A sentence is
    supported when a passage reaches SUPPORTED on average over its clauses, and in each clause

    - every number with its unit, and every medicine, occurs in the evidence (equal after conversion: 1 g, 1000 mg);
    - the evidence negates a word of the clause if and only if the clause negates;
    - the evidence is on the same side of each contrast named (before and after, mother and baby, first and third).

    It is unsupported when no passage reaches WEAK, or when the closest one lacks the number or medicine or negates
    what the sentence says; else it is weak. A sentence that a passage contains word for word is supported. The
    passages' own references are compared with nothing, nor are copies of them.
    """

    def __init__(self, embedder: RememberingEmbedder, thesaurus: Thesaurus | None) -> None:
        self._embedder = embedder
        self._thesaurus = thesaurus
        self._source = functools.lru_cache(maxsize=CACHED)(self._read_source)

    def ground(self, claims: Sequence[Claim], passages: Sequence[Passage], language: str) -> list[Grounded]:
        """The first MOST claims with their support; passages are numbered as in the answer, which is in `language`."""
        checked = claims[:MOST]
        texts = [_plain(without_references(one.text)) for one in passages]
        references = {
            copied: left for one in passages for copied, left in references_after_words(_plain(one.text)).items()
        }
        said = {claim: _uncopied(claim.text, references) for claim in checked}
        quoted = {claim: _quoted(said[claim], texts) for claim in checked}
        left = [claim for claim in checked if not quoted[claim]]
        matches = dict(zip(left, self._matches([said[claim] for claim in left], passages, language), strict=True))
        return [
            Grounded(*claim[:3], "supported", quoted[claim], quoted[claim][0], (claim.text,))
            if quoted[claim]
            else _verdict(claim, matches[claim])
            for claim in checked
        ]

    def _matches(self, said: Sequence[str], passages: Sequence[Passage], language: str) -> Iterator[list[_Match]]:
        """What each claim says compared with every passage; without a claim, none is read."""
        if not said:
            return
        sources = [self._source(one.full_title, one.text, one.language) for one in passages]
        read_claims = [self._embedder.read(text, language) for text in said]
        parts = [clauses(text, self._thesaurus) for text in read_claims]
        texts = [text for text, own in zip(read_claims, parts, strict=True) for text in (text, *(c.text for c in own))]
        vectors, _ = self._embedder.embed(texts, "query", ["en"] * len(texts))
        at = 0
        for own in parts:
            mine = vectors[at : at + 1 + len(own)]
            at += len(mine)
            yield [_compare(own, mine, source) for source in sources if source.sentences]

    def _read_source(self, title: str, text: str, language: str) -> _Source:
        title = without_references(title)
        found = sentences_in(1, without_references(text), title, language)
        as_read = [self._embedder.read(each.text, language) for each in found]
        texts = [
            f"{as_read[each.lead]} {own}" if each.lead is not None else own
            for each, own in zip(found, as_read, strict=True)
        ]
        vectors, _ = self._embedder.embed([each.text for each in found], "passage", [language] * len(found))
        return _Source(
            read(self._embedder.read(title, language), self._thesaurus),
            tuple(
                _Sentence(each.text, read(own, self._thesaurus), clauses(own, self._thesaurus))
                for each, own in zip(found, texts, strict=True)
            ),
            vectors,
        )


def _verdict(claim: Claim, matches: Sequence[_Match]) -> Grounded:
    """The support of a claim: by the passages that support it, or else by the closest one."""
    if not matches:
        return Grounded(*claim[:3], "unsupported", reason="There is no passage to compare it with.")
    numbered = sorted(enumerate(matches, start=1), key=lambda each: -each[1].score)
    supporting = [each for each in numbered if each[1].support == "supported"]
    n, best = (supporting or numbered)[0]
    by = tuple(
        sorted(number for number, one in numbered if one.support == best.support and one.support != "unsupported")
    )
    return Grounded(*claim[:3], best.support, by, n, best.quote, best.reason)


def _compare(parts: Sequence[Clause], vectors: Vectors, source: _Source) -> _Match:
    """A claim's clauses compared with a passage; `vectors` are of the whole claim and of each clause."""
    whole, *own = (source.vectors @ vector for vector in vectors)
    scores: list[float] = []
    faults: list[_Fault] = []
    quote: list[str] = []
    said = [scope for clause in parts for scope in clause.negated]
    for clause, cosines in zip(parts, own, strict=True):
        shared = np.array([len(clause.stems & each.whole.stems) for each in source.sentences])
        reached = CLAUSE * cosines + SENTENCE * whole + WORDS * shared / max(1, len(clause.stems))
        best = int(reached.argmax())
        near = [place for place, score in enumerate(reached) if score >= reached[best] - NEAR]
        scores.append(float(reached[best]))
        quote.append(source.sentences[best].text)
        faults += _faults(clause, said, source, best, near)
    return _Match(float(np.mean(scores)), tuple(sorted(faults, reverse=True)), tuple(dict.fromkeys(quote)))


def _faults(
    clause: Clause, negated: Sequence[frozenset[str]], source: _Source, best: int, near: Sequence[int]
) -> Iterator[_Fault]:
    """What a clause says otherwise than its evidence; `negated` has what each negation of the whole claim applies to."""
    evidence = [source.sentences[place].whole for place in near]
    closest = source.sentences[best]
    before = source.sentences[best - 1].whole if best else source.title
    amounts = frozenset().union(source.title.quantities, *(each.quantities for each in evidence))
    if missing := [each.text for each in clause.quantities if not contains(amounts, each)]:
        yield _Fault(True, f"The closest passage does not say {' or '.join(sorted(missing))}.")
    part = max(closest.parts, key=lambda each: len(clause.stems & each.stems))
    named = source.title.drugs.union(before.drugs, *(each.drugs for each in evidence))
    strange = clause.drugs - named
    if not strange and part.drugs and not clause.drugs & part.drugs:
        strange = clause.drugs
    if strange:
        yield _Fault(True, f"The closest passage does not say it of {names_of(strange)}.")
    denied = _lacking([scope for each in closest.parts for scope in each.negated], negated)
    shared = max((len(scope & clause.stems) for scope in denied), default=0)
    if clause.negated and not any(each.negated for each in evidence):
        yield _Fault(False, "The sentence has a negation that the closest passage lacks.")
    elif shared > 1 or (shared and not clause.negated):
        yield _Fault(shared > 1 and not clause.negated, "The closest passage has a negation that the sentence lacks.")
    for contrast, (mine, theirs) in enumerate(zip(clause.sides, part.sides, strict=True)):
        if contrast == SUBJECT and not theirs:
            theirs = closest.whole.sides[SUBJECT] or before.sides[SUBJECT] | source.title.sides[SUBJECT]
        if mine and theirs and not mine <= theirs:
            yield _Fault(False, "The closest passage speaks of someone or some time else.")


def _lacking(theirs: Sequence[frozenset[str]], ours: Sequence[frozenset[str]]) -> Iterator[frozenset[str]]:
    """The negations of the evidence without one of the claim's about the same words, each matched once."""
    left = list(ours)
    for scope in theirs:
        nearest = max(left, key=lambda one: len(one & scope), default=frozenset[str]())
        if nearest & scope:
            left.remove(nearest)
        else:
            yield scope


def _uncopied(text: str, references: Mapping[str, str]) -> str:
    """A claim without the references that it copies; elsewhere, "(2)" is a number like any other."""
    for copied in sorted(references, key=len, reverse=True):
        text = text.replace(copied, references[copied])
    return text


def _quoted(text: str, passages: Sequence[str]) -> tuple[int, ...]:
    """The passages, with plain spaces, that contain a sentence word for word."""
    plain = _plain(text)
    return tuple(n for n, passage in enumerate(passages, start=1) if plain and plain in passage)


def _plain(text: str) -> str:
    return " ".join(text.replace("**", "").split())
