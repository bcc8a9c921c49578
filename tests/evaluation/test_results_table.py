"""data/RESULTS.md shows the stored result, and the stored result is what the code gives now."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core import evaluation as ev
from rag_core.evaluation.tables import BEGIN, END
from rag_core.lab.lab import Lab

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "data" / "results.json"
STORED = ev.Results.read(FILE)
METRICS = list(next(iter(STORED.strategies.values())).metrics)
# Another build of the linear algebra rounds the last bit of a cosine otherwise, and two passages that tie to
# that bit change places. Each metric lies between 0 and 1, so a question turned about moves the mean of n
# questions by 1/n at most: figures may differ by one question's share, and no more.
STRATEGIES = ev.build_strategies(
    {
        label: (row.strategy, row.controls)
        for label, row in STORED.manifest.strategies.items()
        if isinstance(row, ev.MeasuredStrategy)
    }
)


def test_the_page_shows_the_stored_figures() -> None:
    page = (ROOT / "data" / "RESULTS.md").read_text(encoding="utf-8")
    table = page.partition(BEGIN)[2].partition(END)[0]
    assert table.strip() == ev.markdown(STORED).strip(), "run `make results`"


def test_the_stored_result_is_of_these_questions_and_strategies() -> None:
    manifest = STORED.manifest
    judged = ev.read_judged("builtin", STORED.split, ev_settings())
    assert manifest.checksum == judged.checksum, "run `make results`"
    for label, row in manifest.strategies.items():
        assert isinstance(row, ev.MeasuredStrategy)
        built = ev.build_strategies({label: (row.strategy, row.controls)}, manifest.depth)[label]
        assert built.fingerprint == row.fingerprint, f"{label}: run `make results`"


def ev_settings():  # type: ignore[no-untyped-def]
    from rag_core.values.settings import read_settings

    return read_settings()


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory, lab: Lab) -> ev.RunFolder:
    """The stored run made again: every strategy at once, since they share calls and first stages."""
    judged = ev.read_judged("builtin", STORED.split, lab.settings)
    manifest = ev.describe_run(
        judged,
        STRATEGIES,
        depth=None,
        engine=lab.engine,
        source="builtin",
        pairs=STORED.manifest.pairs,
    )
    folder = ev.RunFolder.create(tmp_path_factory.mktemp("again") / "run", manifest, judged)
    for _ in ev.evaluate(folder, STRATEGIES, lab.services, share=True):
        pass
    return folder


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("label", STRATEGIES)
def test_measuring_again_gives_the_stored_figures(again: ev.RunFolder, label: str) -> None:
    """Every question of the test split: the same means of every metric."""
    row, one = STORED.strategies[label].metrics, 1 / STORED.queries
    for metric in ev.choose_metrics(list(row)):
        found = list(ev.scores(again, metric)[label].values())
        stored = row[metric.name]
        assert stored is not None
        assert sum(found) / len(found) == pytest.approx(stored.mean, abs=one), metric.name


@pytest.mark.timeout(1800)
def test_the_stored_conclusions_follow_again(again: ev.RunFolder) -> None:
    """Every pair, every kind of question and every rewrite, from what was measured again."""
    found = ev.summarise(again, ev.choose_metrics(METRICS))
    assert [(pair.a, pair.b, pair.different) for pair in found.comparisons] == [
        (pair.a, pair.b, pair.different) for pair in STORED.comparisons
    ]
    assert found.rewrites.keys() == STORED.rewrites.keys()
    for label, rows in STORED.rewrites.items():
        for effect, stored in zip(found.rewrites[label], rows, strict=True):
            assert (effect.origin, effect.questions) == (stored.origin, stored.questions)
            assert effect.retrieved == pytest.approx(stored.retrieved, abs=1), label
            assert effect.unique_relevant == pytest.approx(stored.unique_relevant, abs=1), label
            share = 1 / stored.retrieved
            assert effect.error_rate == pytest.approx(stored.error_rate, abs=share), label
    for kind, row in STORED.groups["kind"].items():
        for pair, stored in zip(found.groups["kind"][kind].comparisons, row.comparisons, strict=True):
            one = 1 / stored.n
            assert pair.difference == pytest.approx(stored.difference, abs=one), (kind, pair.a)
