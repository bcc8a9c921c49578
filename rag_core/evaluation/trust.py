"""How far the safeguards can be trusted, on urgent questions too: each measured on a labelled set of its own."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from ..catalog import StrategySpec, build
from ..documents.benchmark import Benchmark, Question, read_builtin
from ..documents.documents import json_lines, read_document
from ..lab.lab import Lab
from ..offline.urgent import SafetyCheck, check_safety
from ..runtime.context import Context
from ..runtime.services import Grounder
from ..safety.privacy import find_private
from ..safety.urgency.triage import triage
from ..stages.answer import weighed
from ..values.answers import Claim
from ..values.errors import ConfigError, DataError, RagError
from ..values.triage import LEVELS, Level
from ..values.types import Passage
from .answer_scores import AbstentionFigures
from .answers import AnswerReport, evenly_spaced
from .statistics import Interval, wilson

Writer = Literal["offline", "model"]


def measure_abstention(
    lab: Lab, strategy: StrategySpec, questions: Mapping[Question, bool], writer: Writer = "offline"
) -> dict[str, AbstentionFigures]:
    """Ask questions, and count who is declined: by question language, and "all".

    No language model is called for an answer: the offline engine answers in its place ("offline"), or only the decision
    before the call is made ("model"). `questions` say whether each is outside the collection; see `read_abstention`.
    Raises RagError, above all ConfigError for a lab that never declines (RAG_ABSTAIN=off, or no thresholds).
    """
    paid = {role: model for role, model in lab.engines.paid.items() if role != "answer"}
    asking = lab.with_engines(replace(lab.engines, paid=paid))
    services = asking.services()
    evidence = services.evidence
    if evidence is None or not evidence.fitted:
        raise ConfigError(
            "This lab declines no question for weak evidence.",
            "Set RAG_ABSTAIN=auto, and an embedding model with thresholds.",
        )
    built = build(strategy) if writer == "offline" else build(strategy).without_answer()
    counts: dict[str, Counter[tuple[bool, bool]]] = {"all": Counter()}
    for question, outside in questions.items():
        trace = asking.run(question.text, built)
        if trace.answer is not None:
            declined = trace.answer.abstained
        else:
            ctx = Context(services)
            read, found = ctx.as_read(question.text), weighed(trace.final, ctx)
            declined = (
                not found or not evidence.score(read, found, ctx.urgency(read), services.asked, offline=False).enough
            )
        for group in (question.language, "all"):
            counts.setdefault(group, Counter())[outside, declined] += 1
    return {group: AbstentionFigures(counted) for group, counted in counts.items()}


def outside_of(judged: Benchmark) -> dict[Question, bool]:
    """The questions of a judged set, and whether each has no relevant document."""
    unanswerable = set(judged.unanswerable)
    return {question: question in unanswerable for question in judged.questions}


def read_abstention(data: Path, split: str) -> dict[Question, bool]:
    """Whether the collection leaves each question of a split of `data/abstention` unanswered; raises DataError."""
    rows = _rows(data / "abstention" / f"{split}.jsonl", {"text", "language", "form", "outside"})
    return {
        Question(f"abstention-{split}-{n}", row["text"], row["language"], row["form"], ""): bool(row["outside"])
        for n, row in enumerate(rows, start=1)
    }


Wanted = Literal["high", "low"]
ABSTAINING = "hybrid_rrf"  # the strategy on whose passages abstention is measured


@dataclass(frozen=True, slots=True)
class Measure:
    """One share with its 95 % Wilson interval (None without cases), and whether it should be high or low."""

    safeguard: str
    name: str
    share: Interval | None
    wanted: Wanted = "high"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"share": self.share and self.share.as_json()}


def trust_measures(lab: Lab, limit: int | None = None) -> list[Measure]:
    """All measures with a lab's models and data; abstention on `limit` evenly spaced questions, or all."""
    data, grounder = lab.settings.data, lab.engines.grounder
    return [
        *urgency_measures(data),
        *privacy_measures(data),
        *(grounding_measures(data, grounder) if grounder else ()),
        *(abstention_measures(lab, limit) if lab.engines.evidence else ()),
    ]


def urgency_measures(data: Path) -> list[Measure]:
    """Triage on `urgency/test.jsonl`, and on the built-in questions, with which the rules were written.

    Here and below, `data` is the product's data folder; a file that is missing or malformed raises DataError.
    """
    fresh = [(row["text"], row["level"]) for row in _rows(data / "urgency" / "test.jsonl", {"text", "level"})]
    own = [(one.text, one.level) for split in ("dev", "test") for one in read_builtin(data, split).questions]
    names: dict[str, tuple[str, Wanted]] = {
        "emergency": ("emergencies rated urgent", "high"),
        "same_day": ("same-day questions rated urgent", "high"),
        "routine": ("routine questions rated urgent", "low"),
    }
    return [
        _measure(safeguard, name, [triage(text).urgent for text, rated in questions if rated == level], wanted)
        for safeguard, questions in (("Urgency", fresh), ("Urgency, built-in questions", own))
        for level, (name, wanted) in names.items()
    ]


def privacy_measures(data: Path) -> list[Measure]:
    """The guard of private data on the questions of `private/test.jsonl`."""
    whole: list[bool] = []
    right: list[bool] = []
    hit: list[bool] = []
    for row in _rows(data / "private" / "test.jsonl", {"text", "spans"}):
        labelled = {tuple(span[:2]) for span in row["spans"]}
        found = {(span.start, span.end) for span in find_private(row["text"])}
        whole += [any(start <= a and b <= end for start, end in found) for a, b in labelled]
        right += [any(start < b and a < end for a, b in labelled) for start, end in found]
        if not labelled:
            hit.append(bool(found))
    return [
        _measure("Private data", "pieces of private data found whole", whole),
        _measure("Private data", "pieces found that are private", right),
        _measure("Private data", "questions without any that were stopped", hit, wanted="low"),
    ]


def grounding_measures(data: Path, grounder: Grounder) -> list[Measure]:
    """The support of sentences, on the sentences of `grounding/test.jsonl`."""
    judged: list[tuple[bool, bool]] = []  # was it marked supported, and is it
    for sentence, language, passage, right in grounding_pairs(data, "test"):
        (one,) = grounder.ground([Claim(0, len(sentence), sentence)], [passage], language)
        judged.append((one.support == "supported", right))
    wrong = "sentences wrong by one number, unit, negation, medicine or subject marked supported"
    cases: tuple[tuple[str, list[bool], Wanted], ...] = (
        ("sentences marked supported that are", [right for marked, right in judged if marked], "high"),
        ("right sentences marked supported", [marked for marked, right in judged if right], "high"),
        (wrong, [marked for marked, right in judged if not right], "low"),
    )
    return [_measure("Support of sentences", *case) for case in cases]


def abstention_measures(lab: Lab, limit: int | None = None) -> list[Measure]:
    """Abstention of `ABSTAINING` on the questions of `abstention/test.jsonl` and on the built-in test questions."""
    data = lab.settings.data
    questions = read_abstention(data, "test") | outside_of(read_builtin(data, "test"))
    questions = {one: questions[one] for one in evenly_spaced(tuple(questions), limit)}
    writers: dict[str, Writer] = {"offline engine": "offline", "before a language model is asked": "model"}
    measures = []
    for name, writer in writers.items():
        safeguard = f"Abstention of {ABSTAINING}, {name}"
        found = measure_abstention(lab, ABSTAINING, questions, writer)["all"]
        measures += [
            Measure(safeguard, "declined questions that are outside the collection", found.precision),
            Measure(safeguard, "questions outside the collection declined", found.recall),
            Measure(safeguard, "answerable questions declined", found.wrongly_declined, "low"),
        ]
    return measures


def grounding_pairs(data: Path, part: str) -> Iterator[tuple[str, str, Passage, bool]]:
    """Sentence, language, its section, and whether that supports it, of the part "dev" or "test"."""
    for row in _rows(
        data / "grounding" / f"{part}.jsonl", {"document", "heading", "sentence", "supported", "language"}
    ):
        language, _, name = row["document"].partition("-")
        document = read_document(data / "corpus" / language / f"{name}.md")
        for section in re.split(r"^## ", document.text, flags=re.MULTILINE)[1:]:
            heading, _, text = section.partition("\n")
            if heading.strip() == row["heading"]:
                passage = Passage("p", document.id, document.title, text.strip(), row["heading"], language)
                yield row["sentence"], row["language"], passage, row["supported"]
                break
        else:
            raise DataError(f"{document.id} has no section {row['heading']!r}.", "Mend data/grounding.")


def _rows(path: Path, keys: set[str]) -> Iterator[Mapping[str, Any]]:
    for number, row in json_lines(path):
        if not isinstance(row, dict) or not keys <= row.keys():
            raise DataError(f"{path}, line {number}: there is no {', '.join(sorted(keys))}.", "Mend the file.")
        yield row


def _measure(safeguard: str, name: str, cases: Sequence[bool], wanted: Wanted = "high") -> Measure:
    return Measure(safeguard, name, wilson(sum(cases), len(cases)), wanted)


@dataclass(frozen=True, slots=True)
class SafetyReport:
    """The checks of several strategies on urgent questions, or errors, by label and question id."""

    questions: Mapping[str, Question]
    checks: Mapping[str, Mapping[str, SafetyCheck | RagError]]

    @classmethod
    def of(cls, report: AnswerReport) -> Self:
        questions = {question.id: question for question in report.judged.questions}
        checks = {
            label: {
                one: found if isinstance(found, RagError) else check_safety(found.trace, level_of(questions[one]))
                for one, found in outcomes.items()
            }
            for label, outcomes in report.outcomes.items()
        }
        return cls(questions, checks)

    @property
    def shares(self) -> dict[str, dict[str, Interval | None]]:
        """The shares of each strategy, by label, with 95 % Wilson intervals; None without cases.

        found: of the questions whose signs triage named, those with a passage that says what to do now.
        leads: of all answered or abstained, those that begin with it.
        by_notice: of all, those that do so by our notice alone.
        """
        found: dict[str, dict[str, Interval | None]] = {}
        for label, checks in self.checks.items():
            done = [one for one in checks.values() if isinstance(one, SafetyCheck)]
            signed = [one for one in done if one.signs]
            found[label] = {
                "found": wilson(sum(one.rank is not None for one in signed), len(signed)),
                "leads": wilson(sum(one.leads for one in done), len(done)),
                "by_notice": wilson(sum(one.by_notice for one in done), len(done)),
            }
        return found

    def as_json(self) -> dict[str, Any]:
        return {
            "strategies": {
                label: {name: share and share.as_json() for name, share in shares.items()}
                for label, shares in self.shares.items()
            },
            "questions": [
                {
                    "id": question.id,
                    "question": question.text,
                    "language": question.language,
                    "level": level_of(question),
                    "checks": {
                        label: {"failure": str(one)} if isinstance(one, RagError) else one.as_json()
                        for label, checks in self.checks.items()
                        if (one := checks.get(question.id))
                    },
                }
                for question in self.questions.values()
            ],
        }


def level_of(question: Question) -> Level:
    """How urgent a question is: as labelled, or otherwise as triage rates it."""
    return next((level for level in LEVELS if level == question.level), triage(question.text).level)


def urgent_only(judged: Benchmark) -> Benchmark:
    """A judged set without its routine questions."""
    return replace(judged, questions=tuple(one for one in judged.questions if level_of(one) != "routine"))
