import random
import re
from math import log2

import pytest
import pytrec_eval
from helpers.looping import for_each

from rag_core.evaluation.metrics import (
    DEFAULT_METRICS,
    judged_at,
    ndcg,
    parse_metric,
    reciprocal_rank,
    seed_ndcg,
    trec_order,
)
from rag_core.values.errors import ConfigError

CUTOFFS = (1, 3, 5, 10, 100)
TREC_NAMES = {  # ours -> trec_eval's
    "ndcg": "ndcg",
    "map": "map",
    "mrr": "recip_rank",
    **{f"ndcg@{k}": f"ndcg_cut_{k}" for k in CUTOFFS},
    **{f"recall@{k}": f"recall_{k}" for k in CUTOFFS},
    **{f"precision@{k}": f"P_{k}" for k in CUTOFFS},
    **{f"map@{k}": f"map_cut_{k}" for k in CUTOFFS},
    **{f"hit@{k}": f"success_{k}" for k in CUTOFFS},
}

# ranks:   1    2    3    4    5      b is judged not relevant, x not judged, e and f are not retrieved
RANKED = ["b", "a", "x", "c", "d"]
GRADES = {"a": 2, "b": 0, "c": -1, "d": 3, "e": 1, "f": 1}


def random_questions(count: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgements and runs with ties in and beyond 32 bits, and fewer and more documents than any cut-off."""
    draw = random.Random(4)
    qrels, run = {}, {}
    for question in range(count):
        documents = [f"d{i}" for i in range(draw.choice([2, 4, 12, 150]))]
        grades = {document: draw.choice([-2, -1, 0, 0, 1, 1, 2, 3]) for document in documents}
        grades |= {documents[0]: draw.choice([1, 2]), "never retrieved": draw.choice([0, 1, 2])}
        judged = draw.sample(sorted(grades), draw.randint(1, len(grades)))
        qrels[str(question)] = {document: grades[document] for document in {*judged, documents[0]}}
        step = draw.choice([1.0, 0.25, 1e-9])  # 1e-9 on top of 1 is lost in 32 bits
        found = draw.sample(documents, draw.randint(1, len(documents)))
        run[str(question)] = {document: 1 + step * draw.randint(0, 8) for document in found}
    return qrels, run


def test_every_metric_is_trec_evals():
    qrels, run = random_questions(400)
    expected = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_NAMES.values())).evaluate(run)
    assert len(expected) == 400
    for question, values in expected.items():
        ranked = trec_order(run[question])
        for ours, theirs in TREC_NAMES.items():
            value = parse_metric(ours)(ranked, qrels[question])
            assert value == pytest.approx(values[theirs], abs=1e-6), (question, ours)


def test_only_ranks_up_to_the_cutoff_count_for_the_reciprocal_rank():
    assert [reciprocal_rank(RANKED, GRADES, k) for k in (1, 2)] == [0, 1 / 2]


def test_an_empty_ranking_is_a_miss_on_every_metric():
    for name in (*TREC_NAMES, "seed_ndcg@10"):
        assert parse_metric(name)([], GRADES) == 0


def test_judged_share():
    assert judged_at(RANKED, GRADES, 2) == 1  # b counts: judged not relevant
    assert judged_at(RANKED, GRADES, 3) == 2 / 3
    assert judged_at(RANKED, GRADES, 10) == 4 / 5  # of the five that came back
    assert judged_at([], GRADES, 10) == 1


def test_the_seeds_metric_forgives_what_was_missed():
    grades = {f"d{i}": 2 for i in range(20)}
    ranked = ["d0", "x1", "x2", "x3", "x4"]
    assert seed_ndcg(ranked, grades, 10) == 1  # its ideal has the one document that was found
    assert ndcg(ranked, grades, 10) == pytest.approx(2 / sum(2 / log2(rank + 1) for rank in range(1, 11)))
    assert ndcg(ranked, grades, 10) < 0.23
    assert seed_ndcg(["x1", "d0", "x2", "d1"], grades, 3) == pytest.approx((1 / log2(3)) / (1 + 1 / log2(3)))
    assert seed_ndcg(["x1", "x2"], grades, 10) == 0


# One run of seed 004 as its authors published it (torijune/RAG-MSR, code/Nfcorpus_nDCG/
# evaluation_results_1.json): nDCG at 1, 3, 5 and 10 of its ten questions. The first column is the official
# BEIR grade of each retrieved document of predictions_1.jsonl, the second the judged ones as {grade: count}.
PUBLISHED = [
    ("2210", {2: 7, 1: 17}, (1, 1, 1, 1)),
    ("02100", {2: 7, 1: 23}, (0, 0.6934264036172708, 0.6934264036172708, 0.6934264036172708)),
    ("010", {2: 10, 1: 80}, (0, 0.6309297535714573, 0.6309297535714573, 0.6309297535714573)),
    ("220010", {2: 9, 1: 23}, (1, 0.7653606369886218, 0.9469024295259745, 0.9469024295259745)),
    ("0000", {2: 6, 1: 52}, (0, 0, 0, 0)),
    ("120000", {2: 4, 1: 46}, (1, 1, 1, 1)),
    ("210", {2: 1, 1: 54}, (1, 1, 1, 1)),
    ("000000", {2: 6, 1: 56}, (0, 0, 0, 0)),
    ("21000", {2: 8, 1: 56}, (1, 1, 1, 1)),
    ("10000", {2: 2, 1: 22}, (1, 1, 1, 1)),
]


def test_the_published_results_of_seed_004_are_reproduced_and_are_not_ndcg():
    ndcgs = []
    for retrieved, judged, published in PUBLISHED:
        ranked = [f"r{rank}" for rank in range(len(retrieved))]
        grades = {document: int(grade) for document, grade in zip(ranked, retrieved, strict=True)}
        for grade, count in judged.items():
            missed = count - retrieved.count(str(grade))
            grades |= {f"missed{grade}-{i}": grade for i in range(missed)}
        for k, value in zip((1, 3, 5, 10), published, strict=True):
            assert seed_ndcg(ranked, grades, k) == pytest.approx(value, abs=1e-12), (retrieved, k)
        ndcgs.append(ndcg(ranked, grades, 10))
    assert sum(published[3] for *_, published in PUBLISHED) / 10 == pytest.approx(0.7271, abs=5e-5)
    assert sum(ndcgs) / 10 == pytest.approx(0.242, abs=5e-4)


def test_a_question_without_a_relevant_document_has_no_value():
    for grades in ({}, {"a": 0, "b": -1}):
        for name in (*DEFAULT_METRICS, "recall@100"):
            with pytest.raises(ValueError, match="no relevant document"):
                parse_metric(name)(["a"], grades)


@for_each(
    ("text", "name", "title", "cutoff"),
    [
        ("ndcg@10", "ndcg@10", "nDCG@10", 10),
        ("nDCG", "ndcg", "nDCG", None),
        ("AP", "map", "MAP", None),
        ("map@100", "map@100", "MAP@100", 100),
        ("RR", "mrr", "MRR", None),
        ("MRR@10", "mrr@10", "MRR@10", 10),
        ("P@5", "precision@5", "Precision@5", 5),
        ("Success@5", "hit@5", "Hit rate@5", 5),
        (" R@100 ", "recall@100", "Recall@100", 100),
        ("seed_ndcg@10", "seed_ndcg@10", "nDCG@10 as RAG-MSR computed it", 10),
    ],
)
def test_names_of_metrics(text, name, title, cutoff):
    metric = parse_metric(text)
    assert (metric.name, metric.title, metric.cutoff) == (name, title, cutoff)
    assert parse_metric(metric.name) == metric


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("ndgc@10", "ndcg@10"), ("recal@5", "recall@5"), ("presicion", "precision@10"), ("suces@3", "hit@3"),
        ("mmr", "mrr"), ("recall", "recall@10"),
    ],
)  # fmt: skip
def test_an_unknown_metric_names_the_nearest(wrong, nearest):
    with pytest.raises(ConfigError, match=re.escape(f"Did you mean {nearest}?")):
        parse_metric(wrong)


NO_METRICS = ["", "foo", "foo@10", "@10", "recall", "precision", "p", "hit", "seed_ndcg"]
NO_CUTOFFS = ["0", "x", "", "-1", "1.5", "²", "10@5", "1000000000"]


@for_each("text", [*NO_METRICS, *(f"ndcg@{cutoff}" for cutoff in NO_CUTOFFS)])
def test_an_unknown_metric_is_refused_with_the_known_ones(text):
    with pytest.raises(ConfigError) as error:
        parse_metric(text)
    assert repr(text) in error.value.message
    for known in ("ndcg[@k]", "recall@k", "precision@k", "mrr[@k]", "map[@k]", "hit@k", "seed_ndcg@k"):
        assert known in error.value.next_step


def test_trec_order():
    assert trec_order({"a": 1.0, "b": 3.0, "c": 2.0}) == ["b", "c", "a"]
    assert trec_order({"a": 1.0, "c": 1.0, "b": 1.0}) == ["c", "b", "a"]
    # the nearest 32-bit float of both is 1
    assert trec_order({"a": 1.0 + 1e-9, "b": 1.0}) == ["b", "a"]
    assert trec_order({"a": 1.0 + 1e-6, "b": 1.0}) == ["a", "b"]
    assert trec_order({"a": 1e300, "b": -1e300, "c": 0.0}) == ["a", "c", "b"]
    assert trec_order({}) == []
