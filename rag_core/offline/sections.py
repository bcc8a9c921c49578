"""Which sections of the sources answer a question, and the sentence of each that answers best.

A section is a passage: what stands under one heading. It is quoted whole, because what is cut from it are the doses,
list items and warnings that it was written for.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..language.analysis import language_of
from ..language.facts import facts
from ..language.questions import parts
from ..prompts.prompt import Sources
from ..runtime.services import AskedQuestions, Embedder, TextKind
from ..safety.urgency.advice import points_back
from ..values.sources import Source
from ..values.types import Hit
from .memory import titles_of, under_title
from .quotable import Sentence, quoted, sentences_of
from .urgent import Urgent

# A section is worth RELEVANCE · log-odds of its relevance + PLACE / rank + KNOWN · likeness of the question to those
# that it is known to answer and how well their words tell it from the other sections; where none are known, NEAREST ·
# cosine of its nearest sentence replaces KNOWN's. An urgent question adds NAMES for a heading with its sign, and SAYS
# for each step of directness with which the section says what to do now, unless a clinician asks, who is to treat and
# not to call. All but SAYS are fitted on dev, to make a section of grade 2 likeliest, by tests/benchmarks/fit_sections.py.
RELEVANCE, PLACE, KNOWN, NEAREST = 1.4, 0.85, 15.0, 4.21
SAYS, NAMES = 1.5, 2.0
# A section in another language must be worth more by this. Of 426 dev answers of hybrid_rrf and ensemble, 32 are in
# another language with 3.5, 18 with 5, 6 with 8; acceptable are 351, 339, 331 of 418.
LANGUAGE = 3.5
GAP = 2.0  # a second section may be worth this much less than the first
SAME = 0.82  # lowest cosine at which two sentences say the same
MOST = 2  # sections quoted, unless a question has more parts, each with its own
MIN_COSINE = 0.52  # lowest cosine of the nearest sentence if nobody rated the sections

LAST_WEEK = 42  # of pregnancy
_BEFORE = re.compile(
    r"(?:before|under|antes de(?: las)?|first|primeras) (\d+)(?:\+\d)? (?:weeks?|semanas?)", re.IGNORECASE
)
_BETWEEN_NAMES = re.compile(r"[,()/]|\b(?:and|others|colleagues|y|e|colaboradores)\b")  # of an organisation


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A source with its sentences.

    Args:
        near: (parts, sentences) mean cosine of each sentence, read under its title, to a part of the question and
            to all of it, which names its subject.
        says: (sentences,) how directly each says what to do now; see `Urgent.directness`.
        ours: (sentences,) 1 for those that name whose guidance leads in the chosen country, where guidance differs.
        alone: only its best sentence is quoted, because it is about something else and a stray sentence could do
            harm, or follows the first in an emergency.
    """

    hit: Hit
    sentences: tuple[Sentence, ...]
    near: NDArray[np.float64]
    says: NDArray[np.float64]
    ours: NDArray[np.float64]
    alone: bool

    @property
    def text(self) -> str:
        return " ".join([self.hit.passage.full_title, *(each.text for each in self.sentences)])

    @property
    def quotation(self) -> str:
        passage, best = self.hit.passage, self.best
        if self.alone and not points_back(best.text):  # "any of these signs" needs the signs
            lead = "" if best.lead is None else f"{self.sentences[best.lead].text}\n\n- "
            return f"{lead}**{best.text}** [{best.n}]"
        return f"{quoted(passage.text, passage.language, best.text)} [{best.n}]"

    @property
    def best(self) -> Sentence:
        """What to do now, or what the chosen country's guidance says, if a sentence does; else the nearest."""
        nearest = self.near.mean(axis=0) + self.says + self.ours
        return self.sentences[int(nearest.argmax())]


@dataclass(frozen=True, slots=True)
class Sections:
    """Chooses sections and sentences by vectors; its constants fit the bundled model only. `asked`: known questions."""

    embedder: Embedder
    asked: AskedQuestions | None = None

    def choose(self, urgent: Urgent, sources: Sources, relevance: Sequence[float] | None = None) -> list[Section]:
        """The sections to quote, best first; empty when none is good enough.

        The best for each part of the question; where that is one, also a second that is nearly as good, in the same
        language. A heading that names other weeks of pregnancy than the question's speaks against its section. For an
        urgent question, none where no section names a sign of it, and a second only if it says what to do now: of the
        others, on dev, 26 of 44 were beside the question and 9 answered it. In an emergency it is that one sentence: on
        dev, the rest of the second section made 5 answers harmful and 3 less acceptable.

        `relevance` is of each source, 0 to 1; None if nobody rated them: then MIN_COSINE decides.
        """
        question = urgent.question
        asked = [question] if urgent.triage.urgent else parts(question)
        sections = self.read(urgent, asked, sources)
        if relevance is None and max((one.near.max() for one in sections), default=0.0) < MIN_COSINE:
            return []
        sections = [one for one in sections if urgent.suits(one.sentences)]
        if urgent.triage.signs and not any(urgent.names_sign(one.text) for one in sections):
            return []  # they are about something milder
        if urgent.is_delicate:
            sections = [one for one in sections if one.says.any()]
        if (week := week_of(question)) is not None:
            fitting = [one for one in sections if is_about(one.hit.passage.heading, week)]
            sections = fitting or sections  # the week may be beside the question
        if not sections:
            return []
        totals = self._nearness(question, asked, sections)
        totals += np.array([[_worth(one, sources, relevance, urgent)] for one in sections])
        whole = totals.mean(axis=1)
        order = np.argsort(-whole, kind="stable").tolist()
        chosen = [*dict.fromkeys(totals.argmax(axis=0).tolist())]
        most = max(MOST, len(chosen))
        if not urgent.is_delicate:
            chosen += [
                i
                for i in order
                if i not in chosen
                and whole[i] >= whole[order[0]] - GAP
                and sections[i].hit.passage.language == sections[chosen[0]].hit.passage.language
                and (sections[i].says.any() or not urgent.triage.urgent)
            ]
        first, *others = (sections[i] for i in chosen[:most])
        emergency = urgent.triage.level == "emergency"
        return [first, *(replace(one, alone=True) if emergency else one for one in others)]

    def _nearness(self, question: str, asked: Sequence[str], sections: Sequence[Section]) -> NDArray[np.float64]:
        """(sections, parts) how near each section is to each part and to all of the question, as it counts."""
        if self.asked is None:
            return np.array([one.near.max(axis=1) for one in sections]) * NEAREST
        ids, texts = [one.hit.id for one in sections], (question, *asked)
        near, told = (
            np.array([compare(text, ids) for text in texts], float)  # NaN: none known
            for compare in (self.asked.likeness, self.asked.words_among)
        )
        worth = KNOWN * (near + told)
        worth = np.where(np.isnan(worth), np.nanmean(worth) if not np.isnan(worth).all() else 0.0, worth)
        weighed: NDArray[np.float64] = (worth[:1] + worth[1:]).T / 2
        return weighed

    def closest(self, question: str, sentences: Sequence[Sentence], most: int, skip: int = 0) -> list[Sentence]:
        """The nearest sentences after the `skip` very nearest, without two that say the same, in reading order."""
        if not sentences:
            return []
        vectors = self._embed([one.text for one in sentences])
        chosen: list[int] = []
        for i in np.argsort(-(vectors @ self._embed([question], kind="query")[0]), kind="stable"):
            if len(chosen) < skip + most and all(float(vectors[i] @ vectors[j]) < SAME for j in chosen):
                chosen.append(int(i))
        return [sentences[i] for i in sorted(chosen[skip:])]

    def read(self, urgent: Urgent, asked: Sequence[str], sources: Sources) -> list[Section]:
        """The sources that have sentences, in order; `asked` are the question's parts, at least one."""
        wanted = self._embed([urgent.question, *asked], language_of(urgent.question), "query")
        found = []
        for n, hit in enumerate(sources, start=1):
            passage = hit.passage
            said = tuple(sentences_of(n, passage))
            if not said:
                continue
            vectors = self._embed([one.text for one in said], passage.language)
            (title,), _ = titles_of(self.embedder, [passage])
            cosines = (wanted @ under_title(vectors, title).T).astype(float)
            near = (cosines[:1] + cosines[1:]) / 2
            says = np.array(urgent.directnesses(said), float)
            leading = passage.leading(sources.country)
            ours = np.array([_names_any(leading, one.text) for one in said], float)
            alone = urgent.is_delicate and not urgent.names_sign(passage.full_title)
            found.append(Section(hit, said, near, says, ours, alone))
        return found

    def _embed(self, texts: Sequence[str], language: str = "", kind: TextKind = "passage") -> NDArray[np.float32]:
        return self.embedder.embed(texts, kind, [language] * len(texts))[0]


def _worth(section: Section, sources: Sources, relevance: Sequence[float] | None, urgent: Urgent) -> float:
    """What a section is worth apart from its nearest sentence.

    One written from the guidance of the chosen country is worth GAP more than one that only names it.
    """
    n, passage = section.sentences[0].n, section.hit.passage
    worth = PLACE / n
    if relevance is not None:
        worth += RELEVANCE * log_odds(relevance[n - 1])
    if passage.language == language_of(urgent.question):
        worth += LANGUAGE
    if any(one in passage.agreeing for one in passage.leading(sources.country)):
        worth += GAP
    if urgent.triage.urgent:
        worth += NAMES * urgent.names_sign(passage.full_title)
        worth += SAYS * float(section.says.max()) * (not urgent.triage.clinician)
    return worth


def _names_any(sources: Iterable[Source], text: str) -> bool:
    """Whether a text names the organisation of one of these sources."""
    names = (part.strip() for source in sources for part in _BETWEEN_NAMES.split(source.organisation))
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names if name)


def log_odds(probability: float) -> float:
    """The log-odds of a probability, clipped to 0.01 to 0.99."""
    clipped = min(max(probability, 0.01), 0.99)
    return math.log(clipped / (1 - clipped))


def week_of(question: str) -> int | None:
    """The completed week of pregnancy that a question names; None if it names none, or several.

    >>> week_of("Can I take ibuprofen at 32+4?"), week_of("Is it 24 weeks or 28 weeks?")
    (32, None)
    """
    named = {fact.values[0] for fact in facts(question, language_of(question)) if fact.kind == "age"}
    if len(named) != 1:
        return None
    week = re.match(r"\d+", named.pop())
    return int(week[0]) if week and 1 <= int(week[0]) <= LAST_WEEK else None


def is_about(heading: str, week: int) -> bool:
    """Whether a section with this heading is about a week; false only if the heading names an earlier end.

    >>> is_about("NSAIDs before 20 weeks", 32), is_about("NSAIDs before 20 weeks", 12), is_about("How to take it", 32)
    (False, True, True)
    """
    before = _BEFORE.search(heading)
    return before is None or week < int(before[1])
