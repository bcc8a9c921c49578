"""How far the safeguards can be trusted: each measured on a labelled set that its rules were not written from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..documents.benchmark import read_builtin
from ..documents.documents import json_lines, read_document
from ..lab.lab import Lab
from ..runtime.services import Grounder
from ..safety.privacy import find_private
from ..safety.urgency.triage import triage
from ..values.answers import Claim
from ..values.errors import DataError
from ..values.types import Passage
from .abstention import AbstentionFigures, Writer, measure_abstention, outside_of, read_abstention
from .answers import evenly_spaced
from .statistics import Interval, wilson

Wanted = Literal["high", "low"]
ABSTAINING = "hybrid_rrf"  # the strategy on whose passages abstention is measured


@dataclass(frozen=True, slots=True)
class Measure:
    """One measured share.

    Args:
        safeguard: what is measured, such as "Urgency".
        name: the share in words.
        share: with its 95 % Wilson interval; None without cases.
        wanted: whether it should be high or low.
    """

    safeguard: str
    name: str
    share: Interval | None
    wanted: Wanted = "high"

    def as_json(self) -> dict[str, Any]:
        """Its fields; the share as mean, interval and number of cases."""
        share = self.share
        return {
            "safeguard": self.safeguard,
            "name": self.name,
            "wanted": self.wanted,
            "share": share and {"mean": share.mean, "ci_low": share.low, "ci_high": share.high, "n": share.n},
        }


def trust_measures(lab: Lab, limit: int | None = None) -> list[Measure]:
    """All of them, with the models and data of a lab.

    Args:
        limit: questions to ask for abstention, evenly spaced; all by default.
    """
    data, grounder = lab.settings.data, lab.engines.grounder
    return [
        *urgency_measures(data),
        *privacy_measures(data),
        *(grounding_measures(data, grounder) if grounder else ()),
        *(abstention_measures(lab, limit) if lab.engines.evidence else ()),
    ]


def urgency_measures(data: Path) -> list[Measure]:
    """Triage on the questions of `urgency/test.jsonl`, and on the built-in questions, which the rules were written with.

    Args:
        data: the product's data folder, here and below.

    Raises:
        DataError: a file is missing or malformed, here and below.
    """
    fresh = [(row["text"], row["level"]) for row in _rows(data / "urgency" / "test.jsonl", {"text", "level"})]
    own = [(one.text, one.level) for split in ("dev", "test") for one in read_builtin(data, split).questions]
    return [
        measure
        for safeguard, questions in (("Urgency", fresh), ("Urgency, built-in questions", own))
        for measure in _urgency(safeguard, questions)
    ]


def _urgency(safeguard: str, questions: Sequence[tuple[str, str]]) -> Iterator[Measure]:
    names = {
        "emergency": "emergencies rated urgent",
        "same_day": "same-day questions rated urgent",
        "routine": "routine questions rated urgent",
    }
    for level, name in names.items():
        raised = [triage(text).urgent for text, labelled in questions if labelled == level]
        yield _measure(safeguard, name, raised, "low" if level == "routine" else "high")


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
    marked: list[bool] = []
    found: list[bool] = []
    passed: list[bool] = []
    for sentence, language, passage, right in grounding_pairs(data, "test"):
        (one,) = grounder.ground([Claim(0, len(sentence), sentence)], [passage], language)
        supported = one.support == "supported"
        if supported:
            marked.append(right)
        (found if right else passed).append(supported)
    return [
        _measure("Support of sentences", "sentences marked supported that are", marked),
        _measure("Support of sentences", "right sentences marked supported", found),
        _measure(
            "Support of sentences",
            "sentences wrong by one number, unit, negation, medicine or subject marked supported",
            passed,
            wanted="low",
        ),
    ]


def abstention_measures(lab: Lab, limit: int | None = None) -> list[Measure]:
    """Abstention of `ABSTAINING` on the questions of `abstention/test.jsonl` and on the built-in test questions."""
    data = lab.settings.data
    questions = read_abstention(data, "test") | outside_of(read_builtin(data, "test"))
    questions = {one: questions[one] for one in evenly_spaced(tuple(questions), limit)}
    writers: dict[str, Writer] = {"offline engine": "offline", "before a language model is asked": "model"}
    return [
        measure
        for name, writer in writers.items()
        for measure in _abstention(
            f"Abstention of {ABSTAINING}, {name}",
            measure_abstention(lab, ABSTAINING, questions, writer)["all"],
        )
    ]


def _abstention(safeguard: str, found: AbstentionFigures) -> Iterator[Measure]:
    yield Measure(safeguard, "declined questions that are outside the collection", found.precision)
    yield Measure(safeguard, "questions outside the collection declined", found.recall)
    yield Measure(safeguard, "answerable questions declined", found.wrongly_declined, "low")


def grounding_pairs(data: Path, part: str) -> Iterator[tuple[str, str, Passage, bool]]:
    """Sentence, language, the section it is about, and whether the section supports it.

    Args:
        part: "dev" or "test".
    """
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
            raise DataError(
                f"{path}, line {number}: there is no {', '.join(sorted(keys))}.", "Mend the file."
            )
        yield row


def _measure(safeguard: str, name: str, cases: Sequence[bool], wanted: Wanted = "high") -> Measure:
    return Measure(safeguard, name, wilson(sum(cases), len(cases)), wanted)
