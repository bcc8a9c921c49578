"""BM25, top 50 of 50,000 documents of 120 words, beside rank_bm25 and bm25s: goal 5.

Words are drawn by Zipf's law from 50,000; questions have 4 to 7 words drawn alike, so most have common ones.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from helpers.results import ratios
from rank_bm25 import BM25Okapi

from rag_core.indexing.bm25 import Bm25Index

DOCUMENTS, WORDS, VOCABULARY = 50_000, 120, 50_000
QUESTIONS, DEPTH = 30, 50


def seconds(call: Callable[[], object]) -> float:
    """On the processor: each side is one thread."""
    started = time.process_time()
    call()
    return time.process_time() - started


def held_by_rank_bm25(okapi: BM25Okapi) -> int:
    """Bytes of its dictionaries and lists, without the words, which every index holds."""
    tables = [okapi.doc_freqs, okapi.idf, okapi.doc_len, *okapi.doc_freqs]
    return sum(map(sys.getsizeof, tables)) + sum(map(sys.getsizeof, okapi.idf.values()))


@pytest.mark.timeout(1800)
def test_fifty_of_fifty_thousand(results, tmp_path):
    bm25s = pytest.importorskip("bm25s")
    random = np.random.default_rng(0)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    names = np.array([f"w{number}" for number in range(VOCABULARY)], object)

    def draw(*size: int) -> list[Any]:
        drawn: list[Any] = names[random.choice(VOCABULARY, size, p=shares / shares.sum())].tolist()
        return drawn

    documents = [document for _ in range(0, DOCUMENTS, 5000) for document in draw(5000, WORDS)]
    questions: list[Sequence[str]] = [draw(int(random.integers(4, 8))) for _ in range(QUESTIONS)]

    okapi = BM25Okapi(documents)
    results.note("BM25, fitting 50,000 documents: ours", "s", [seconds(lambda: Bm25Index.fit(documents))])
    Bm25Index.fit(documents).save(tmp_path)
    index = Bm25Index.load(tmp_path)  # as a corpus has it: mapped into memory
    other = bm25s.BM25(method="atire", k1=1.5, b=0.75)
    results.note(
        "BM25, fitting 50,000 documents: bm25s", "s", [seconds(lambda: other.index(documents, show_progress=False))]
    )  # fmt: skip
    documents.clear()
    cold = [seconds(lambda: index.best(question, DEPTH)) for question in questions]  # noqa: B023

    ours, rank, numpy = [], [], []
    for question in questions:
        ours.append(seconds(lambda: index.best(question, DEPTH)))  # noqa: B023
        numpy.append(
            seconds(lambda: other.retrieve([question], k=DEPTH, show_progress=False, backend_selection="numpy"))  # noqa: B023
        )  # fmt: skip
        rank.append(seconds(lambda: okapi.get_scores(question)))  # noqa: B023
        expected = okapi.get_scores(question)
        assert np.array_equal(index.scores(question), expected)  # to the last bit
        places, scores = index.best(question, DEPTH)
        assert sorted(scores)[-DEPTH:] == sorted(expected)[-DEPTH:]
        assert np.array_equal(expected[places], scores)
    for name, took in (
        ("ours", ours),
        ("ours, its words first met", cold),
        ("bm25s", numpy),
        ("rank_bm25's get_scores", rank),
    ):
        results.note(f"BM25, top 50 of 50,000: {name}", "ms", [1000 * one for one in took])
    results.goal(5, "BM25, top 50 of 50,000", "rank_bm25 `get_scores`: times faster", ratios(rank, ours), 80, at_least=True)  # fmt: skip
    results.goal(5, "BM25, top 50 of 50,000", "bm25s on numpy", ratios(ours, numpy), 1)
    mapped = sum(file.stat().st_size for file in tmp_path.rglob("*.npy"))  # in memory where it was touched
    share = mapped / held_by_rank_bm25(okapi)
    results.goal(5, "BM25, memory", "rank_bm25's", [share], 1 / 3)
