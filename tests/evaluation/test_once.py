"""One call measures what `rag eval` does, and gives it as frames and as the dictionaries of other tools."""

import copy
import json
from dataclasses import replace
from itertools import product

import pytest
from helpers.small import ROOT
from llama_index.core.evaluation import RetrieverEvaluator

import rag_core
from rag_core.documents.benchmark import read_builtin
from rag_core.evaluation import Results, SweepResult, list_sweeps, once
from rag_core.values.errors import ConfigError, DataError

STORED = json.loads((ROOT / "data" / "results.json").read_text(encoding="utf-8"))["strategies"]["bm25"]
FEW = 12  # questions asked one by one


@pytest.fixture(scope="module")
def results(lab, tmp_path_factory) -> Results:
    """Kept in a home of its own, because that of `lab` is every test's."""
    own = copy.copy(lab)
    own.settings = lab.settings.model_copy(update={"home": tmp_path_factory.mktemp("home")})
    chosen = {"bm25": "bm25", "three": ("bm25", {"k_final": 3})}
    return rag_core.evaluate(own, chosen, baseline="bm25", metrics=["ndcg@10", "mrr"])


def test_the_figures_are_those_of_the_command(results):
    frame = results.to_frame()
    assert list(frame.index) == ["bm25", "three"]
    of = STORED["metrics"]["ndcg@10"]
    found = frame.loc["bm25", ["ndcg@10", "ndcg@10.ci_low", "ndcg@10.ci_high"]].tolist()
    assert found == pytest.approx([of["mean"], of["ci_low"], of["ci_high"]])
    assert frame.loc["bm25", "queries"] == STORED["queries"]
    assert [(one.a, one.b) for one in results.comparisons] == [("three", "bm25")]
    line = f"<Results of 334 questions of builtin, test: ndcg@10 bm25 {of['mean']:.3f}, three 0."
    assert repr(results).startswith(line)
    assert str(results) == repr(results)
    assert isinstance(results, rag_core.Results)
    assert "three" in results._repr_html_()


def test_each_question_has_its_row(results):
    rows = results.per_question()
    assert len(rows) == results.queries
    assert list(rows.columns) == [(one, two) for one in ("ndcg@10", "mrr") for two in ("bm25", "three")]
    assert rows["mrr"]["three"].mean() == pytest.approx(results.strategies["three"].metrics["mrr"].mean)


def test_other_tools_read_judgements_and_rankings(results):
    grades, ranked = results.qrels(), results.runs()["bm25"]
    ours = results.per_question()["mrr"]["bm25"]
    by_hand = {}
    for question, scored in ranked.items():
        order = sorted(scored, key=scored.__getitem__, reverse=True)
        first = [rank for rank, name in enumerate(order, 1) if grades[question].get(name, 0) > 0]
        by_hand[question] = 1 / first[0] if first else 0.0
    assert by_hand == pytest.approx(dict(ours))
    pytrec_eval = pytest.importorskip("pytrec_eval")
    found = pytrec_eval.RelevanceEvaluator(grades, {"recip_rank"}).evaluate(ranked)
    assert {name: row["recip_rank"] for name, row in found.items()} == pytest.approx(
        {name: ours[name] for name in found}, abs=1e-6
    )
    assert len(found) > 300


def test_llamaindex_scores_a_retriever_by_document_as_the_command_does(lab, results):
    retriever = lab.retriever("bm25", by="document")
    theirs = RetrieverEvaluator.from_metric_names(["mrr"], retriever=retriever)
    ours = results.per_question()["mrr"]["bm25"]
    judged = read_builtin(lab.settings.data, "test")
    asked = judged.measured[:: len(judged.measured) // FEW]
    scores = {}
    for one in asked:
        relevant = [name for name, grade in judged.qrels[one.id].items() if grade > 0]
        scores[one.id] = theirs.evaluate(one.text, relevant).metric_vals_dict["mrr"]
    assert scores == pytest.approx({one.id: ours[one.id] for one in asked})
    assert len(set(scores.values())) > 1
    guide = (ROOT / "docs" / "llamaindex.md").read_text(encoding="utf-8")
    assert f"that of `rag eval`, {STORED['metrics']['mrr']['mean']:.3f}:" in guide
    with pytest.raises(ConfigError, match="passage, document"):
        lab.retriever("bm25", by="chapter")


def test_what_cannot_be_measured_is_refused(lab, beir):
    with pytest.raises(ConfigError, match="'bm52'"):
        rag_core.evaluate(lab, "bm52")
    with pytest.raises(ConfigError, match="baseline 'hyde' is not measured"):
        rag_core.evaluate(lab, ["bm25"], baseline="hyde")
    with pytest.raises(ConfigError, match="none of the documents"):
        rag_core.evaluate(lab, "bm25", beir)


def test_results_from_a_file_have_no_single_questions(results):
    read = Results.read(results.run.results_file)
    assert read.to_frame().equals(results.to_frame())
    with pytest.raises(DataError, match="without their run"):
        read.per_question()


def test_a_sweep_is_that_of_the_command(lab, beir, tmp_path, monkeypatch):
    """The four combinations by hand, each measured alone; on a folder of other documents it is refused."""
    own = copy.copy(lab)
    own.settings = lab.settings.model_copy(update={"home": tmp_path})
    every = once.read_judged
    monkeypatch.setattr(once, "read_judged", lambda *given: replace(read := every(*given), questions=read.measured[:8]))
    vary = {"k1": [0.5, 1.5], "b": [0.0, 0.75]}
    result = rag_core.sweep(own, ("bm25", {"k_final": 3}), vary, metric="mrr")
    frame = result.to_frame()
    alone = rag_core.evaluate(
        own,
        {f"{k1}_{b}": ("bm25", {"k_final": 3, "k1": k1, "b": b}) for k1, b in product(*vary.values())},
        split="dev",
        metrics=["mrr"],
    ).primary_means
    assert {f"{row.k1}_{row.b}": row.mrr for row in frame.itertuples()} == pytest.approx(alone)
    assert list(frame["mrr"]) == sorted(frame["mrr"], reverse=True)
    best = result.best.controls
    assert repr(result).startswith(
        f"<Sweep of 4 settings of bm25 on builtin: best with k1={best['k1']}, b={best['b']}; mrr on test "
    )
    assert "mrr.ci_low" in result._repr_html_()
    assert SweepResult.read(*list_sweeps(own.settings)).best == result.best
    for wrong in ({"k2": [1]}, {"k1": ["much"]}, {"k1": []}):
        with pytest.raises(ConfigError):
            rag_core.sweep(own, "bm25", wrong)
    with pytest.raises(ConfigError, match="none of the documents"):
        rag_core.sweep(own, "bm25", vary, beir, tune_on="test")
