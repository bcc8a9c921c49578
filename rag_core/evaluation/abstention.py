"""How often questions are declined, rightly and wrongly."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ..catalog import StrategySpec, build
from ..documents.benchmark import Benchmark, Question
from ..lab.lab import Lab
from ..values.errors import ConfigError, DataError
from .statistics import Interval, wilson

Writer = Literal["offline", "model"]


@dataclass(frozen=True, slots=True)
class AbstentionFigures:
    """Declined and answered questions, of those that the collection answers (inside) and of those that it does not.

    Args:
        counts: (outside, declined) -> questions.
    """

    counts: Mapping[tuple[bool, bool], int]

    @property
    def declined(self) -> int:
        return self.counts.get((True, True), 0) + self.counts.get((False, True), 0)

    @property
    def precision(self) -> Interval | None:
        """The share of the declined questions that are outside the collection; None if none was declined."""
        return wilson(self.counts.get((True, True), 0), self.declined)

    @property
    def recall(self) -> Interval | None:
        """The share of the outside questions that were declined; None without any."""
        return self._declined_of(True)

    @property
    def wrongly_declined(self) -> Interval | None:
        """The share of the answerable questions that were declined; None without any."""
        return self._declined_of(False)

    def _declined_of(self, outside: bool) -> Interval | None:
        declined = self.counts.get((outside, True), 0)
        return wilson(declined, declined + self.counts.get((outside, False), 0))


def measure_abstention(
    lab: Lab, strategy: StrategySpec, questions: Mapping[Question, bool], writer: Writer = "offline"
) -> dict[str, AbstentionFigures]:
    """Ask questions, and count who is declined: by question language, and "all".

    No language model is called for an answer: the offline engine answers in its place ("offline"), or only the
    decision before the call is made ("model"). A language model can still decline afterwards.

    Args:
        questions: with whether each is outside the collection; see `read_abstention` and `outside_of`.

    Raises:
        RagError: a question failed.
        ConfigError: the lab never declines for weak evidence (RAG_ABSTAIN=off, or no thresholds).
    """
    paid = {role: model for role, model in lab.engines.paid.items() if role != "answer"}
    asking = lab.with_engines(replace(lab.engines, paid=paid))
    evidence = asking.services().evidence
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
            score = evidence.score(question.text, trace.ranking.hits, trace.triage, offline=False)
            declined = not trace.ranking.hits or (score is not None and not score.enough)
        for group in (question.language, "all"):
            counts.setdefault(group, Counter())[outside, declined] += 1
    return {group: AbstentionFigures(counted) for group, counted in counts.items()}


def outside_of(judged: Benchmark) -> dict[Question, bool]:
    """The questions of a judged set, and whether each has no relevant document."""
    unanswerable = set(judged.unanswerable)
    return {question: question in unanswerable for question in judged.questions}


def read_abstention(data: Path, split: str) -> dict[Question, bool]:
    """The questions of `data/abstention` in a split, and whether the collection leaves each unanswered.

    Raises:
        DataError: the file is missing or malformed.
    """
    path = data / "abstention" / f"{split}.jsonl"
    try:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        return {
            Question(f"abstention-{split}-{n}", row["text"], row["language"], row["form"], ""): bool(
                row["outside"]
            )
            for n, row in enumerate(rows, start=1)
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"The questions {path} cannot be read: {error!r}.", "Restore the file.") from error
