import json

import pytest
from helpers.judged import JUDGED, opened
from helpers.small import ROOT

from rag_core import evaluation as ev
from rag_core.catalog import RECIPES
from rag_core.evaluation.run_folder import RunFolder
from rag_core.values.errors import DataError
from rag_core.values.settings import read_settings

STORED = ROOT / "data" / "results.json"


def test_the_shipped_results_are_written_as_they_were_read():
    results = ev.Results.read(STORED)
    written = json.dumps(results.as_json(), ensure_ascii=False, indent=2)
    assert written + "\n" == STORED.read_text(encoding="utf-8")


def test_the_files_of_a_run_are_written_as_they_were_read(tmp_path, services):
    strategies = ev.build_strategies({"bm25": "bm25", "dense": "simple_semantic"})
    with opened(tmp_path / "run", strategies) as run:
        list(ev.evaluate(run, strategies, lambda: services))
        results = ev.conclude(run, ev.choose_metrics())
    for model, name in ((ev.Manifest, "manifest.json"), (ev.Results, "results.json")):
        path = run.folder / name
        written = json.dumps(model.read(path).as_json(), ensure_ascii=False, indent=1)
        assert written == path.read_text(encoding="utf-8")
    assert ev.stored_results(RunFolder.open(run.folder)) == results
    assert "pairs" not in run.manifest.as_json(), "without pairs a manifest does not name them"


def test_the_file_of_a_sweep_is_written_as_it_was_read(tmp_path, services):
    recipe, settings = RECIPES["simple_semantic"], ev.grid({"k_final": (1, 3)})
    result = ev.tune(recipe, settings, ev.parse_metric("mrr"), JUDGED, JUDGED, lambda: services)
    path = ev.save_sweep(result, read_settings(home=tmp_path))
    assert ev.list_sweeps(read_settings(home=tmp_path)) == [path]
    written = json.dumps(ev.SweepResult.read(path).as_json(), ensure_ascii=False)
    assert written == path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "problem"),
    [(None, "No such file"), ("{", "Invalid JSON"), ("[]", "cannot be read"), ("{}", "data: Field required")],
)
def test_a_damaged_file_is_named_with_what_is_wrong(tmp_path, text, problem):
    path = tmp_path / "results.json"
    if text is not None:
        path.write_text(text)
    for read in (ev.Results.read, ev.Manifest.read, ev.SweepResult.read):
        with pytest.raises(DataError, match=problem) as damaged:
            read(path)
        assert str(path) in damaged.value.message
        assert "again" in damaged.value.next_step


def test_the_leader_and_the_kind_a_strategy_gains_most_on():
    results = ev.Results.read(STORED)
    means = {label: row.metrics["ndcg@10"].mean for label, row in results.strategies.items()}  # type: ignore[union-attr]
    assert results.primary_means == means
    assert results.leader == max(means, key=lambda label: means[label])
    kinds = {kind: row.strategies for kind, row in results.groups["kind"].items()}
    alone = {kind: rows["bm25"]["ndcg@10"].mean for kind, rows in kinds.items()}  # type: ignore[union-attr]
    assert results.best_kind("bm25", "ndcg@10") == max(alone.items(), key=lambda item: item[1])
    gains = {
        kind: rows["hyde"]["ndcg@10"].mean - rows["bm25"]["ndcg@10"].mean for kind, rows in kinds.items()
    }  # type: ignore[union-attr]
    assert results.best_kind("hyde", "ndcg@10", "bm25") == max(gains.items(), key=lambda item: item[1])


def test_the_best_settings_along_one_and_two_controls(services):
    settings = ev.grid({"k_final": (1, 3), "k1": (1.0, 2.0)})
    result = ev.tune(RECIPES["bm25"], settings, ev.parse_metric("mrr"), JUDGED, JUDGED, lambda: services)
    rows = result.best_along("k_final")
    assert [row.controls["k_final"] for row in rows] == [1, 3, 5], "in the order of the values"
    for row in rows:
        same = [one for one in result.settings if one.controls["k_final"] == row.controls["k_final"]]
        assert row.score.mean == max(one.score.mean for one in same)
    pairs = [(row.controls["k_final"], row.controls["k1"]) for row in result.best_along("k_final", "k1")]
    assert pairs == [(1, 1.0), (1, 2.0), (3, 1.0), (3, 2.0), (5, 1.5)]
    assert result.gain == result.best.reported.mean - result.default.reported.mean
    assert sum(row.same for row in result.finalists) == len(result.front())
