"""Fit what is fitted on the dev questions, and report how well it fits them.

    python tests/benchmarks/fit.py [--write]

data/relevance.toml: how the offline scorer's signals become a probability of relevance, per language of the
question. Logistic regression over the judged passages among the first CANDIDATES of BM25 or of dense search, the
places a judge is asked about; relevant (grade 1 or 2) and irrelevant passages weigh the same in all.

data/labels.toml: label thresholds, per language of the question, over the passages that the strategies of SHOWN show for
the judged questions: High is the lowest score from which at least SHARE_HIGH + MARGIN of them answer the question
(grade 2), taken over at least FEWEST; Medium the lowest from which at least SHARE_MEDIUM of those below High answer it or
are related (grade 1). Where no score reaches the share, High is the score with the largest. MARGIN is for other questions
than those of the fit. The offline scorer's chances come from one logistic regression on `Standing` for both
languages (data/relevance.toml), over these passages and those shown for questions that the collection cannot answer
(data/abstention), so that the best of what does not answer is seldom High; its thresholds and shares, from fits that left
the question out.

    python tests/benchmarks/fit.py --split test

prints how often the labels in use are right on the test questions, which nothing was fitted on.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler

import rag_core
from rag_core.documents.benchmark import passage_key, read_qrels, read_questions
from rag_core.evaluation.statistics import Interval, wilson
from rag_core.evaluation.trust import read_abstention
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.models.minilm import MINILM_WEIGHTS
from rag_core.offline.scorer import NAME, WITH_QUESTIONS, Calibration, Signals, Standing, read_calibrations
from rag_core.runtime.context import COMPARED, Context
from rag_core.values.types import Hit

DATA = Path(__file__).resolve().parents[2] / "data"
LANGUAGES = ("en", "es")
CANDIDATES = 10
SHOWN = ("hybrid_rrf", "ensemble")
SHARE_HIGH, MARGIN, SHARE_MEDIUM, FEWEST = 0.80, 0.01, 0.50, 10
GRID = np.arange(0.05, 1.00, 0.01)
FOLDS = 10
ALPHA, THETA, DENSE = 0.4, 0.5, 5  # of seed 004: S_final = ALPHA · cosine + (1 − ALPHA) · judge >= THETA

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


@dataclass(frozen=True, slots=True)
class Shown:
    """The passages shown: (n, features) how each stands among them and by known questions, language and text of its question, strategy, cosine and grade.

    The grade is -1 where the collection has no answer to the question.
    """

    standing: NDArray[np.float64]
    known: NDArray[np.float64]
    language: NDArray[np.str_]
    question: NDArray[np.str_]
    strategy: NDArray[np.str_]
    cosine: NDArray[np.float64]
    grade: NDArray[np.int64]

    def judged(self, language: str) -> NDArray[np.bool_]:
        """Which are of judged questions in a language."""
        return (self.language == language) & (self.grade >= 0)

    def unanswerable(self, language: str, high: NDArray[np.bool_]) -> Interval | None:
        """How often a list for a question without an answer has a High."""
        rows = (self.language == language) & (self.grade < 0)
        lists = {*zip(self.question[rows], self.strategy[rows], strict=True)}
        some = {*zip(self.question[rows & high], self.strategy[rows & high], strict=True)}
        return wilson(len(some), len(lists))


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
    return _calibration(LogisticRegression(class_weight="balanced"), values, relevant)


def _calibration(model: LogisticRegression, values: NDArray[np.float64], truth: NDArray[np.bool_]) -> Calibration:
    scale = StandardScaler().fit(values)
    model.fit(scale.transform(values), truth)
    weights = model.coef_[0] / scale.scale_
    intercept = float(model.intercept_[0] - weights @ scale.mean_)
    return Calibration(round(intercept, 4), tuple(round(float(weight), 4) for weight in weights))


def judge_scores(calibration: Calibration, passages: Passages) -> NDArray[np.float64]:
    return np.array([calibration(signals) for signals in passages.signals])


def report_relevance(calibration: Calibration, judged: Judged, title: str) -> None:
    """How well the estimate orders candidates, and what the rule of seed 004 keeps of a dense top DENSE."""
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
        shown = passages.dense <= DENSE
        final = ALPHA * passages.cosine[shown] + (1 - ALPHA) * row[shown] >= THETA
        kept.append(final)
        relevant.append(passages.relevant[shown])
        (declined if passages.outside else answered).append(bool(final.any()) != passages.outside)
    keep, right = np.concatenate(kept), np.concatenate(relevant)
    print(
        f"{title}: S_final >= {THETA} on the dense top {DENSE} ({right.mean():.0%} relevant): precision "
        f"{right[keep].mean():.2f}, recall {keep[right].mean():.2f}, irrelevant dropped "
        f"{(~keep[~right]).mean():.2f}; outside questions declined {np.mean(declined):.2f} of {len(declined)}, "
        f"others answered {np.mean(answered):.2f} of {len(answered)}"
    )


def shown_passages(lab: Lab, split: str) -> Shown:
    """The passages that people are shown; those that were not judged count as irrelevant."""
    services = lab.services()
    reader, scorer = services.reader, lab.engines.scorer.knowing(services.asked)
    strategies = [rag_core.build(name).without_answer() for name in SHOWN]
    standing, known, rows = [], [], []
    for text, language, grades in _asked(split):
        vector = lab.engines.embedder.embed([text])[0][0]
        usual = Context(services).usual_hits(text, COMPARED)
        for strategy, trace in zip(SHOWN, lab.compare(text, strategies), strict=True):
            hits = trace.ranking.hits
            standing += [row[:-1] for row in scorer.standing(reader.read(text), hits)]
            known += scorer.standing(reader.read(text), hits, usual)
            for hit, cosine in zip(hits, lab.index.vectors([hit.id for hit in hits]) @ vector, strict=True):
                grade = -1 if grades is None else grades.get(passage_key(hit.id), 0)
                rows.append((language, text, strategy, cosine, grade))
    languages, questions, strategy, cosine, grade = map(np.array, zip(*rows, strict=True))
    return Shown(np.array(standing), np.array(known), languages, questions, strategy, cosine.astype(float), grade)


def _asked(split: str) -> Iterator[tuple[str, str, Mapping[str, int] | None]]:
    """The text and language of each question, and its judged passages; None if the collection has no answer."""
    for language in LANGUAGES:
        folder = DATA / "questions" / language
        texts = {question.id: question.text for question in read_questions(folder)}
        for name, judged in read_qrels(folder / "qrels-passages" / f"{split}.tsv").items():
            yield texts[name], language, judged
    unanswerable = [one for one, outside in read_abstention(DATA, split).items() if outside]
    for one in [*unanswerable, *(read_abstention(DATA, "fit") if split == "dev" else ())]:
        yield one.text, one.language, None


def fit_chances(standing: NDArray[np.float64], answers: NDArray[np.bool_]) -> Calibration:
    """Logistic regression, standardised for the fit and written for raw values."""
    return _calibration(LogisticRegression(), standing, answers)


def unseen_chances(
    shown: Shown, features: NDArray[np.float64], columns: Sequence[int] | None = None
) -> NDArray[np.float64]:
    """The chances of each passage by a fit without its question, on all or some of the features."""
    values = features if columns is None else features[:, columns]
    found, answers = np.zeros(len(shown.grade)), shown.grade == 2
    for rest, left in GroupKFold(FOLDS).split(values, groups=shown.question):
        fitted = fit_chances(values[rest], answers[rest])
        found[left] = [fitted(row) for row in values[left]]
    return found


def report_chances(shown: Shown) -> None:
    """How well the chances tell answers on questions left out of the fit, and what each feature pays."""
    for names, features in ((Standing._fields[:-1], shown.standing), (Standing._fields, shown.known)):
        every = range(len(names))
        sets = {f"all of {', '.join(names)}": list(every)} | {
            f"without {name}": [i for i in every if i != left] for left, name in enumerate(names)
        }
        for title, columns in sets.items():
            chances = unseen_chances(shown, features, columns)
            found = [
                f"{language} {average_precision_score(shown.grade[rows] == 2, chances[rows]):.3f}"
                for language in LANGUAGES
                for rows in [shown.judged(language)]
            ]
            print(f"answers among {len(chances)} passages shown, average precision, {title}: {', '.join(found)}")


def fit_labels(scores: NDArray[np.float64], grade: NDArray[np.int64], grid: NDArray[np.float64]) -> tuple[float, float]:
    """(high, medium)."""

    def share(least: int, low: float, high: float = 2.0) -> float:
        band = (scores >= low) & (scores < high)
        return float((grade[band] >= least).mean()) if band.sum() >= FEWEST else 0.0

    reached = [low for low in grid if share(2, low) >= SHARE_HIGH + MARGIN]
    high = min(reached) if reached else max(grid, key=lambda low: share(2, low))
    medium = [low for low in grid if low < high and share(1, low, high) >= SHARE_MEDIUM]
    return round(float(high), 2), round(float(min(medium, default=high)), 2)


def label_rows(shown: Shown) -> Iterator[str]:
    """The lines of data/labels.toml."""
    for scorer, model, scores in (
        ("cosine", f"{MINILM_WEIGHTS}+gloss", shown.cosine),
        ("offline_scorer", NAME, unseen_chances(shown, shown.standing)),
        ("offline_scorer", WITH_QUESTIONS, unseen_chances(shown, shown.known)),
    ):
        for language in LANGUAGES:
            judged = shown.judged(language)
            values, grade = scores[judged], shown.grade[judged]
            high, medium = fit_labels(values, grade, GRID)
            bands = {
                "High": values >= high,
                "Medium": (values >= medium) & (values < high),
                "Low": values < medium,
            }
            found: dict[str, dict[str, float]] = {
                "answered": {name: _share(grade[band] == 2) for name, band in bands.items()},
                "related": {name: _share(grade[band] == 1) for name, band in bands.items()},
                "shown": {name: int(band.sum()) for name, band in bands.items()},
            }
            print(
                f"{model} {language}: high {high}, medium {medium}; {found}; "
                f"of the answers, High {_share(bands['High'][grade == 2])}; "
                f"lists without an answer with a High {shown.unanswerable(language, scores >= high)}"
            )
            yield f'[{scorer}."{model}".{language}]'
            yield f"high = {high}"
            yield f"medium = {medium}"
            for name, row in found.items():
                yield f"{name} = {{ {', '.join(f'{label} = {value}' for label, value in row.items())} }}"
            yield ""


def _share(found: NDArray[np.bool_]) -> float:
    return round(float(found.mean()), 3) if found.any() else 0.0


def report_labels(lab: Lab, shown: Shown, split: str) -> None:
    """How often the labels in use are right."""
    rules, fitted = lab.engines.labels, read_calibrations(DATA / "relevance.toml")
    for scorer, model, scores in (
        ("cosine", lab.engines.embedder.key, shown.cosine),
        ("offline_scorer", NAME, np.array([fitted.answers(row) for row in shown.standing])),
        ("offline_scorer", WITH_QUESTIONS, np.array([fitted.known(row) for row in shown.known])),
    ):
        for language in LANGUAGES:
            given = rules.relevance(scorer, scores.tolist(), language, model)
            judged, high = shown.judged(language), np.array([one.label == "High" for one in given])
            right, answers = high & judged & (shown.grade == 2), judged & (shown.grade == 2)
            print(
                f"{model} {language} {split}: of High, answers {wilson(int(right.sum()), int((high & judged).sum()))}; "
                f"of answers, High {wilson(int(right.sum()), int(answers.sum()))}; "
                f"lists without an answer with a High {shown.unanswerable(language, high)}"
            )


def relevance_rows(relevance: Mapping[str, Calibration], answers: Calibration, known: Calibration) -> Iterator[str]:
    """The lines of data/relevance.toml."""
    tables = [(f"relevance.{language}", fitted, Signals._fields) for language, fitted in relevance.items()]
    for title, calibration, names in [
        *tables,
        ("answers", answers, Standing._fields[:-1]),
        ("known", known, Standing._fields),
    ]:
        yield f"[{title}]"
        yield f"intercept = {calibration.intercept}"
        yield from (f"{name} = {weight}" for name, weight in zip(names, calibration.weights, strict=True))
        yield ""


def main() -> None:
    lab = open_lab()
    if "--split" in sys.argv:
        split = sys.argv[sys.argv.index("--split") + 1]
        report_labels(lab, shown_passages(lab, split), split)
        return
    head = "# Fitted by tests/benchmarks/fit.py on the dev split of data/questions."
    fitted = {}
    for language in LANGUAGES:
        judged = judged_passages(lab, language, "dev")
        fitted[language] = fit_calibration(judged)
        print(language, fitted[language])
        report_relevance(fitted[language], judged, f"{language} dev")
    shown = shown_passages(lab, "dev")
    report_chances(shown)
    answers, known = (fit_chances(rows, shown.grade == 2) for rows in (shown.standing, shown.known))
    print(answers, known)
    labels = "\n".join([head, "", *label_rows(shown)])
    if "--write" in sys.argv:
        (DATA / "labels.toml").write_text(labels, encoding="utf-8")
        rows = relevance_rows(fitted, answers, known)
        (DATA / "relevance.toml").write_text("\n".join([head, "", *rows]), encoding="utf-8")


if __name__ == "__main__":
    main()
