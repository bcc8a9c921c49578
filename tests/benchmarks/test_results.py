"""The stored result is what the code gives now: the whole test split, with every strategy."""

import pytest
from helpers.stored_results import STORED, STRATEGIES, measured_again

from rag_core import evaluation as ev
from rag_core.lab.lab import Lab

METRICS = list(next(iter(STORED.strategies.values())).metrics)
# Another build of the linear algebra rounds the last bit of a cosine otherwise, and two passages that tie to
# that bit change places. Each metric lies between 0 and 1, so a question turned about moves the mean of n
# questions by 1/n at most: figures may differ by one question's share, and no more.


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory, lab: Lab) -> ev.RunFolder:
    return measured_again(lab, tmp_path_factory.mktemp("again") / "run")


@pytest.mark.timeout(1800)
def test_measuring_again_gives_the_stored_figures(again):
    """The same means of every metric."""
    one, wrong = 1 / STORED.queries, {}
    for metric in ev.choose_metrics(METRICS):
        for label, scores in ev.scores(again, metric).items():
            stored = STORED.strategies[label].metrics[metric.name]
            mean = sum(scores.values()) / len(scores)
            if stored is None or mean != pytest.approx(stored.mean, abs=one):
                wrong[label, metric.name] = (mean, stored)
    assert again.labels == list(STRATEGIES)
    assert wrong == {}


def test_the_stored_conclusions_follow_again(again):
    """Every pair, every kind of question and every rewrite, from what was measured again."""
    found = ev.summarise(again, ev.choose_metrics(METRICS))
    assert [(pair.a, pair.b, pair.different) for pair in found.comparisons] == [
        (pair.a, pair.b, pair.different) for pair in STORED.comparisons
    ]
    assert found.rewrites.keys() == STORED.rewrites.keys()
    for label, effects in STORED.rewrites.items():
        for effect, stored in zip(found.rewrites[label], effects, strict=True):
            assert (effect.origin, effect.questions) == (stored.origin, stored.questions)
            assert effect.retrieved == pytest.approx(stored.retrieved, abs=1), label
            assert effect.unique_relevant == pytest.approx(stored.unique_relevant, abs=1), label
            share = 1 / stored.retrieved
            assert effect.error_rate == pytest.approx(stored.error_rate, abs=share), label
    for kind, row in STORED.groups["kind"].items():
        for pair, stored in zip(found.groups["kind"][kind].comparisons, row.comparisons, strict=True):
            one = 1 / stored.n
            assert pair.difference == pytest.approx(stored.difference, abs=one), (kind, pair.a)
