"""Relevance labels: High, Medium, Low, by thresholds fitted on judged passages (`data/labels.toml`).

A label never comes from a fused score: RRF values have no scale. The thresholds, and how often
passages so labelled were judged relevant, are measured per scorer, model and language of the question, and
hold for no other model. A judge that was never measured is labelled by what its prompt says of its scale;
scores without a meaning of their own (an unknown model's cosine, a cross-encoder's logits) give no label.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from .errors import DataError
from .types import Label, Relevance, Scorer

Rule = Literal["calibrated", "rank"]
LABELS: tuple[Label, ...] = get_args(Label)
NAMES: Mapping[Scorer, str] = {
    "cosine": "cosine similarity to the question",
    "cross_encoder": "cross-encoder score",
    "offline_scorer": "offline measure of relevance",
    "judge": "judge score",
}


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Scores from which a passage is High or Medium, and what was measured with them.

    Args:
        relevant: label -> share of passages so labelled that were judged relevant, in [0, 1].
        judged: label -> number of judged passages behind that share.
    """

    high: float
    medium: float
    relevant: Mapping[Label, float]
    judged: Mapping[Label, int]

    def label(self, score: float) -> Label:
        """The label of a score."""
        return "High" if score >= self.high else "Medium" if score >= self.medium else "Low"


# The judge's prompt: 0 has nothing to do with the question, 50 touches it, 100 answers it. High is nearer to
# an answer than to a touch; Low does not even touch.
STATED: Mapping[Scorer, Thresholds] = {"judge": Thresholds(0.75, 0.5, {}, {})}


class LabelRules:
    """Thresholds by (scorer, model, language of the question).

    Args:
        thresholds: the model of a cosine is the embedding model's key, its name and version; any other
            scorer's is its name.
    """

    def __init__(self, thresholds: Mapping[tuple[str, ...], Thresholds], rule: Rule = "calibrated") -> None:
        self._thresholds = dict(thresholds)
        self._rule = rule

    @functools.cached_property
    def key(self) -> str:
        """The rule and a hash of its thresholds; part of what a run is identified by."""
        fitted = hashlib.sha256(repr(sorted(self._thresholds.items())).encode()).hexdigest()[:8]
        return self._rule if self._rule == "rank" else f"{self._rule} {fitted}"

    @classmethod
    def read(cls, path: Path, rule: Rule = "calibrated") -> LabelRules:
        """Read fitted thresholds.

        Raises:
            DataError: the file is missing or malformed.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            fitted = {key: _thresholds(row) for key, row in _rows(table)}
            if not any(scorer == "cosine" and language == "en" for scorer, _, language in fitted):
                raise KeyError("cosine, in English")
            return cls(fitted, rule)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"The label thresholds {path} cannot be read: {error!r}.", "Restore data/labels.toml."
            ) from error

    @property
    def by_rank(self) -> bool:
        """Whether the position in the list decides, and no score."""
        return self._rule == "rank"

    def has(self, scorer: Scorer, model: str) -> bool:
        """Whether scores of this kind, given by this model, can be labelled."""
        return self.by_rank or scorer in STATED or (scorer, model, "en") in self._thresholds

    def relevance(
        self, scorer: Scorer, scores: Sequence[float], language: str, model: str
    ) -> list[Relevance]:
        """One label per score; scores stand in rank order.

        Languages without thresholds of their own are labelled by the English ones, and the rule says so.

        Args:
            model: the one that gave the scores; see `has`.

        Raises:
            ValueError: there are no thresholds for them.
        """
        if self.by_rank:
            return [_by_rank(rank, len(scores)) for rank in range(1, len(scores) + 1)]
        own = self._thresholds.get((scorer, model, language))
        fitted = own or self._thresholds.get((scorer, model, "en"))
        if fitted:
            elsewhere = "" if own else " Measured with questions in English."
            return [_explained(fitted, scorer, score, elsewhere) for score in scores]
        if scorer not in STATED:
            raise ValueError(f"there are no thresholds for {scorer} scores of {model}")
        stated = (
            f" Not calibrated for {model}: the bounds follow the scale its prompt describes, on which 0.50 "
            "touches the question and 1.00 answers it."
        )
        return [_explained(STATED[scorer], scorer, score, stated) for score in scores]


def _explained(bounds: Thresholds, scorer: Scorer, score: float, remark: str) -> Relevance:
    label = bounds.label(score)
    bound = {
        "High": f"at least {bounds.high:.2f}",
        "Medium": f"from {bounds.medium:.2f} to below {bounds.high:.2f}",
        "Low": f"below {bounds.medium:.2f}",
    }[label]
    measured = (
        f" Of {bounds.judged[label]} judged passages with this label, {bounds.relevant[label]:.0%} were relevant."
        if bounds.judged
        else ""
    )
    rule = f"{label}: {NAMES[scorer]} {score:.2f}, {bound}.{measured}{remark}"
    return Relevance(label, scorer, score, rule)


def _rows(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """(scorer, model, language), and the row that stands there."""
    for scorer, models in table.items():
        for model, languages in models.items():
            for language, row in languages.items():
                yield (scorer, model, language), row


def _thresholds(row: Mapping[str, Any]) -> Thresholds:
    high, medium = float(row["high"]), float(row["medium"])
    if not medium <= high:
        raise ValueError(f"high {high} is below medium {medium}")
    return Thresholds(
        high,
        medium,
        {name: float(row["relevant"][name]) for name in LABELS},
        {name: int(row["judged"][name]) for name in LABELS},
    )


def _by_rank(rank: int, count: int) -> Relevance:
    """Position in the list decides; first third High, second third Medium."""
    label: Label = "High" if 3 * rank <= count + 2 else "Medium" if 3 * rank <= 2 * count + 2 else "Low"
    rule = f"{label}: position {rank} of {count} (labels by rank; not measured)."
    return Relevance(label, "rank", float(rank), rule)
