"""Fit what is fitted on the dev questions, and report how well it fits them.

    python tests/benchmarks/fit.py [--write]

data/relevance.toml: how the offline scorer's signals become a probability of relevance, per language of the
question. Logistic regression over the judged passages among the first CANDIDATES of BM25 or of dense search, the
places a judge is asked about; relevant (grade 1 or 2) and irrelevant passages weigh the same in all.

data/labels.toml: label thresholds of the cosine and of the offline engine's judge, per language of the question,
over all its judged passages: High is the lowest score from which at least SHARE_HIGH of the passages were judged
relevant, taken over at least FEWEST of them; Medium the lowest from which at least SHARE_MEDIUM of those below
High were. Where no score reaches SHARE_HIGH, High is the score with the largest share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from rag_core.data.benchmark import read_qrels, read_questions
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.models.minilm import MINILM_WEIGHTS
from rag_core.offline.scorer import NAME, Calibration, Signals
from rag_core.values.types import Hit

DATA = Path(__file__).resolve().parents[2] / "data"
LANGUAGES = ("en", "es")
CANDIDATES = 10
SHARE_HIGH, SHARE_MEDIUM, FEWEST = 0.7, 0.3, 10
GRIDS = {"cosine": np.arange(0.20, 0.90, 0.01), "offline_scorer": np.arange(0.05, 1.00, 0.01)}
ALPHA, THETA, SHOWN = 0.4, 0.5, 5  # of seed 004: S_final = ALPHA · cosine + (1 − ALPHA) · judge >= THETA

Judged = Mapping[str, "Passages"]  # question id -> its judged passages


@dataclass(frozen=True, slots=True)
class Passages:
    """The judged passages of one question.

    Args:
        outside: the question has no answer in the collection.
        rank: (n,) the better of a passage's ranks in BM25 and in dense search; dense: in dense search alone.
    """

    outside: bool
    signals: Sequence[Signals]
    cosine: NDArray[np.float64]
    relevant: NDArray[np.bool_]
    rank: NDArray[np.int64]
    dense: NDArray[np.int64]


def judged_passages(lab: Lab, language: str, split: str) -> Judged:
    """What is known of every judged passage."""
    folder = DATA / "questions" / language
    questions = {question.id: question for question in read_questions(folder)}
    held = {identity.rsplit(":", 1)[0]: identity for identity in lab.index.passages}
    found = {}
    for name, judged in read_qrels(folder / "qrels-passages" / f"{split}.tsv").items():
        text = questions[name].text
        ids = [held[key] for key in judged]
        vector = lab.engines.embedder.embed([text])[0][0]
        depth = len(lab.index.passages)
        dense = {hit.id: rank for rank, hit in enumerate(lab.index.dense(vector, depth), start=1)}
        words = {hit.id: rank for rank, hit in enumerate(lab.index.lexical(text, depth, 1.5, 0.75), start=1)}
        hits = [Hit(lab.index.passages[identity], 0.0, "cosine") for identity in ids]
        found[name] = Passages(
            outside=questions[name].kind == "outside",
            signals=lab.engines.scorer.signals(text, hits),
            cosine=(lab.index.vectors(ids) @ vector).astype(float),
            relevant=np.array([grade > 0 for grade in judged.values()]),
            rank=np.array([min(dense[identity], words.get(identity, depth)) for identity in ids]),
            dense=np.array([dense[identity] for identity in ids]),
        )
    return found


def fit_calibration(judged: Judged) -> Calibration:
    """Logistic regression over the candidates, standardised for the fit and written for raw values."""
    rows = [
        (signals, relevant)
        for passages in judged.values()
        for signals, relevant, rank in zip(passages.signals, passages.relevant, passages.rank, strict=True)
        if rank <= CANDIDATES
    ]
    values, relevant = np.array([row for row, _ in rows]), np.array([truth for _, truth in rows])
    scale = StandardScaler().fit(values)
    model = LogisticRegression(class_weight="balanced").fit(scale.transform(values), relevant)
    weights = model.coef_[0] / scale.scale_
    intercept = float(model.intercept_[0] - weights @ scale.mean_)
    return Calibration(round(intercept, 4), tuple(round(float(weight), 4) for weight in weights))


def judge_scores(calibration: Calibration, passages: Passages) -> NDArray[np.float64]:
    return np.array([calibration(signals) for signals in passages.signals])


def report_relevance(calibration: Calibration, judged: Judged, title: str) -> None:
    """How well the estimate orders candidates, and what the rule of seed 004 keeps of a dense top SHOWN."""
    near = [passages.rank <= CANDIDATES for passages in judged.values()]
    relevance = [judge_scores(calibration, passages) for passages in judged.values()]
    truth = np.concatenate([p.relevant[rows] for p, rows in zip(judged.values(), near, strict=True)])
    scores = {
        "judge": np.concatenate([row[rows] for row, rows in zip(relevance, near, strict=True)]),
        "cosine": np.concatenate([p.cosine[rows] for p, rows in zip(judged.values(), near, strict=True)]),
    }
    for name, values in scores.items():
        print(
            f"{title}: {name} over {len(truth)} candidates, {truth.mean():.0%} relevant: average precision "
            f"{average_precision_score(truth, values):.3f}, AUC {roc_auc_score(truth, values):.3f}"
        )
    kept, relevant, answered, declined = [], [], [], []
    for passages, row in zip(judged.values(), relevance, strict=True):
        shown = passages.dense <= SHOWN
        final = ALPHA * passages.cosine[shown] + (1 - ALPHA) * row[shown] >= THETA
        kept.append(final)
        relevant.append(passages.relevant[shown])
        (declined if passages.outside else answered).append(bool(final.any()) != passages.outside)
    keep, right = np.concatenate(kept), np.concatenate(relevant)
    print(
        f"{title}: S_final >= {THETA} on the dense top {SHOWN} ({right.mean():.0%} relevant): precision "
        f"{right[keep].mean():.2f}, recall {keep[right].mean():.2f}, irrelevant dropped "
        f"{(~keep[~right]).mean():.2f}; outside questions declined {np.mean(declined):.2f} of {len(declined)}, "
        f"others answered {np.mean(answered):.2f} of {len(answered)}"
    )


def fit_labels(
    scores: NDArray[np.float64], relevant: NDArray[np.bool_], grid: NDArray[np.float64]
) -> tuple[float, float]:
    """(high, medium)."""

    def share(low: float, high: float = 2.0) -> float:
        band = (scores >= low) & (scores < high)
        return float(relevant[band].mean()) if band.sum() >= FEWEST else 0.0

    reached = [low for low in grid if share(low) >= SHARE_HIGH]
    high = min(reached) if reached else max(grid, key=share)
    medium = [low for low in grid if low < high and share(low, high) >= SHARE_MEDIUM]
    return round(float(high), 2), round(float(min(medium, default=high)), 2)


def shares(
    scores: NDArray[np.float64], relevant: NDArray[np.bool_], high: float, medium: float
) -> tuple[dict[str, float], dict[str, int]]:
    """Label -> share judged relevant, and number judged."""
    bands = {"High": scores >= high, "Medium": (scores >= medium) & (scores < high), "Low": scores < medium}
    counted = {name: int(band.sum()) for name, band in bands.items()}
    found = {
        name: round(float(relevant[band].mean()), 3) if band.any() else 0.0 for name, band in bands.items()
    }
    return found, counted


def label_rows(
    judged: Mapping[str, Mapping[str, Judged]], fitted: Mapping[str, Calibration]
) -> Iterator[str]:
    """The lines of data/labels.toml."""
    for scorer, model in (("cosine", f"{MINILM_WEIGHTS}+gloss"), ("offline_scorer", NAME)):
        for language in LANGUAGES:
            scores, truth = {}, {}
            for split, questions in judged[language].items():
                scores[split] = np.concatenate(
                    [
                        p.cosine if scorer == "cosine" else judge_scores(fitted[language], p)
                        for p in questions.values()
                    ]
                )
                truth[split] = np.concatenate([p.relevant for p in questions.values()])
            high, medium = fit_labels(scores["dev"], truth["dev"], GRIDS[scorer])
            found, counted = shares(scores["dev"], truth["dev"], high, medium)
            print(f"{scorer} {language}: high {high}, medium {medium}; dev {found} of {counted}")
            yield f'[{scorer}."{model}".{language}]'
            yield f"high = {high}"
            yield f"medium = {medium}"
            for name, row in (("relevant", found), ("judged", counted)):
                yield f"{name} = {{ {', '.join(f'{label} = {value}' for label, value in row.items())} }}"
            yield ""


def relevance_rows(fitted: Mapping[str, Calibration]) -> Iterator[str]:
    """The lines of data/relevance.toml."""
    for language, calibration in fitted.items():
        yield f"[{language}]"
        yield f"intercept = {calibration.intercept}"
        yield from (
            f"{name} = {weight}" for name, weight in zip(Signals._fields, calibration.weights, strict=True)
        )
        yield ""


def main() -> None:
    lab = open_lab()
    head = "# Fitted by tests/benchmarks/fit.py on the dev split of data/questions."
    judged = {
        language: {split: judged_passages(lab, language, split) for split in ("dev",)}
        for language in LANGUAGES
    }
    fitted = {language: fit_calibration(judged[language]["dev"]) for language in LANGUAGES}
    for language in LANGUAGES:
        print(language, fitted[language])
        report_relevance(fitted[language], judged[language]["dev"], f"{language} dev")
    labels = "\n".join([head, "", *label_rows(judged, fitted)])
    if "--write" in sys.argv:
        (DATA / "labels.toml").write_text(labels, encoding="utf-8")
        (DATA / "relevance.toml").write_text("\n".join([head, "", *relevance_rows(fitted)]), encoding="utf-8")


if __name__ == "__main__":
    main()
