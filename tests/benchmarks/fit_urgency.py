"""Fit the wording model of rag_core/safety/urgency on data/urgency/train.jsonl, and say how often it is right.

    python tests/benchmarks/fit_urgency.py          # figures by cross-validation
    python tests/benchmarks/fit_urgency.py --write  # rag_core/safety/urgency/wording.npz

One regression says whether a text is urgent, another of which sign, or none, it tells.
Contrast sets (three lines that share most words) stay together in a fold. Neither test questions of data/questions
nor dev.jsonl and test.jsonl of data/urgency are read here.
"""

import argparse
import json
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, diags
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from rag_core.safety.urgency import learned
from rag_core.safety.urgency.learned import plain
from rag_core.safety.urgency.signs import signs
from rag_core.safety.urgency.triage import MIN_SURE, MIN_URGENT, least_urgent, present
from rag_core.values.triage import LEVELS

DATA = Path(__file__).parents[2] / "data" / "urgency"
STRENGTH = 0.1  # inverse of the regularisation
RARITY = 2  # power of the inverse document frequency
FOLDS = 6
FEWEST = 10  # lines from which a sign is learned
LEVELS_OF = {sign.id: sign.level for sign in signs()}


def examples() -> tuple[list[dict], np.ndarray]:
    """Labelled lines, and the group of each that a fold must not split."""
    rows = [json.loads(line) for line in (DATA / "train.jsonl").read_text("utf-8").splitlines()]
    contrast = [number for number, row in enumerate(rows) if row["set"] == "contrast"]
    groups = np.arange(len(rows))
    groups[contrast] = np.repeat(contrast[::3], 3)
    return rows, groups


def told(rows: Sequence[dict]) -> list[list[str]]:
    """The ids of the signs of each line that are as urgent as the line; those of few lines are left out."""
    kinds = tomllib.loads((DATA / "kinds.toml").read_text("utf-8"))
    ids = {name: sign for sign, names in kinds.items() for name in names}
    named = [[ids[name] for name in row["signs"] if name in ids] for row in rows]
    named = [[sign for sign in each if LEVELS_OF[sign] == row["level"]] for each, row in zip(named, rows, strict=True)]
    counts = Counter(each[0] for each in named if each)
    return [[sign for sign in each if counts[sign] >= FEWEST] for each in named]


def matrix(texts: Sequence[str]) -> csr_matrix:
    """One row a text: its n-grams."""
    rows = [learned.ngrams(text) for text in texts]
    ends = np.cumsum([0, *(len(buckets) for buckets, _ in rows)])
    return csr_matrix(
        (np.concatenate([values for _, values in rows]), np.concatenate([at for at, _ in rows]), ends),
        (len(texts), learned.BUCKETS),
    )


def folded(features: csr_matrix) -> csr_matrix:
    """The same in the buckets of the signs."""
    cells = features.tocoo()
    at = cells.row, cells.col % learned.SIGN_BUCKETS
    return csr_matrix((cells.data, at), (features.shape[0], learned.SIGN_BUCKETS))


def fitted(features: csr_matrix, labels: np.ndarray) -> LogisticRegression:
    """A regression that is freer to weigh rare n-grams than common ones.

    It is fitted on features multiplied by idf ** RARITY, idf = 1 + ln((1 + n) / (1 + document frequency)), which is a
    weaker penalty on the rare ones; its weights are then those of the plain features.
    """
    texts = features.shape[0]
    scale = (1 + np.log((1 + texts) / (1 + features.getnnz(axis=0)))) ** RARITY
    model = LogisticRegression(C=STRENGTH, max_iter=500).fit(features @ diags(scale), labels)
    model.coef_ *= scale
    return model


def bytes_of(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights as whole numbers of one byte, and the step between them."""
    step = np.abs(weights).max() / 127
    return np.rint(weights / step).astype(np.int8), step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    rows, groups = examples()
    texts = [plain(row["text"]) for row in rows]
    levels = np.array([row["level"] for row in rows])
    urgent = levels != "routine"
    ids = told(rows)
    kinds = np.array([each[0] if each else learned.NONE for each in ids])
    taught = ~urgent | (kinds != learned.NONE)  # an urgent line of an unknown sign teaches none
    features = matrix(texts)
    by_sign = folded(features)
    if not write:
        chance, kind, sure = np.zeros(len(rows)), np.full(len(rows), "", "U30"), np.zeros(len(rows))
        for train, held_out in GroupKFold(FOLDS).split(features, groups=groups):
            chance[held_out] = fitted(features[train], urgent[train]).predict_proba(features[held_out])[:, 1]
            known = train[taught[train]]
            model = fitted(by_sign[known], kinds[known])
            chances = model.predict_proba(by_sign[held_out])[:, model.classes_ != learned.NONE]
            kind[held_out] = model.classes_[model.classes_ != learned.NONE][chances.argmax(axis=1)]
            sure[held_out] = chances.max(axis=1)
        report(texts, levels, ids, chance, kind, sure)
    else:
        whole, named = fitted(features, urgent), fitted(by_sign[taught], kinds[taught])
        weights, step = bytes_of(whole.coef_[0])
        sign_weights, sign_step = bytes_of(named.coef_)
        np.savez_compressed(
            Path(learned.__file__).with_name("wording.npz"),
            urgent=weights,
            urgent_step=step,
            urgent_bias=whole.intercept_[0].astype(np.float32),
            ids=named.classes_,
            signs=sign_weights,
            signs_step=sign_step,
            signs_bias=named.intercept_.astype(np.float32),
        )


def report(
    texts: Sequence[str],
    levels: np.ndarray,
    ids: Sequence[Sequence[str]],
    chance: np.ndarray,
    kind: np.ndarray,
    sure: np.ndarray,
) -> None:
    """Print the shares rated urgent by probability, and how often a named sign is right."""
    by_rule = np.array([bool(present(text)) for text in texts])
    general = np.array([least_urgent(text) / MIN_URGENT for text in texts])  # more for a general question
    worded = chance >= MIN_URGENT * general
    for least in sorted({0.2, 0.3, 0.4, 0.5, MIN_URGENT}):
        raised = by_rule | (chance >= np.minimum(least * general, 1))
        shares = ", ".join(f"{level} {raised[levels == level].mean():.3f}" for level in LEVELS)
        print(f"rated urgent from {least:.2f}: {shares}")
    right = np.array([name in each for name, each in zip(kind, ids, strict=True)])
    alone = worded & ~by_rule
    print(f"urgent by wording alone: {', '.join(f'{level} {(alone & (levels == level)).sum()}' for level in LEVELS)}")
    for least in sorted({0.15, 0.2, 0.3, 0.4, MIN_SURE}):
        named = alone & (sure >= least)
        true = named & (levels != "routine")
        counts = ", ".join(f"{level} {(named & (levels == level)).sum()}" for level in LEVELS)
        print(f"of these a sign is named from {least:.2f}: {counts}; right in urgent ones {right[true].mean():.3f}")


if __name__ == "__main__":
    main()
