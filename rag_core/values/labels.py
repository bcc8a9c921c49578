"""Relevance labels: High, Medium, Low, by thresholds fitted on judged passages (`data/labels.toml`).

High says that a passage answers the question, not only that it is about the same topic.

Labels never come from a fused score: RRF values have no scale. The thresholds, and the shares of passages
with each label that answered the question, are measured per scorer, model and question language, and do not
transfer to other models. An uncalibrated judge is labelled by the scale described in its prompt; scores
with no inherent meaning (an unknown model's cosine, a cross-encoder's logits) give no label.
"""

import functools
import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, get_args

from .errors import read_data_file
from .message import Message
from .types import Label, Relevance, Scorer


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """The evidence that passages give for an answer, and the lowest score for one; both from 0 to 1."""

    score: float
    needed: float

    @property
    def enough(self) -> bool:
        return self.score >= self.needed


Rule = Literal["calibrated", "rank"]
LABELS: tuple[Label, ...] = get_args(Label)
SCORER_NAMES: Mapping[Scorer, Message] = {
    "cosine": Message("cosine similarity to the question"),
    "cross_encoder": Message("cross-encoder score"),
    "offline_scorer": Message("estimated chance of answering"),
    "judge": Message("judge score"),
}
RULES: Mapping[Label, Message] = {
    "High": Message("High: {name} {score:.2f}, at least {high:.2f}."),
    "Medium": Message("Medium: {name} {score:.2f}, from {medium:.2f} to below {high:.2f}."),
    "Low": Message("Low: {name} {score:.2f}, below {medium:.2f}."),
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The lowest scores for High and Medium; `answered`, `related`: by label, shares of those `shown`, 0 to 1."""

    high: float
    medium: float
    answered: Mapping[Label, float] = field(default_factory=dict)
    related: Mapping[Label, float] = field(default_factory=dict)
    shown: Mapping[Label, int] = field(default_factory=dict)

    def label(self, score: float) -> Label:
        return "High" if score >= self.high else "Medium" if score >= self.medium else "Low"


# From the judge's prompt: 0 is unrelated to the question, 50 touches on it, 100 answers it. High is closer to
# answering than to touching on it; Low does not even touch on it.
UNCALIBRATED: Mapping[Scorer, Thresholds] = {"judge": Thresholds(0.75, 0.5)}


class LabelRules:
    """Thresholds by (scorer, model, question language).

    For cosine, the model is the embedding model's key up to "@" (name, version, and whether it reads through
    a gloss, but not which); for other scorers, the scorer's name.
    """

    def __init__(self, thresholds: Mapping[tuple[str, ...], Thresholds], rule: Rule = "calibrated") -> None:
        self._thresholds = dict(thresholds)
        self._rule = rule

    @functools.cached_property
    def key(self) -> str:
        """The rule and a hash of its thresholds; part of a run's identity."""
        fitted = hashlib.sha256(repr(sorted(self._thresholds.items())).encode()).hexdigest()[:8]
        return self._rule if self._rule == "rank" else f"{self._rule} {fitted}"

    @classmethod
    def read(cls, path: Path, rule: Rule = "calibrated") -> Self:
        """Read fitted thresholds; raises as `read_data_file` does."""
        return cls(read_data_file(path, _fitted), rule)

    @property
    def by_rank(self) -> bool:
        return self._rule == "rank"

    def has(self, scorer: Scorer, model: str) -> bool:
        return self.by_rank or scorer in UNCALIBRATED or _key(scorer, model, "en") in self._thresholds

    def relevance(self, scorer: Scorer, scores: Sequence[float], language: str, model: str) -> list[Relevance]:
        """One label per score, in rank order, by English thresholds for lack of others; raises ValueError without any."""
        if self.by_rank:
            return [_by_rank(rank, len(scores)) for rank in range(1, len(scores) + 1)]
        native = self._thresholds.get(_key(scorer, model, language))
        fitted = native or self._thresholds.get(_key(scorer, model, "en"))
        if fitted:
            remarks = () if native else (Message("Measured on English questions."),)
            return [_relevance(fitted, scorer, score, *remarks) for score in scores]
        if scorer not in UNCALIBRATED:
            raise ValueError(f"no thresholds for {scorer} scores from {model}")
        stated = Message(
            "Not calibrated for {model}: the thresholds follow the scale in its prompt, where 0.50 "
            "touches on the question and 1.00 answers it.",
            model=model,
        )
        return [_relevance(UNCALIBRATED[scorer], scorer, score, stated) for score in scores]


def _key(scorer: Scorer, model: str, language: str) -> tuple[str, str, str]:
    return scorer, model.partition("@")[0], language


def _relevance(bounds: Thresholds, scorer: Scorer, score: float, *remarks: Message) -> Relevance:
    label = bounds.label(score)
    fields = {"name": SCORER_NAMES[scorer], "score": score, "medium": bounds.medium, "high": bounds.high}
    said = [Message(RULES[label], **fields)]
    if bounds.shown:
        said.append(
            Message(
                "Of {shown} passages with this label, {answered:.0%} answered the question and {related:.0%} "
                "were only related to it.",
                shown=bounds.shown[label],
                answered=bounds.answered[label],
                related=bounds.related[label],
            )
        )
    return Relevance(label, scorer, score, Message.joined([*said, *remarks], " "))


def _fitted(text: str) -> dict[tuple[str, ...], Thresholds]:
    fitted: dict[tuple[str, ...], Thresholds] = {
        (scorer, model, language): _thresholds(row)
        for scorer, models in tomllib.loads(text).items()
        for model, languages in models.items()
        for language, row in languages.items()
    }
    if not any(scorer == "cosine" and language == "en" for scorer, _, language in fitted):
        raise KeyError("cosine, in English")
    return fitted


def _thresholds(row: Mapping[str, Any]) -> Thresholds:
    high, medium = float(row["high"]), float(row["medium"])
    if not medium <= high:
        raise ValueError(f"high {high} is below medium {medium}")
    return Thresholds(
        high,
        medium,
        {name: float(row["answered"][name]) for name in LABELS},
        {name: float(row["related"][name]) for name in LABELS},
        {name: int(row["shown"][name]) for name in LABELS},
    )


def _by_rank(rank: int, count: int) -> Relevance:
    label: Label = "High" if 3 * rank <= count + 2 else "Medium" if 3 * rank <= 2 * count + 2 else "Low"
    rule = f"{label}: position {rank} of {count} (labels by rank; not measured)."
    return Relevance(label, "rank", float(rank), rule)
