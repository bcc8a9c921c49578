"""Verdicts on answers, by the statements of a judged answer set, their shares, and the simple answers to beat."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from ..documents.answer_set import AnswerSet, JudgedAnswer, sentence_terms
from ..documents.benchmark import passage_key
from ..language.analysis import language_of
from ..stages.citations import resolve_citations, unmarked
from ..values.errors import RagError
from ..values.trace import Trace
from ..values.types import Hit
from .statistics import Interval, wilson

AnswerVerdict = Literal["acceptable", "incomplete", "off_topic", "harmful", "abstained_wrongly", "abstained_rightly"]


@dataclass(frozen=True, slots=True)
class Assessment:
    """The verdict on one answer, the necessary statements it lacks, and the unacceptable ones it makes."""

    verdict: AnswerVerdict
    missing: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"verdict": self.verdict, "missing": list(self.missing), "unwanted": list(self.unwanted)}


def assess(judged: JudgedAnswer, trace: Trace, relevant: Collection[str]) -> Assessment:
    """Judge the answer of a trace by its words; raises ValueError without one.

    harmful: it contains a harmful statement, whatever else it says.
    acceptable: it contains every necessary statement. More is no fault: sections are quoted whole.
    incomplete: it contains a necessary statement, but lacks another. Also an answer with no necessary or off-topic one
        that cites a tied passage or a relevant document: it is on the question and does not answer it.
    off_topic: any other answer, and every answer to a question that the collection does not cover.
    abstained_rightly, abstained_wrongly: it abstains on a question outside the collection, or on another.
    """
    answer = trace.answer
    if answer is None:
        raise ValueError("the trace has no answer to judge")
    if answer.abstained:
        verdict: AnswerVerdict = "abstained_rightly" if judged.outside else "abstained_wrongly"
        return Assessment(verdict, tuple(one.says for one in judged.must))
    said = sentence_terms(unmarked(answer.written))
    missing = tuple(one.says for one in judged.must if not one.said_in(said))
    unwanted = [one for one in judged.must_not if one.said_in(said)]
    if any(one.why == "harmful" for one in unwanted):
        verdict = "harmful"
    elif judged.outside:
        verdict = "off_topic"
    elif not missing:
        verdict = "acceptable"
    elif len(missing) < len(judged.must) or (not unwanted and _cites(judged, trace, relevant)):
        verdict = "incomplete"
    else:
        verdict = "off_topic"
    return Assessment(verdict, missing, tuple(one.says for one in unwanted))


def _cites(judged: JudgedAnswer, trace: Trace, relevant: Collection[str]) -> bool:
    cited = {citation.context_id for citation in trace.answer.citations} if trace.answer else set()
    return any(
        passage_key(one.id) in judged.passages or one.doc_id in relevant
        for hit in trace.ranking
        if hit.id in cited
        for one in (hit.passage, *hit.passage.copies)
    )


@dataclass(frozen=True, slots=True)
class VerdictShares:
    """The verdicts on a group of answers, counted; failed questions have none."""

    counts: Mapping[AnswerVerdict, int]

    @property
    def n(self) -> int:
        return sum(self.counts.values())

    def share(self, verdict: AnswerVerdict) -> Interval | None:
        return wilson(self.counts.get(verdict, 0), self.n)

    def as_json(self, verdicts: Iterable[AnswerVerdict]) -> dict[str, Any]:
        """Plain values: n, and of each of these verdicts its count and its share with bounds."""
        found: dict[str, Any] = {"n": self.n}
        for verdict in verdicts:
            one = self.share(verdict)
            share, low, high = (one.mean, one.low, one.high) if one else (None, None, None)
            found[verdict] = {"count": self.counts.get(verdict, 0), "share": share, "low": low, "high": high}
        return found


COVERED: tuple[AnswerVerdict, ...] = (
    "acceptable", "incomplete", "off_topic", "harmful", "abstained_wrongly"
)  # fmt: skip
OUTSIDE: tuple[AnswerVerdict, ...] = ("abstained_rightly", "off_topic", "harmful")


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """The verdicts on the covered and the outside questions of one language, one kind, or all; no share has failed ones."""

    covered: VerdictShares
    outside: VerdictShares
    failed: int

    def as_json(self) -> dict[str, Any]:
        return {
            "covered": self.covered.as_json(COVERED),
            "outside": self.outside.as_json(OUTSIDE),
            "failed": self.failed,
        }


@dataclass(frozen=True, slots=True)
class VerdictScores:
    """The verdicts on one strategy's answers, in all, by language and by kind of question."""

    everything: VerdictGroup
    languages: Mapping[str, VerdictGroup]
    kinds: Mapping[str, VerdictGroup]

    @classmethod
    def of(cls, answers: Mapping[str, Assessment | RagError], judged: AnswerSet) -> Self:
        """Count the verdicts, by question id; errors count as failed."""
        questions = {identity: judged.answers[identity].question for identity in answers}

        def group(members: Collection[str]) -> VerdictGroup:
            sides: dict[bool, Counter[AnswerVerdict]] = {False: Counter(), True: Counter()}
            for identity in members:
                one = answers[identity]
                if isinstance(one, Assessment):
                    sides[judged.answers[identity].outside][one.verdict] += 1
            made = sides[False].total() + sides[True].total()
            return VerdictGroup(VerdictShares(sides[False]), VerdictShares(sides[True]), len(members) - made)

        def groups(values: Mapping[str, str]) -> dict[str, VerdictGroup]:
            return {
                value: group([identity for identity in answers if values[identity] == value])
                for value in sorted({value for value in values.values() if value})
            }

        return cls(
            group(answers),
            groups({identity: question.language for identity, question in questions.items()}),
            groups({identity: question.kind for identity, question in questions.items()}),
        )

    def as_json(self) -> dict[str, Any]:
        return {
            "all": self.everything.as_json(),
            "languages": {name: group.as_json() for name, group in self.languages.items()},
            "kinds": {name: group.as_json() for name, group in self.kinds.items()},
        }


Pick = Callable[[Sequence[Hit], str], Sequence[Hit]]

BASELINES: Mapping[str, Pick] = {
    "top section": lambda hits, language: hits[:1],
    # in the asker's language; without any, the first two
    "two sections": lambda hits, language: ([hit for hit in hits if hit.passage.language == language] or hits)[:2],
}


def answer_by(pick: Pick, trace: Trace) -> Trace:
    """A trace whose answer, if it is one, quotes the passages that `pick` takes whole; its notice stays in front."""
    answer, hits = trace.answer, trace.ranking.hits
    if answer is None or answer.abstained:
        return trace
    numbers = {hit.id: n for n, hit in enumerate(hits, start=1)}
    picked = pick(hits, language_of(trace.question))
    quoted = "\n\n".join(f"{hit.passage.text} [{numbers[hit.id]}]" for hit in picked)
    text, citations, _ = resolve_citations(quoted, hits)
    written = replace(answer, text=f"{answer.notice} {text}".lstrip(), citations=citations)
    last = replace(trace.steps[-1], after=replace(trace.final, answer=written))
    return replace(trace, steps=(*trace.steps[:-1], last))
