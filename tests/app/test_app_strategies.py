import json
from pathlib import Path

import pytest
from helpers.in_process import ask
from helpers.small import ROOT
from streamlit.testing.v1 import AppTest

import rag_core
from pages.frame.gate import PAGES
from rag_core.catalog import Choice, Number, PromptText, Recipe, Switch, Templates, Weights
from rag_core.explain import stage_title
from rag_core.stages import Bm25, Generate, Retrieve

TITLES = [recipe.title for recipe in rag_core.RECIPES.values()]


@pytest.fixture
def app(without_models: AppTest) -> AppTest:
    return without_models.run()


def chosen(app: AppTest, name: str) -> AppTest:
    """The first column set to a strategy, its settings open."""
    app.selectbox(key="strategy.0").set_value(name).run()
    app.button(key="settings.0").click().run()
    assert not app.exception
    return app


def test_every_control_of_every_strategy_has_its_widget(app):
    kinds = {
        Number: "slider",
        Switch: "toggle",
        Choice: "button_group",
        Weights: "slider",  # one a rewrite
        PromptText: "text_area",  # several boxes, their keys begin with the control's
        Templates: "text_area",
    }
    app.button(key="settings.0").click().run()
    missing = []
    for name, recipe in rag_core.RECIPES.items():
        app.selectbox(key="strategy.0").set_value(name).run()
        assert not app.exception
        for control in recipe.controls:
            key, kind = f"0.{name}.{control.name}", kinds[type(control)]
            if not any(f"{widget.key}.".startswith(f"{key}.") for widget in app.get(kind)):
                missing.append(f"{kind} {key}")
    assert not missing


def test_a_control_that_cannot_act_is_switched_off_and_says_why(app):
    chosen(app, "multi_query")
    assert not app.slider(key="0.multi_query.weight_step").disabled
    app.session_state["0.multi_query.weighting"] = "equal"
    step = app.run().slider(key="0.multi_query.weight_step")
    assert step.disabled
    assert "Acts only while “Weights of the rewrites” is set to linear." in step.help


def test_a_moved_weight_acts_at_once_from_the_weights_in_force(app):
    chosen(app, "multi_query")
    app.session_state["0.multi_query.weighting"] = "exponential"
    app.run()
    sliders = [app.slider(key=f"0.multi_query.query_weights.{place}") for place in range(3)]
    assert [(one.value, one.disabled) for one in sliders] == [
        (1.0, False),
        (0.9, False),
        (0.81, False),
    ]  # 0.9 ^ place
    sliders[2].set_value(0.2).run()
    assert app.session_state["0.multi_query.weighting"] == "custom"
    assert app.button_group(key="0.multi_query.weighting").value == "custom"
    assert app.session_state["0.multi_query.query_weights"] == (1.0, 0.9, 0.2)


def test_each_rewrite_has_a_named_slider_for_its_weight(app):
    app.session_state["0.multi_query.weighting"] = "custom"
    chosen(app, "multi_query")
    assert app.slider(key="0.multi_query.weight_step").disabled
    key = "0.multi_query.query_weights"
    sliders = [one for one in app.slider if str(one.key).startswith(f"{key}.")]
    assert [(one.label, one.value) for one in sliders] == [
        ("Weight 1: standalone", 1.0), ("Weight 2: synonyms", 0.95), ("Weight 3: expanded", 0.9),
    ]  # fmt: skip
    app.slider(key=f"{key}.1").set_value(0.3).run()
    assert app.session_state[key] == (1.0, 0.3, 0.9)
    for place in range(3):
        app.slider(key=f"{key}.{place}").set_value(0.0).run()
    assert any("query_weights must be" in error.value for error in app.error)
    app.button(key="0.multi_query.reset").click().run()
    assert [app.slider(key=f"{key}.{place}").value for place in range(3)] == [1.0, 0.95, 0.9]


def test_values_that_do_not_go_together_are_told(app):
    chosen(app, "contextual")
    app.slider(key="0.contextual.vector_weight").set_value(0.0)
    app.slider(key="0.contextual.bm25_weight").set_value(0.0).run()
    assert not app.exception
    assert any("Set at least one above 0" in error.value for error in app.error)


class TestTemplates:
    def names(self, app: AppTest) -> list[str]:
        return [one.name for one in app.session_state["0.multi_query.templates"]]

    def test_one_can_be_removed(self, app):
        chosen(app, "multi_query")
        app.button(key="0.multi_query.templates.1.synonyms.remove").click().run()
        assert not app.exception
        assert self.names(app) == ["standalone", "expanded"]

    def test_one_can_be_edited(self, app):
        chosen(app, "multi_query")
        key = "0.multi_query.templates.0.standalone.text"
        app.text_area(key=key).set_value("In Latin: {question}").run()
        assert not app.exception
        assert app.session_state["0.multi_query.templates"][0].text == "In Latin: {question}"

    def test_a_text_without_the_question_is_refused_and_the_earlier_one_stays(self, app):
        chosen(app, "multi_query")
        key = "0.multi_query.templates.0.standalone.text"
        app.text_area(key=key).set_value("In Latin").run()
        assert any("must contain {question}" in error.value for error in app.error)
        assert self.names(app) == ["standalone", "synonyms", "expanded"]
        assert "{question}" in app.session_state["0.multi_query.templates"][0].text


class TestGuide:
    def test_every_strategy_is_drawn_with_its_stages_and_controls(self, app):
        guide = app.switch_page("pages/strategies/strategies.py").run()
        assert not guide.exception
        assert [tab.label for tab in guide.tabs] == TITLES
        drawn = " ".join(str(one.proto.body) for one in guide.get("html"))
        for recipe in rag_core.RECIPES.values():
            for stage in recipe.build().stages:
                titles = [stage_title(part) for part in stage.name.split(" ∥ ")]
                assert all(f"<b>{title}</b>" in drawn for title in titles), titles
            assert all(f"{control.title}<br><small>{control.name}</small>" in drawn for control in recipe.controls)

    def test_the_claims_stand_beside_the_stored_figures(self, app):
        guide = app.switch_page("pages/strategies/strategies.py").run()
        drawn = " ".join(str(one.proto.body) for one in guide.get("html"))
        stored = json.loads(Path(ROOT / "data" / "results.json").read_text(encoding="utf-8"))["strategies"]
        for label in ("msr_origin", "msr_raw", "msr_reformulation", "msr_reranking"):
            assert f"{stored[label]['metrics']['ndcg@10']['mean']:.3f}" in drawn
        for claim in ("0.918", "0.868", "0.849", "0.763", "0.50"):
            assert claim in drawn
        assert f"Recall@10 {stored['multi_query']['metrics']['recall@10']['mean']:.3f}" in drawn


def test_a_strategy_of_a_package_is_offered_on_every_page_and_answers_on_compare(drawn, request):
    """It is in no measurement that ships with the lab."""
    skip = Recipe(
        "ward_skip", "Ward", "Keyword search for three passages.", "Our ward.", (), lambda _: (Retrieve((Bm25(k=3),)), Generate()),
        "Anything.", "Nothing.", {"answer": 1},
    )  # fmt: skip
    rag_core.register(skip)
    request.addfinalizer(lambda: rag_core.unregister(skip.name))
    drawn.run()
    for _, script, _ in PAGES:
        drawn.switch_page(script)
        for view in ("", "results", "search-settings", "runs") if "evaluate" in script else ("",):
            drawn.query_params["view"] = view
            assert not drawn.run().exception, (script, view)
        if "strategies" in script:
            assert "Ward" in [tab.label for tab in drawn.tabs]
    drawn.switch_page(PAGES[0][1]).run()
    drawn.selectbox(key="strategy.0").set_value(skip.name).run()
    ask(drawn, "When is labour induced?")
    assert drawn.session_state["run"].columns[0].trace.strategy == skip.name


def test_a_column_that_reranks_chooses_its_reranker(start):
    app = start(RAG_RERANKER="auto,some/cross-encoder").run()
    chosen(app, "bm25")
    key = "0.runs.reranker"
    assert not [one for one in app.selectbox if one.key == key]
    app.selectbox(key="strategy.0").set_value("ensemble").run()
    box = app.selectbox(key=key)
    assert box.options == ["As in the settings (offline scorer)", "offline scorer", "some/cross-encoder"]
    box.set_value("some/cross-encoder").run()
    assert any("reranker: some/cross-encoder" in one.proto.body for one in app.get("html"))
    app.toggle(key="0.ensemble.rerank").set_value(False).run()
    assert app.selectbox(key=key).disabled
