import pytest
from helpers.in_process import press
from streamlit.testing.v1 import AppTest

import rag_core

PAGES = {
    "tune": "pages/compare/tune.py",
    "strategies": "pages/strategies/strategies.py",
    "evaluate": "pages/evaluate/evaluate.py",
}


@pytest.fixture
def app(without_models: AppTest) -> AppTest:
    """The app with the hybrid's settings open."""
    app = without_models.run()
    app.selectbox(key="strategy.0").set_value("hybrid_rrf").run()
    return press(app, "Settings A")


def saved_as(app: AppTest, name: str, prefix: str = "0.hybrid_rrf") -> AppTest:
    app.text_input(key=f"{prefix}.save.name").set_value(name)
    app.button(key=f"{prefix}.save.now").click().run()
    assert not app.exception
    return app


def lam(app: AppTest, prefix: str = "0.hybrid_rrf") -> float:
    return float(app.slider(key=f"{prefix}.mmr_lambda").value)


def chosen(app: AppTest, key: str, name: str) -> AppTest:
    (pills,) = [one for one in app.get("button_group") if one.key == key]
    pills.set_value(name).run()
    assert not app.exception
    return app


def options(app: AppTest, key: str) -> list[str]:
    (pills,) = [one for one in app.get("button_group") if one.key == key]
    return [one.content for one in pills.proto.options]


def told(app: AppTest) -> str:
    return "\n".join(str(one.value) for one in (*app.error, *app.warning, *app.success))


def test_a_source_s_preset_chooses_its_model_where_that_is_offered(start, server):
    app = start(OPENAI_BASE_URL=server.url, RAG_MODELS="llama3.1:8b").run()
    app.selectbox(key="strategy.0").set_value("rag_msr").run()
    press(app, "Settings A")
    assert app.selectbox(key="0.runs.rewriter_model").value == ""
    chosen(app, "0.rag_msr.preset", "source")
    assert app.selectbox(key="0.runs.rewriter_model").value == "llama3.1:8b"
    assert app.slider(key="0.rag_msr.theta").value == 0.2


def test_a_column_saved_under_a_name_is_found_on_every_page(app):
    app.slider(key="0.hybrid_rrf.mmr_lambda").set_value(0.3).run()
    saved_as(app, "my own")
    assert "hybrid_rrf@my_own" in told(app)
    assert rag_core.build("hybrid_rrf@my_own") == rag_core.build(("hybrid_rrf", {"mmr_lambda": 0.3}))
    press(app, "Reset to defaults")
    assert lam(app) == 0.7
    app.slider(key="0.hybrid_rrf.rrf_k").set_value(5).run()
    chosen(app, "0.hybrid_rrf.preset", "my own")
    assert lam(app) == 0.3
    assert app.slider(key="0.hybrid_rrf.rrf_k").value == 60  # all of the setting, not what differs alone

    app.switch_page(PAGES["tune"]).run()
    chosen(app, "tune.hybrid_rrf.preset", "my own")
    assert lam(app, "tune.hybrid_rrf") == 0.3
    app.switch_page(PAGES["evaluate"]).run()
    offered = app.multiselect(key="run.compared")
    assert offered.options == ["my_own: Hybrid RRF + MMR · λ 0.3"]
    app.switch_page(PAGES["strategies"]).run()
    assert "my own" in options(app, "guide.hybrid_rrf")


def test_tune_saves_too_and_asks_before_it_replaces(app):
    saved_as(app, "mine")
    app.switch_page(PAGES["tune"]).run()
    prefix = "tune.hybrid_rrf"
    app.slider(key=f"{prefix}.mmr_lambda").set_value(0.2).run()
    saved_as(app, "mine", prefix)
    assert "already" in told(app)
    assert rag_core.build("hybrid_rrf@mine").controls["mmr_lambda"] == 0.7
    press(app, "Replace it")
    assert "Saved as" in told(app)
    assert rag_core.build("hybrid_rrf@mine").controls["mmr_lambda"] == 0.2
    saved_as(app, "tuned", prefix)
    assert "already" in told(app)
    assert "Replace it" not in [one.label for one in app.button]  # what comes with a strategy stays


def test_one_is_renamed_and_deleted_where_it_is_listed(app):
    saved_as(app, "mine")
    app.switch_page(PAGES["strategies"]).run()
    chosen(app, "guide.hybrid_rrf", "tuned")
    assert "Rename" not in [one.label for one in app.button]
    chosen(app, "guide.hybrid_rrf", "mine")
    app.text_input(key="guide.hybrid_rrf.edit.name").set_value("a,b")
    press(app, "Rename")
    assert "cannot be called" in told(app)
    app.text_input(key="guide.hybrid_rrf.edit.name").set_value("ours")
    press(app, "Rename")
    assert options(app, "guide.hybrid_rrf")[-1] == "ours"
    press(app, "Delete")
    assert "ours" not in options(app, "guide.hybrid_rrf")
    with pytest.raises(rag_core.RagError):
        rag_core.build("hybrid_rrf@ours")


def test_one_that_no_longer_fits_says_what_is_wrong_and_can_be_deleted(app, tmp_path):
    file = tmp_path / "home" / "presets.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text('{"version": 1, "presets": {"hybrid_rrf": {"old": {"gone": 1}}}}')
    chosen(app.run(), "0.hybrid_rrf.preset", "old")
    assert "no control 'gone'" in told(app)
    assert lam(app) == 0.7
    app.switch_page(PAGES["evaluate"]).run()
    assert "hybrid_rrf@old" in told(app)
    app.switch_page(PAGES["strategies"]).run()
    chosen(app, "guide.hybrid_rrf", "old")
    assert "no control 'gone'" in told(app)
    press(app, "Delete")
    assert "old" not in options(app, "guide.hybrid_rrf")


def test_a_damaged_file_is_told_on_every_page_and_kept(app, tmp_path):
    file = tmp_path / "home" / "presets.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text("{")
    app.run()
    assert "presets.json cannot be read" in told(app)
    saved_as(app, "mine")
    for page in PAGES.values():
        app.switch_page(page).run()
        assert not app.exception
        times = told(app).count("presets.json cannot be read")
        assert times == (len(rag_core.RECIPES) if page == PAGES["strategies"] else 1)  # once in each of its tabs
    assert file.read_text() == "{"
