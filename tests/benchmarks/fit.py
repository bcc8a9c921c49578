"""Fit what is fitted: label thresholds (data/labels.toml) and the offline engine's abstention.

    python tests/benchmarks/fit.py [--write]

Both are fitted on the dev split of the judged questions and reported on the test split.

Labels, per language of the question, over its judged passages: High is the lowest cosine from which at
least SHARE_HIGH of the passages were judged relevant (grade 1 or 2), taken over at least FEWEST of them;
Medium the lowest from which at least SHARE_MEDIUM of those below High were. Where no cosine reaches
SHARE_HIGH, High is the cosine with the largest share.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from rag_core.judged import read_qrels, read_questions
from rag_core.lab import Lab, open_lab
from rag_core.models.offline import ENOUGH, _read_sources
from rag_core.prompts import Sources

DATA = Path(__file__).resolve().parents[2] / "data"
SHARE_HIGH, SHARE_MEDIUM, FEWEST = 0.7, 0.3, 10
GRID = np.arange(0.20, 0.90, 0.01)


def judged_cosines(lab: Lab, language: str, split: str) -> tuple[np.ndarray, np.ndarray]:
    """Cosine to its question, and grade, of every judged passage."""
    folder = DATA / "questions" / language
    texts = {question.id: question.text for question in read_questions(folder)}
    held = {identity.rsplit(":", 1)[0]: identity for identity in lab.index.passages}
    cosines, grades = [], []
    for question, judged in read_qrels(folder / "qrels-passages" / f"{split}.tsv").items():
        vector = lab.engines.embedder.embed([texts[question]])[0][0]
        cosines.append(lab.index.vectors([held[key] for key in judged]) @ vector)
        grades.append(list(judged.values()))
    return np.concatenate(cosines), np.concatenate(grades)


def fit_labels(cosines: np.ndarray, relevant: np.ndarray) -> tuple[float, float]:
    """(high, medium)."""

    def share(low: float, high: float = 2.0) -> float:
        band = (cosines >= low) & (cosines < high)
        return float(relevant[band].mean()) if band.sum() >= FEWEST else 0.0

    reached = [low for low in GRID if share(low) >= SHARE_HIGH]
    high = min(reached) if reached else max(GRID, key=share)
    medium = [low for low in GRID if low < high and share(low, high) >= SHARE_MEDIUM]
    return round(float(high), 2), round(float(min(medium, default=high)), 2)


def shares(cosines: np.ndarray, relevant: np.ndarray, high: float, medium: float) -> tuple[dict, dict]:
    bands = {
        "High": cosines >= high,
        "Medium": (cosines >= medium) & (cosines < high),
        "Low": cosines < medium,
    }
    counted = {name: int(band.sum()) for name, band in bands.items()}
    found = {
        name: round(float(relevant[band].mean()), 3) if band.any() else 0.0 for name, band in bands.items()
    }
    return found, counted


def best_scores(lab: Lab, language: str, split: str) -> Iterator[tuple[float, bool]]:
    """The offline engine's best sentence score, and whether the collection has an answer."""
    folder = DATA / "questions" / language
    kinds = {question.id: question for question in read_questions(folder)}
    scorer = lab.engines.answer.model._score
    for identity in read_qrels(folder / "qrels" / f"{split}.tsv"):
        question = kinds[identity]
        trace = lab.run(question.text, "hybrid_rrf")
        candidates = _read_sources(Sources(trace.ranking.hits))
        vectors = scorer._embed([candidate.text for candidate in candidates])
        yield float(scorer._scores(question.text, candidates, vectors).max()), question.kind != "outside"


def main() -> None:
    lab = open_lab()
    lines = ["# Fitted by tests/benchmarks/fit.py on the dev split of data/questions.", ""]
    for language in ("en", "es"):
        cosines, grades = judged_cosines(lab, language, "dev")
        high, medium = fit_labels(cosines, grades > 0)
        found, counted = shares(cosines, grades > 0, high, medium)
        unseen, of = judged_cosines(lab, language, "test")
        print(f"{language}: high {high}, medium {medium}; dev {found} of {counted}")
        print(f"{language}: on test", *shares(unseen, of > 0, high, medium))
        lines += [f"[cosine.{language}]", f"high = {high}", f"medium = {medium}"]
        for name, row in (("relevant", found), ("judged", counted)):
            lines.append(f"{name} = {{ {', '.join(f'{key} = {value}' for key, value in row.items())} }}")
        lines.append("")
    if "--write" in sys.argv:
        (DATA / "labels.toml").write_text("\n".join(lines), encoding="utf-8")
    for language in ("en", "es"):
        for split in ("dev", "test"):
            pairs = list(best_scores(lab, language, split))
            inside = np.array([score for score, known in pairs if known])
            outside = np.array([score for score, known in pairs if not known])
            print(f"{language} {split}: threshold -> share answered (inside), share abstained (outside)")
            for low in sorted({0.45, 0.50, 0.55, 0.60, ENOUGH[language]}):
                print(f"   {low:.2f}  {(inside >= low).mean():.2f}  {(outside < low).mean():.2f}")


if __name__ == "__main__":
    main()
