"""Relevance labels: High, Medium, Low, by thresholds fitted on judged passages (`data/labels.toml`).

A label never comes from a fused score: RRF values have no scale. The thresholds, and how often
passages so labelled were judged relevant, are measured per scorer, model and language of the question.
Scores that order one list only (the offline scorer's, a cross-encoder's logits) have none.
"""

from __future__ import annotations

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
    "offline_scorer": "offline scorer's score",
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


class LabelRules:
    """Thresholds by scorer and language, or by scorer, model and language.

    Thresholds without a model hold for every model's scores, as those of the cosine do; thresholds with
    one hold for that model alone.
    """

    def __init__(self, thresholds: Mapping[tuple[str, ...], Thresholds], rule: Rule = "calibrated") -> None:
        self._thresholds = dict(thresholds)
        self._rule = rule

    @classmethod
    def read(cls, path: Path, rule: Rule = "calibrated") -> LabelRules:
        """Read fitted thresholds.

        Raises:
            DataError: the file is missing or malformed.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            fitted = {key: _thresholds(row) for key, row in _rows(table)}
            if ("cosine", "en") not in fitted:
                raise KeyError("cosine.en")
            return cls(fitted, rule)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"The label thresholds {path} cannot be read: {error!r}.", "Restore data/labels.toml."
            ) from error

    def has(self, scorer: Scorer, model: str = "") -> bool:
        """Whether scores of this kind, given by this model, can be labelled."""
        return self._rule == "rank" or self._fitted(scorer, model, "en") is not None

    def relevance(
        self, scorer: Scorer, scores: Sequence[float], language: str, model: str = ""
    ) -> list[Relevance]:
        """One label per score; scores stand in rank order.

        Languages without thresholds of their own are labelled by the English ones.

        Args:
            model: the one that gave the scores; see `has`.

        Raises:
            ValueError: there are no thresholds for them.
        """
        if self._rule == "rank":
            return [_by_rank(rank, len(scores)) for rank in range(1, len(scores) + 1)]
        fitted = self._fitted(scorer, model, language) or self._fitted(scorer, model, "en")
        if fitted is None:
            raise ValueError(f"there are no thresholds for {scorer} scores of {model or 'any model'}")
        return [self._explained(fitted, scorer, score) for score in scores]

    def _fitted(self, scorer: Scorer, model: str, language: str) -> Thresholds | None:
        return self._thresholds.get((scorer, model, language)) or self._thresholds.get((scorer, language))

    @staticmethod
    def _explained(fitted: Thresholds, scorer: Scorer, score: float) -> Relevance:
        label = fitted.label(score)
        bound = {
            "High": f"at least {fitted.high:.2f}",
            "Medium": f"from {fitted.medium:.2f} to below {fitted.high:.2f}",
            "Low": f"below {fitted.medium:.2f}",
        }[label]
        rule = (
            f"{label}: {NAMES[scorer]} {score:.2f}, {bound}. Of {fitted.judged[label]} judged passages with "
            f"this label, {fitted.relevant[label]:.0%} were relevant."
        )
        return Relevance(label, scorer, score, rule)


def _rows(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], Mapping[str, Any]]]:
    """(scorer, language) or (scorer, model, language), and the row that stands there."""
    for scorer, below in table.items():
        for name, row in below.items():
            if "high" in row:
                yield (scorer, name), row
            else:
                yield from (((scorer, name, language), inner) for language, inner in row.items())


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
    """The seed's rule: position in the list decides; first third High, second third Medium."""
    label: Label = "High" if 3 * rank <= count + 2 else "Medium" if 3 * rank <= 2 * count + 2 else "Low"
    rule = f"{label}: position {rank} of {count} (labels by rank, as in the multi-query seed; not measured)."
    return Relevance(label, "rank", float(rank), rule)
