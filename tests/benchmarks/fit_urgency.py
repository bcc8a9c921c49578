"""Fit the wording model of rag_core/urgency on data/urgency/*.jsonl, and say how often it is right.

    python tests/benchmarks/fit_urgency.py          # figures by cross-validation
    python tests/benchmarks/fit_urgency.py --write  # and rag_core/urgency/wording.npz

Contrast sets (three lines that share most words) stay together in a fold. Neither test questions of data/questions
nor dev.jsonl and test.jsonl of data/urgency are read here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, diags
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from rag_core.urgency import learned
from rag_core.urgency.reading import plain
from rag_core.urgency.triage import MIN_URGENT, least_urgent, present
from rag_core.values.triage import LEVELS

DATA = Path(__file__).parents[2] / "data" / "urgency"
STRENGTH = 0.1  # inverse of the regularisation
RARITY = 2  # power of the inverse document frequency
FOLDS = 6


def examples() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts, their levels (positions in LEVELS), and the group that a fold must not split."""
    texts, levels, groups = [], [], []
    for path in sorted(DATA.glob("train-*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            row = json.loads(line)
            texts.append(row["text"])
            levels.append(LEVELS.index(row["level"]))
            groups.append(f"{path.name} {number // 3 if 'contrast' in path.name else number}")
    return texts, np.array(levels), np.unique(groups, return_inverse=True)[1]


def matrix(texts: Sequence[str]) -> csr_matrix:
    """One row a text: its n-grams."""
    rows = [learned.ngrams(plain(text)) for text in texts]
    ends = np.cumsum([0, *(len(buckets) for buckets, _ in rows)])
    return csr_matrix(
        (np.concatenate([values for _, values in rows]), np.concatenate([at for at, _ in rows]), ends),
        (len(texts), learned.BUCKETS),
    )


def fitted(features: csr_matrix, levels: np.ndarray) -> LogisticRegression:
    """A regression that is freer to weigh rare n-grams than common ones.

    It is fitted on features multiplied by idf ** RARITY, idf = 1 + ln((1 + n) / (1 + document frequency)), which is a
    weaker penalty on the rare ones; its weights are then those of the plain features.
    """
    texts = features.shape[0]
    scale = (1 + np.log((1 + texts) / (1 + features.getnnz(axis=0)))) ** RARITY
    model = LogisticRegression(C=STRENGTH, max_iter=500).fit(features @ diags(scale), levels)
    model.coef_ *= scale
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    write = parser.parse_args().write
    texts, levels, groups = examples()
    features = matrix(texts)
    given = np.zeros((len(texts), len(LEVELS)))
    for train, held_out in GroupKFold(FOLDS).split(features, levels, groups):
        given[held_out] = fitted(features[train], levels[train]).predict_proba(features[held_out])
    signs = np.array([bool(present(plain(text))) for text in texts])
    factor = (
        np.array([least_urgent(plain(text)) for text in texts]) / MIN_URGENT
    )  # 1, or more for a general question
    for least in sorted({0.2, 0.3, 0.4, 0.5, MIN_URGENT}):
        urgent = signs | (1 - given[:, LEVELS.index("routine")] >= np.minimum(least * factor, 1))
        shares = ", ".join(f"{level} {urgent[levels == at].mean():.3f}" for at, level in enumerate(LEVELS))
        print(f"rated urgent from {least:.2f}: {shares}")
    if write:
        model = fitted(features, levels)
        step = np.abs(model.coef_).max() / 127  # one byte a weight
        np.savez_compressed(
            Path(learned.__file__).with_name("wording.npz"),
            weights=np.rint(model.coef_ / step).astype(np.int8),
            step=step,
            bias=model.intercept_.astype(np.float32),
        )


if __name__ == "__main__":
    main()
