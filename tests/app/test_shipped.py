"""The measurement that ships with the lab, on Compare: a line, and a figure at the head of the columns it holds for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.in_process import html, text
from helpers.stored_results import STORED
from streamlit.testing.v1 import AppTest

import rag_core
from pages.shared import corpora, shipped
from pages.shared.controls import DEFAULT_COLUMNS, SHOWN_COLUMNS
from pages.shared.engine import engine


def words(label: str) -> str:
    score = STORED.strategies[label].metrics["ndcg@10"]
    return f"{score.mean:.2f} ({score.ci_low:.2f}–{score.ci_high:.2f})"


def heads(app: AppTest) -> list[str]:
    """The figures at the heads of the columns."""
    drawn = [one.proto.body for one in app.get("html") if 'class="rl-measured"' in one.proto.body]
    return [text(one).partition("nDCG@10: how early")[0] for one in drawn]


def test_the_strategies_are_named_best_first_and_each_column_has_its_own_figure(drawn: AppTest) -> None:
    drawn.run()
    assert heads(drawn) == [
        f"Search quality {words(name)}, 334 questions" for name in DEFAULT_COLUMNS[:SHOWN_COLUMNS]
    ]
    means = {name: STORED.primary_means[name] for name in rag_core.RECIPES}
    first, second, third, *_ = sorted(means, key=lambda name: -means[name])
    assert first == "ensemble"
    line = ", ".join(f"{rag_core.RECIPES[name].title} {means[name]:.2f}" for name in (first, second, third))
    page = text(html(drawn))
    assert f"On 334 judged questions: {line} …" in page
    assert all(f"{recipe.title}{words(name)}" in page for name, recipe in rag_core.RECIPES.items())
    assert STORED.judged_by in page
    (link,) = [one.proto for one in drawn.get("page_link") if one.proto.label == "Is it real?"]
    assert (link.page, link.query_string) == ("evaluate", "view=results&run=shipped")


def test_a_column_that_runs_otherwise_than_measured_has_no_figure(drawn: AppTest) -> None:
    drawn.run()
    drawn.session_state["2.bm25.k1"] = 1.2  # was not measured
    drawn.session_state["0.runs.corpus"] = "ward"
    assert heads(drawn.run()) == [f"Search quality {words('hybrid_rrf')}, 334 questions"]
    drawn.session_state["2.bm25.k1"] = 1.5
    drawn.session_state["2.bm25.b"] = 0.25  # the tuned setting was measured too
    assert heads(drawn.run())[1] == f"Search quality {words('bm25_tuned')}, 334 questions"


def test_hidden_names_hide_the_figures(drawn: AppTest) -> None:
    drawn.session_state["presenting"] = True
    assert heads(drawn.run()) == []
    assert "judged questions" not in text(html(drawn))


@pytest.mark.parametrize(
    ("role", "kept"),
    [
        ("rewriter", ["hybrid_rrf", "bm25"]),  # which write no queries
        ("answer_model", ["multi_query", "hybrid_rrf", "bm25"]),  # it writes no ranking
        ("embedding_model", []),
        ("index_content", []),
    ],
)
def test_another_model_takes_the_figure_from_the_columns_that_use_it(
    drawn: AppTest, monkeypatch: pytest.MonkeyPatch, role: str, kept: list[str]
) -> None:
    lab = engine().lab
    assert lab is not None
    monkeypatch.setattr(type(lab), "engine", {**lab.engine, role: "another"})
    assert heads(drawn.run()) == [f"Search quality {words(name)}, 334 questions" for name in kept]


def test_own_documents_have_neither_line_nor_figure(drawn: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "chosen", lambda: "ward")
    drawn.run()
    assert heads(drawn) == []
    assert "judged questions" not in text(html(drawn))


def test_contextual_retrieval_has_its_figure_on_the_measured_contexts_alone(
    drawn: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn.session_state["strategy.0"] = "contextual"
    assert heads(drawn.run())[0] == f"Search quality {words('contextual')}, 334 questions"
    lab = engine().lab
    assert lab is not None
    monkeypatch.setattr(type(lab), "engine", {**lab.engine, "enriched_index": "obstetrics, enriched, other"})
    assert len(heads(drawn.run())) == SHOWN_COLUMNS - 1


def test_a_chosen_model_leaves_no_figure(drawn: AppTest) -> None:
    drawn.run()
    setup = rag_core.set_up("bm25")
    assert words("bm25") in shipped.figure(setup)
    assert shipped.figure(replace(setup, models=rag_core.set_up("bm25", model="gpt-4o").models)) == ""
