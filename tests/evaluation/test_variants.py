import dataclasses
from collections.abc import Mapping
from pathlib import Path

import pytest
from helpers.judged import JUDGED

from rag_core import evaluation as ev
from rag_core.catalog import StrategySpec
from rag_core.evaluation.records import Record
from rag_core.evaluation.run_folder import RunFolder


def manifest_of(chosen: Mapping[str, StrategySpec], depth: int | None = None) -> ev.Manifest:
    return ev.describe_run(JUDGED, ev.build_strategies(chosen, depth), depth=depth, engine={}, source="")


def test_a_label_is_shown_as_title_and_settings():
    chosen = {"hybrid_rrf.1": ("hybrid_rrf", {"mmr_lambda": 0.3, "k_final": 8}), "bm25": "bm25"}
    assert ev.titles(manifest_of(chosen)) == {
        "hybrid_rrf.1": "Hybrid RRF + MMR · λ 0.3, passages used 8",
        "bm25": "BM25 keywords",
    }
    # what the depth raised is no setting of a strategy
    chosen = {"hybrid": ("hybrid_rrf", {"rrf_k": 5}), "bm25": "bm25"}
    assert ev.titles(manifest_of(chosen, depth=100)) == {
        "hybrid": "Hybrid RRF + MMR · RRF k 5",
        "bm25": "BM25 keywords",
    }


def test_two_that_are_the_same_have_their_labels_too():
    assert ev.titles(manifest_of({"a": "bm25", "b": "bm25"})) == {
        "a": "BM25 keywords (a)",
        "b": "BM25 keywords (b)",
    }


def test_a_run_file_is_another_systems(tmp_path):
    path = tmp_path / "some.trec"
    path.write_text("q1 Q0 a 1 9.5 x\n")
    manifest = ev.describe_run(JUDGED, {}, depth=None, engine={}, source="", run_files={"some": path})
    assert ev.titles(manifest)["some"].startswith("some (rankings of another system")


def test_a_verdict_names_the_strategies_as_asked():
    """b is right on all of ten questions and a on none: p = 2 / 2^10 = 0.00195."""
    ids = [f"q{number}" for number in range(10)]
    (pair,) = ev.compare_all("MAP", {"a": dict.fromkeys(ids, 0.0), "b": dict.fromkeys(ids, 1.0)})
    words = "Title B is better than Title A by 1.000 MAP (95 % 1.000 to 1.000), probably real: p 0.002."
    assert ev.verdict(pair, {"a": "Title A", "b": "Title B"}) == words
    assert ev.verdict(pair) == pair.verdict == words.replace("Title B", "b").replace("Title A", "a")


def test_a_verdict_is_said_in_another_language_from_stored_figures():
    """Its parts are worked out again: a stored comparison has plain text."""
    pairs = ev.compare_all("MAP", {name: {"q1": value} for name, value in (("a", 1.0), ("b", 0.0))})
    stored = dataclasses.replace(pairs[0], verdict=str(pairs[0].verdict))
    assert ev.verdict(stored).template == "too few to conclude: 1 question."


def run_of(
    folder: Path, chosen: Mapping[str, StrategySpec], ranked: Mapping[str, tuple[str, ...]]
) -> RunFolder:
    run = RunFolder.create(folder, manifest_of(chosen), JUDGED)
    for label in chosen:
        for question in ("q1", "q2", "q3"):
            run.append(label, Record.ranking(question, ranked[label]))
    return run


def test_runs_are_matched_by_strategy_and_controls_not_by_label(tmp_path):
    """q2 has the one relevant document b, q3 has c and f, q1 has a and e: hit@1 of ("b",) is 1/3, of ("x",) 0."""
    older = run_of(
        tmp_path / "older",
        {"one": ("bm25", {"k1": 1}), "bm25.1": "bm25", "gone": "hyde"},
        {"one": ("b",), "bm25.1": ("x",), "gone": ("x",)},
    )
    newer = run_of(
        tmp_path / "newer",
        {"bm25.1": ("bm25", {"k1": 1}), "new": "simple_semantic", "bm25": "bm25"},
        {"bm25.1": ("x",), "new": ("b",), "bm25": ("b",)},
    )
    changed, same, *single = ev.compare_runs(older, newer, ev.parse_metric("hit@1"))
    assert (changed.title, changed.older, changed.newer) == ("BM25 keywords · k1 1", pytest.approx(1 / 3), 0)
    assert (changed.comparison.wins, changed.comparison.losses, changed.comparison.n) == (0, 1, 3)
    assert (same.title, same.older, same.newer) == ("BM25 keywords", 0, pytest.approx(1 / 3))
    assert [(row.title, row.older, row.newer, row.comparison) for row in single] == [
        ("HyDE", 0, None, None),
        ("Simple semantic", None, pytest.approx(1 / 3), None),
    ]
