"""Metrics that score one ranking against the judgements of its question, as trec_eval defines them.

A ranking is a sequence of distinct document ids, best first. Judgements map a document id to its grade:
above 0 is relevant, and the grade is the gain; 0, negative and unjudged are not relevant. A cut-off k is at
least 1; None takes the full ranking. Every value lies in [0, 1]. A question without a relevant document has
no value: the functions raise ValueError, and the caller leaves such questions out.

The tests check agreement with trec_eval (https://github.com/usnistgov/trec_eval) to 1e-6 through pytrec_eval
(Van Gysel and de Rijke, SIGIR 2018).
"""

import difflib
import math
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..values.errors import ConfigError
from ..values.message import Message

Grades = Mapping[str, int]  # document id -> grade; above 0 is relevant


def ndcg(ranked: Sequence[str], grades: Grades, k: int | None = None) -> float:
    """Normalised discounted cumulative gain; trec_eval's `ndcg_cut_k`, and `ndcg` without k.

    Σ grade / log2(rank + 1) over the ranking, divided by the same sum over the ideal ranking of the judged
    documents. Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM
    TOIS 20(4), 2002; here every rank is discounted, and gains are linear.

    >>> round(ndcg(["a", "x", "b"], {"a": 2, "b": 1}, 3), 3)  # (2 + 1/log2(4)) / (2 + 1/log2(3))
    0.95
    """
    gains = _gains(ranked, grades, k)
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    return _discounted(gains) / _discounted(ideal[:k])


def recall(ranked: Sequence[str], grades: Grades, k: int | None = None) -> float:
    """Share of the relevant documents found in the first k; trec_eval's `recall_k`.

    >>> recall(["a", "x", "b"], {"a": 2, "b": 1}, 2)
    0.5
    """
    return _relevant(_gains(ranked, grades, k)) / _relevant(grades.values())


def precision(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """Relevant documents in the first k, divided by k even when fewer were returned; trec_eval's `P_k`.

    >>> precision(["a", "x", "b"], {"a": 2, "b": 1}, 5)
    0.4
    """
    return _relevant(_gains(ranked, grades, k)) / k


def hit(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """1 when any of the first k is relevant, else 0; trec_eval's `success_k`.

    >>> hit(["x", "a"], {"a": 1}, 1), hit(["x", "a"], {"a": 1}, 2)
    (0.0, 1.0)
    """
    return float(any(_gains(ranked, grades, k)))


def reciprocal_rank(ranked: Sequence[str], grades: Grades, k: int | None = None) -> float:
    """1 / rank of the first relevant document, 0 when there is none; trec_eval's `recip_rank`.

    With k, documents below rank k do not count (MS MARCO's MRR@k).

    >>> reciprocal_rank(["x", "a", "b"], {"a": 1, "b": 1})
    0.5
    """
    return next((1 / rank for rank, gain in enumerate(_gains(ranked, grades, k), start=1) if gain), 0.0)


def average_precision(ranked: Sequence[str], grades: Grades, k: int | None = None) -> float:
    """Sum of the precision at each relevant document's rank, divided by the number of relevant documents.

    A relevant document that is not in the ranking adds 0. trec_eval's `map_cut_k`, and `map` without k.

    >>> round(average_precision(["a", "x", "b"], {"a": 1, "b": 1}), 3)  # (1/1 + 2/3) / 2
    0.833
    """
    found, total = 0, 0.0
    for rank, gain in enumerate(_gains(ranked, grades, k), start=1):
        if gain:
            found += 1
            total += found / rank
    return total / _relevant(grades.values())


def seed_ndcg(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """The nDCG behind RAG-MSR's figures (README, Experiment Results). Not comparable with `ndcg`.

    Gains are 1 or 0, and the ideal is the best order of the retrieved documents, not of the judged ones:
    misses cost nothing, and a single relevant document at rank 1 scores a perfect 1. It is 0 when nothing
    relevant was retrieved. This, together with ten hand-picked questions out of the 323 in NFCorpus, is why
    the README prints 0.868, 0.849, 0.763 and 0.918; the five runs its authors published have a real nDCG@10
    of 0.21 to 0.29. (Their evaluation code is not public; this reproduces their stored results.)

    >>> seed_ndcg(["a"], {"a": 1, "b": 1, "c": 1}, 10), round(ndcg(["a"], {"a": 1, "b": 1, "c": 1}, 10), 3)
    (1.0, 0.469)
    """
    gains = [min(gain, 1) for gain in _gains(ranked, grades, None)]
    ideal = _discounted(sorted(gains, reverse=True)[:k])
    return _discounted(gains[:k]) / ideal if ideal else 0.0


def judged_at(ranked: Sequence[str], grades: Grades, k: int) -> float:
    """Share of the first k documents, or of all when there are fewer, that have a judgement.

    The metrics count unjudged documents as not relevant. 1 for an empty ranking, which has no unjudged document.

    >>> judged_at(["a", "x"], {"a": 0}, 2)
    0.5
    """
    top = ranked[:k]
    return sum(document in grades for document in top) / len(top) if top else 1.0


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric, called with a ranking and its judgements; `parse_metric` reads its `name`, screens show its `title`."""

    name: str
    title: str
    cutoff: int | None
    compute: Callable[[Sequence[str], Grades, int | None], float]

    def __call__(self, ranked: Sequence[str], grades: Grades) -> float:
        return self.compute(ranked, grades, self.cutoff)


# name -> title, function, whether it needs a cut-off
_MEASURES: dict[str, tuple[str, Callable[..., float], bool]] = {
    "ndcg": ("nDCG", ndcg, False),
    "recall": ("Recall", recall, True),
    "precision": ("Precision", precision, True),
    "mrr": ("MRR", reciprocal_rank, False),
    "map": ("MAP", average_precision, False),
    "hit": ("Hit rate", hit, True),
    "seed_ndcg": ("nDCG", seed_ndcg, True),
}
# ir_measures' names (https://ir-measur.es) that differ from ours
_ALIASES = {"p": "precision", "r": "recall", "success": "hit", "rr": "mrr", "ap": "map"}

DEFAULT_METRICS = (
    "ndcg@10",  # primary: strategies are sorted by it
    "ndcg@5",
    "ndcg@3",
    "ndcg@1",
    "recall@10",
    "precision@5",
    "mrr",
    "map",
    "hit@5",
    "seed_ndcg@10",  # next to the real nDCG, to explain RAG-MSR's 0.918
)


def parse_metric(text: str) -> Metric:
    """Parse a metric name such as "ndcg@10" or "map", in any case; raises ConfigError if there is no such metric.

    The names of ir_measures work too: nDCG@10, R@10, P@5, RR, AP, Success@5.

    >>> parse_metric("nDCG@10").title, parse_metric("R@5").name
    ('nDCG@10', 'recall@5')
    """
    match = re.fullmatch(r"([a-z_]+)(?:@([1-9][0-9]{0,8}))?", text.strip().lower())
    name, cutoff = match.groups() if match else ("", None)
    name = _ALIASES.get(name, name)
    if name in _MEASURES:
        title, measure, needs_cutoff = _MEASURES[name]
        if cutoff:
            shown = Message("{measure}@{cutoff}", measure=Message(title), cutoff=int(cutoff))
            if measure is seed_ndcg:
                shown = Message("{metric} as RAG-MSR computed it", metric=shown)
            return Metric(f"{name}@{cutoff}", shown, int(cutoff), measure)
        if not needs_cutoff:
            return Metric(name, Message(title), None, measure)
    known = ", ".join(name + ("@k" if needs else "[@k]") for name, (_, _, needs) in _MEASURES.items())
    nearest = _nearest(text.strip().lower())
    rest = Message("Choose from {known}; k is a positive integer, as in ndcg@10.", known=known)
    raise ConfigError(
        Message("There is no metric {name!r}.", name=text.strip()),
        Message("Did you mean {nearest}? {rest}", nearest=nearest, rest=rest) if nearest else rest,
    )


def _nearest(text: str) -> str:
    """The closest known name, with the cut-off if there is one; empty when none is close."""
    name, _, cutoff = text.partition("@")
    close = difflib.get_close_matches(_ALIASES.get(name, name), [*_MEASURES, *_ALIASES], n=1)
    if not close:
        return ""
    found = _ALIASES.get(close[0], close[0])
    k = cutoff if re.fullmatch(r"[1-9][0-9]{0,8}", cutoff) else "10" if cutoff or _MEASURES[found][2] else ""
    return f"{found}@{k}" if k else found


def trec_order(scores: Mapping[str, float]) -> list[str]:
    """Document ids in trec_eval's order: by descending score, then by descending id.

    trec_eval stores scores as 32-bit floats: scores that are equal at that precision tie.

    >>> trec_order({"a": 0.5, "b": 0.5, "c": 0.9})
    ['c', 'b', 'a']
    """
    keys = zip(array("f", scores.values()), scores, strict=True)
    return [document for _, document in sorted(keys, reverse=True)]


def _gains(ranked: Sequence[str], grades: Grades, k: int | None) -> list[int]:
    """The gains of the first k documents: their grades, 0 for those that are not relevant."""
    if not _relevant(grades.values()):
        raise ValueError("the question has no relevant document, so no metric is defined")
    return [max(grades.get(document, 0), 0) for document in ranked[:k]]


def _relevant(grades: Iterable[int]) -> int:
    return sum(grade > 0 for grade in grades)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
