import itertools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from helpers.beir import beir_folder
from helpers.browser import errors_of, tab
from helpers.in_process import press, visitor
from helpers.small import DOCUMENTS, ROOT
from playwright.sync_api import Browser, Locator, Page, expect
from streamlit.testing.v1 import AppTest

from pages.evaluate import plots
from pages.shared.measuring import jobs
from rag_core import evaluation as ev
from rag_core.jobs import Jobs, start_run
from rag_core.lab.lab import Lab
from rag_core.values.settings import Settings

LONG = "a" * 300  # longer than a file's name can be
MEASURED_S = 120  # the machine may be busy
MEASURED_MS = 1000 * MEASURED_S


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small BEIR folder: measuring it takes no time."""
    words = [line.strip() for one in DOCUMENTS for line in one.text.split(".") if line.strip()]
    asked = [(f"q{i}", text, {DOCUMENTS[i % len(DOCUMENTS)].id: 1}) for i, text in enumerate(words * 2)]
    return beir_folder(tmp_path_factory.mktemp("sets") / "animals", asked)


@pytest.fixture(scope="module")
def app(lab: Lab, own: str, own_home: Path, folder: Path) -> str:
    """The app, where the small folder was measured."""
    data, settings = str(folder), Settings(home=own_home, llm="offline")
    strategies = {name: name for name in ("bm25", "simple_semantic", "hybrid_rrf")}

    def opened(consent: Callable[[ev.CostEstimate], None]) -> Lab:
        return ev.open_judged(data, settings, engines=lab.engines, consent=consent)

    job = start_run(Jobs(), opened, settings, data, "test", strategies, None, list(ev.DEFAULT_METRICS))
    assert job.wait(MEASURED_S)
    return own


def page_at(browser: Browser, address: str, width: int = 1440) -> tuple[Page, list[str]]:
    context = browser.new_context(viewport={"width": width, "height": 1000})
    context.set_default_timeout(60_000)  # the machine may be busy
    page = context.new_page()
    errors = errors_of(page)
    page.goto(address)
    return page, errors


def view(page: Page, name: str) -> Locator:
    """What shows a view of Evaluate."""
    return page.locator(".st-key-evaluate-view").get_by_text(name, exact=True)


@pytest.mark.browser
def test_results_fit_a_phone_and_a_row_of_a_table_opens_what_it_names(browser, app):
    page, errors = page_at(browser, f"{app}/evaluate?view=results")
    charts = page.locator(".js-plotly-plot")
    expect(charts).to_have_count(3, timeout=MEASURED_MS)  # intervals, pairs, front
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1440, "height": 1000})

    page.get_by_role("tab", name="Question by question").click()
    for verdict in ("better", "different", "same"):
        page.get_by_test_id("stButtonGroup").get_by_text(verdict, exact=False).first.click()
    table = page.get_by_test_id("stDataFrame").last
    table.hover()
    tools = page.get_by_test_id("stElementToolbar").last
    expect(tools.get_by_label("Search")).to_be_visible()
    expect(tools.locator("[aria-label^='Download as CSV']")).to_be_hidden()  # it could not carry our notice
    table.click(position={"x": 15, "y": 55})  # the box before the first question
    expect(page.locator(".rl-stage").first).to_be_visible()
    expect(page.locator(".rl-label", has_text="grade").first).to_be_visible()

    view(page, "Runs").click()
    expect(page.get_by_text("Choose one run to see its results")).to_be_visible()
    runs = page.get_by_test_id("stDataFrame")
    expect(runs).to_have_count(1)  # the tables of the results are gone
    expect(runs.locator("canvas").first).to_be_visible()
    runs.click(position={"x": 15, "y": 55})
    page.get_by_role("button", name="See its results").click()
    expect(page.get_by_role("tab", name="Figures")).to_be_visible()
    expect(page).to_have_url(re.compile("view=results&run="))
    assert errors == []
    page.context.close()


def progress_of(page: Page) -> int:
    """How many of the 1,002 records (334 questions by 3 strategies) are there."""
    line = page.get_by_text(re.compile(r"measuring [\d,]+ of 1,002"))
    expect(line).to_be_visible(timeout=MEASURED_MS)
    found = re.search(r"measuring ([\d,]+) of 1,002", line.inner_text())
    assert found
    return int(found[1].replace(",", ""))


@pytest.mark.browser
def test_a_measurement_belongs_to_the_server(browser, app):
    """Found again after a reload and from another browser, stopped there, continued here."""
    page, errors = page_at(browser, f"{app}/evaluate")
    measure = page.get_by_role("button", name="Measure", exact=True)
    expect(measure).to_be_visible(timeout=MEASURED_MS)
    measure.click()
    progress_of(page)
    page.reload()
    before = progress_of(page)
    expect(page.get_by_role("button", name="Stop")).to_be_enabled()

    other, other_errors = page_at(browser, f"{app}/evaluate", width=390)
    assert progress_of(other) >= before
    other.get_by_role("button", name="Measure", exact=True).click()
    expect(other.get_by_text("already running on this server")).to_be_visible()
    expect(other.get_by_role("button", name="Stop")).to_have_count(1)
    other.get_by_role("button", name="Stop").click()
    for each in (other, page):
        expect(each.get_by_text("Stopped. What was measured is kept")).to_be_visible(timeout=MEASURED_MS)

    measure.click()
    assert progress_of(page) >= before, "it continues where it was stopped"
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0, timeout=MEASURED_MS)
    expect(page.get_by_text("Stopped. What was measured is kept")).to_be_visible(timeout=MEASURED_MS)
    page.get_by_role("button", name="Dismiss").first.click()  # the newest stands first
    for each in (other, page):
        expect(each.get_by_text("Stopped. What was measured is kept")).to_have_count(0)
    assert errors == other_errors == []
    page.context.close()
    other.context.close()


def at(app: AppTest, view: str, **parameters: list[str]) -> AppTest:
    app.switch_page("pages/evaluate/evaluate.py")
    app.query_params["view"] = view
    for name, values in parameters.items():
        app.query_params[name] = values
    app.run()
    assert not app.exception
    return app


@pytest.fixture
def measuring(start: Callable[..., AppTest], real_home: Path, tmp_path: Path, folder: Path) -> AppTest:
    """The app in this process, on a state folder of its own; its operator named the small folder and a missing one."""
    shutil.copytree(real_home / "corpora", tmp_path / "home" / "corpora")
    return start(
        RAG_HOME=str(tmp_path / "home"), RAG_BENCHMARKS=f"{folder}, {folder / 'missing'}, {folder / LONG}"
    ).run()


def in_folder(app: AppTest, key: str, folder: Path) -> AppTest:
    return app.selectbox(key=f"{key}.data").set_value(folder.name).run()


def test_measuring_from_nothing_to_single_questions(measuring, folder):
    app = at(measuring, "results")
    stored = ev.Results.read(ROOT / "data" / "results.json")
    assert list(app.selectbox(key="results.run").options) == ["Shipped with the lab"]
    assert any("**334 questions**" in one.value for one in app.markdown)
    assert stored.judged_by in [one.value for one in app.caption]
    table = app.dataframe[0].value.set_index("strategy")
    best = stored.strategies["ensemble"].metrics["ndcg@10"]
    assert table.loc["Ensemble (ours)", "interval"] == f"{best.ci_low:.3f}–{best.ci_high:.3f}"
    assert len(table) == len(stored.strategies)
    app.session_state["results.part"] = "Kinds of questions"
    assert len(app.run().get("plotly_chart")) == 2  # by kind and by language
    app = in_folder(at(app, "measure"), "run", folder / "missing")
    press(app, "Measure")
    assert ["missing" in one.value and str(folder) not in one.value for one in app.error] == [True]
    press(in_folder(app, "run", folder / LONG), "Measure")
    assert ["There is no folder" in one.value for one in app.error] == [True]
    press(in_folder(app, "run", folder), "Measure")
    (job,) = jobs().all("run")
    assert job.wait(MEASURED_S)
    app.run()
    assert any("done." in one.value for one in app.success)
    assert any("Judged by the set's authors" in one.value for one in app.caption)
    (link,) = (one.proto for one in app.get("page_link") if one.proto.label == "See the results")
    app = at(app, "results", run=parse_qs(link.query_string)["run"])
    assert any("**16 questions**" in one.value for one in app.markdown)
    assert len(app.get("plotly_chart")) == 3  # only the open tab is drawn
    app.session_state["results.part"] = "Kinds of questions"
    assert len(app.run().get("plotly_chart")) == 1
    app.session_state["results.part"] = "Stage by stage"
    assert len(app.run().dataframe) == 3  # one a strategy
    cells = [str(cell) for table in app.dataframe for cell in table.value.to_numpy().ravel()]
    assert any(re.fullmatch(r"\([+-]\d\.\d{3} to [+-]\d\.\d{3}\)", cell) for cell in cells)
    assert not [cell for cell in cells if cell.startswith("'")]  # no figure needs the guard against formulas


def test_tuning_ends_in_the_compare_page(measuring, folder):
    app = in_folder(at(measuring, "search-settings"), "sweep", folder)
    assert "Nothing has been searched yet." in [one.value for one in app.info]
    app.selectbox(key="sweep.strategy").set_value("bm25").run()
    assert not [one for one in app.slider if "k_final" in one.label]  # counts are kept unless they are added
    app.selectbox(key="sweep.strategy").set_value("hybrid_rrf").run()
    app.selectbox(key="sweep.most").set_value(100).run()
    app.button(key="sweep.start").click().run()
    (job,) = jobs().all("sweep")
    assert job.wait(MEASURED_S)
    app.run()
    assert not app.exception
    (winner,) = (one.value for one in app.markdown if "Winner:" in one.value)
    assert [re.search(r"(\d+) of \1 gave exactly", one.value) is not None for one in app.caption if "gave exactly" in one.value] == [True]  # fmt: skip
    assert len(app.get("plotly_chart")) == 3
    (link,) = (one.proto for one in app.get("page_link") if one.proto.label == "Open the winner in Compare")
    compare = visitor()
    for name, values in parse_qs(link.query_string).items():
        compare.query_params[name] = values
    wanted = re.search(r"λ ([\d.]*\d)", winner)
    assert wanted, winner
    compare.run().button(key="settings.0").click().run()
    assert compare.slider(key="0.hybrid_rrf.mmr_lambda").value == float(wanted[1])


@pytest.mark.parametrize("named", ["bm25", "BM25 keywords", "Palabras clave (BM25)"])
def test_an_address_names_strategies_for_readers_of_every_language(measuring, named):
    app = at(measuring, "measure", strategies=["ensemble", named, "unknown"])
    assert app.multiselect(key="strategies").value == ["ensemble", "bm25"]
    assert app.query_params["strategies"] == ["ensemble", "bm25"]
    app.multiselect(key="strategies").set_value(["hyde"]).run()
    assert app.query_params["strategies"] == "hyde"
    assert app.multiselect(key="strategies").value == ["hyde"]
    app.multiselect(key="strategies").set_value(["bm25", "simple_semantic", "hybrid_rrf"]).run()
    assert "strategies" not in app.query_params  # as at first


@pytest.mark.browser
def test_the_choice_to_measure_survives_other_pages_and_a_reload(browser, app):
    page, errors = page_at(browser, f"{app}/evaluate")
    chosen = page.get_by_test_id("stMultiSelect").filter(has_text="Strategies")
    expect(chosen.get_by_text("Simple semantic")).to_be_visible(timeout=MEASURED_MS)
    chosen.get_by_role("button", name="Remove Simple semantic").or_(
        chosen.locator("[data-baseweb=tag]", has_text="Simple semantic").get_by_role("presentation").last
    ).first.click()
    expect(chosen.get_by_text("Simple semantic")).to_have_count(0)
    split = page.get_by_role("combobox", name="Split")
    split.click()
    expect(page.get_by_role("option")).to_have_text(["dev", "test"])  # those that exist
    page.get_by_role("option", name="dev").click()
    page.wait_for_url("**split=dev**")  # the server knows it; who leaves sooner leaves it behind
    tab(page, "History").click()
    expect(page.get_by_role("heading", name="Questions asked")).to_be_visible()
    tab(page, "Evaluate").click()
    expect(split).to_have_value("dev")
    view(page, "Runs").click()
    expect(page.get_by_text("Choose one run to see its results")).to_be_visible()
    expect(page).to_have_url(f"{app}/evaluate?view=runs")  # nothing of the other view's
    view(page, "Measure").click()
    expect(split).to_have_value("dev")
    expect(chosen.get_by_text("BM25 keywords")).to_be_visible()
    expect(chosen.get_by_text("Simple semantic")).to_have_count(0)
    page.reload()
    expect(split).to_have_value("dev", timeout=MEASURED_MS)
    expect(chosen.get_by_text("BM25 keywords")).to_be_visible()
    expect(chosen.get_by_text("Simple semantic")).to_have_count(0)
    assert errors == []
    page.context.close()


CLOSE = [("Hybrid RRF + MMR · λ 0.3, passages used 8", 0.612, 0.021), ("Hybrid RRF + MMR", 0.611, 0.0212),
         ("Simple semantic", 0.610, 0.0205), ("Contextual retrieval · passages with context off, reranking on, candidates 20", 0.7, 0.4),
         ("BM25 keywords", 0.6115, 0.0208)]  # fmt: skip


@pytest.mark.browser
def test_names_of_close_points_do_not_lie_over_each_other(browser):
    points = [
        ev.Point(name, mean, seconds, cost_usd=0.0, front=place < 2)
        for place, (name, mean, seconds) in enumerate(CLOSE)
    ]
    figure = plots.pareto(points, "nDCG@10").to_html(include_plotlyjs=True, config={"responsive": True})
    for width in (1440, 390):
        page = browser.new_page(viewport={"width": width, "height": 1000})
        page.set_content(figure)
        names = page.locator(".textpoint text, .legendtext")
        expect(names.filter(has_text="BM25 keywords")).to_be_visible(timeout=MEASURED_MS)
        boxes = [box for box in (names.nth(place).bounding_box() for place in range(names.count())) if box]
        assert len(boxes) == len(CLOSE) + 1, "every strategy and the front are named"
        for one, other in itertools.combinations(boxes, 2):
            apart = (
                one["x"] + one["width"] <= other["x"] + 1
                or other["x"] + other["width"] <= one["x"] + 1
                or one["y"] + one["height"] <= other["y"] + 1
                or other["y"] + other["height"] <= one["y"] + 1
            )
            assert apart, (width, one, other)
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes)
        page.close()
