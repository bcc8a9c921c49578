from dataclasses import replace

import pytest
from helpers.in_process import html, press, text
from helpers.stored_results import STORED

import rag_core
from pages.shared import corpora, shipped


def words(label: str) -> str:
    score = STORED.strategies[label].metrics["ndcg@10"]
    return f"{score.mean:.2f} ({score.ci_low:.2f}–{score.ci_high:.2f})"


def test_the_strategies_are_named_best_first_and_each_column_has_its_own_figure(drawn):
    drawn.run()
    means = {name: STORED.primary_means[name] for name in rag_core.RECIPES}
    first, second, third, *_ = sorted(means, key=lambda name: -means[name])
    assert first == "ensemble"
    line = ", ".join(f"{rag_core.RECIPES[name].title} {means[name]:.2f}" for name in (first, second, third))
    page = text(html(drawn))
    assert f"On 334 judged questions: {line} …" in page
    assert all(f"{recipe.title}{words(name)}" in page for name, recipe in rag_core.RECIPES.items())
    assert STORED.judged_by in page
    press(drawn, "Is it real?")
    pair = next(one for one in STORED.comparisons if one.a == "ensemble_5")  # the best, with as many passages
    (told,) = [one.value for one in drawn.caption if one.value.startswith("Yes: Ensemble")]
    assert "is better than Contextual retrieval" in told
    assert f"by {pair.difference:.3f} nDCG@10" in told
    assert told.endswith("334 questions.")
    (link,) = [one.proto for one in drawn.get("page_link") if one.proto.label == "All of it"]
    assert (link.page, link.query_string) == ("evaluate", "view=results&run=shipped")
    drawn.query_params.update(view="results", run="shipped")
    page = drawn.switch_page("pages/evaluate/evaluate.py").run()
    captions = [one.value for one in page.caption]
    assert captions.index(f"Is it real? {told}") < captions.index(shipped.ABOUT)


def test_hidden_names_and_own_documents_have_no_line(drawn, monkeypatch):
    drawn.session_state["presenting"] = True
    assert "judged questions" not in text(html(drawn.run()))
    drawn.session_state["presenting"] = False
    monkeypatch.setattr(corpora, "chosen", lambda: "ward")
    assert "judged questions" not in text(html(drawn.run()))


def test_a_trace_that_ran_as_measured_has_its_score(lab):
    score = STORED.strategies["bm25_tuned"].metrics["ndcg@10"]
    trace = lab.run("When is labour induced?", "bm25@tuned")
    assert shipped.measured(trace) == (score.mean, score.ci_low, score.ci_high)
    assert shipped.measured(lab.run("When is labour induced?", "bm25", k1=1.2)) is None


@pytest.mark.parametrize(
    ("role", "strategy", "holds"),
    [
        ("rewriter", "bm25", True),  # which writes no queries
        ("rewriter", "multi_query", False),
        ("answer_model", "multi_query", True),  # it writes no ranking
        ("embedding_model", "bm25", False),
        ("index_content", "bm25", False),
        ("enriched_index", "bm25", True),
        ("enriched_index", "contextual", False),
    ],
)
def test_another_model_or_index_takes_the_score_from_what_uses_it(lab, role, strategy, holds):
    trace = lab.run("When is labour induced?", strategy)
    other = replace(trace, engine={**trace.engine, role: "obstetrics, enriched, other"})
    assert (shipped.measured(other) is not None) is holds
