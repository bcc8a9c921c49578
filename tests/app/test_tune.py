"""Tune in a real browser: a control is moved, and what it changes stands there without a model call."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS, ENGLISH, Visit
from helpers.in_process import ask, html, press, text
from playwright.sync_api import Browser, Locator, Page, expect
from streamlit.testing.v1 import AppTest

import rag_core
from rag_core import evaluation as ev

JUDGED = "Should inhaled steroids be continued when a woman with asthma becomes pregnant?"
FREE = re.compile(r"^0 model calls, [\d.]+ ms")
# the sum of all layout shifts from now on, also of those soon after an input
SHIFTS = """() => {
  window.shift = 0;
  new PerformanceObserver(list => list.getEntries().forEach(one => { window.shift += one.value; }))
    .observe({type: 'layout-shift', buffered: false});
}"""


def counter(page: Page) -> Locator:
    return page.locator(".rl-counter")


def slider(page: Page, control: str) -> Locator:
    return page.get_by_role("slider", name=control)


def used(page: Page) -> list[str]:
    return page.locator(".rl-changes ol .rl-cut-title").all_inner_texts()


def set_in_address(page: Page, control: str) -> list[str]:
    return parse_qs(urlsplit(page.url).query).get(f"1.{control}", [])


def settle(page: Page) -> None:
    """Wait for the tipping points: then nothing more is drawn on its own."""
    expect(page.locator(".rl-knob-note span").first).to_be_visible(timeout=ANSWER_MS)


def run(visit: Visit) -> None:
    visit.type(ENGLISH)
    visit.run()
    expect(counter(visit.page)).to_have_text(FREE, timeout=ANSWER_MS)


def move(page: Page, control: str, key: str, times: int, value: str) -> None:
    """Move a slider by the keyboard; the page has taken it when its address has the value."""
    for _ in range(times):
        slider(page, control).press(key)
    expect(slider(page, control)).to_have_value(value)
    page.wait_for_url(re.compile(rf"1\.{control}={re.escape(value)}(\.0)?(&|$)"))


@pytest.fixture
def tune(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, f"{app}/tune", width=1440, height=900)
    yield visit
    visit.context.close()


@pytest.mark.browser
def test_a_moved_control_redraws_the_ranks_and_a_kept_setting_is_a_column_of_compare(tune):
    page = tune.page
    run(tune)
    settle(page)
    first = used(page)
    assert len(first) == 5
    for control in page.locator(".st-key-tune-controls").get_by_test_id("stSlider").all():
        control.scroll_into_view_if_needed()
        expect(control).to_be_in_viewport()
        expect(page.locator(".rl-changes ol")).to_be_in_viewport(ratio=1)
        expect(counter(page)).to_be_in_viewport(ratio=1)
    expect(counter(page)).to_contain_text("same passages, same order")
    page.evaluate(SHIFTS)
    move(page, "mmr_lambda", "ArrowLeft", 14, "0")
    expect(counter(page)).to_have_text(FREE)
    expect(counter(page)).not_to_contain_text("same passages, same order")
    settle(page)
    then = used(page)
    assert then != first
    gone = page.locator(".rl-changes .rl-left")
    assert gone.locator(".rl-cut-title").all_inner_texts() == [one for one in first if one not in then]
    for why in gone.locator("small").all_inner_texts():
        assert why.startswith("cut by MMR")
    assert page.evaluate("window.shift") < 0.1

    page.get_by_role("button", name="Pin as baseline").click()
    expect(counter(page)).to_contain_text("against the baseline (λ 0): same passages, same order")
    move(page, "mmr_lambda", "ArrowRight", 10, "0.5")
    expect(counter(page)).to_contain_text("against the baseline (λ 0)")

    page.reload()
    expect(counter(page)).to_contain_text("against the baseline (λ 0)", timeout=ANSWER_MS)
    expect(slider(page, "mmr_lambda")).to_have_value("0.5")
    assert set_in_address(page, "mmr_lambda") == ["0.5"]

    settle(page)
    keep = page.get_by_role("button", name="Keep as a column")
    keep.click()
    expect(keep).to_be_disabled()  # one column a setting
    move(page, "k_final", "ArrowLeft", 2, "3")
    keep.click()
    page.get_by_role("link", name="Open Compare (2 columns kept)").click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    expect(page.locator(".rl-chip")).to_have_text(["changed: λ 0.5", "changed: λ 0.5, passages used 3"])


@pytest.mark.browser
def test_on_a_phone_the_counter_stays_in_view_and_nothing_scrolls_sideways(browser, app):
    visit = Visit(browser, f"{app}/tune", width=390, height=844)
    page = visit.page
    run(visit)
    slider(page, "mmr_lambda").scroll_into_view_if_needed()
    move(page, "mmr_lambda", "ArrowLeft", 1, "0.65")
    expect(counter(page)).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    visit.context.close()


def test_a_moved_weight_reorders_the_cards_and_stands_beside_its_rewrite(drawn):
    app = on_tune(drawn)
    app.selectbox(key="tune.strategy").set_value("multi_query").run()
    ask(app, ENGLISH)
    assert weights(app) == ["1", "0.95", "0.9"]  # 1 − 0.05 · position
    before = listed(app)
    app.slider(key="tune.multi_query.query_weights.0").set_value(0.0).run()
    assert FREE.match(counted(app))
    assert weights(app) == ["0", "0.95", "0.9"]
    assert listed(app) != before
    assert listed(app) == ranked(app)


def test_a_move_shows_whether_it_helps(drawn):
    app = on_tune(drawn)
    app.selectbox(key="tune.strategy").set_value("bm25").run()
    ask(app, JUDGED)
    settings = rag_core.read_settings()

    def helps() -> str:
        return text("<p" + html(app).partition('class="rl-helps')[2].partition("</p>")[0])

    def ndcg(k: int) -> str:
        trace = app.session_state["tune.bench"].answered()
        assert len(trace.ranking) == k
        return f"nDCG@{k} {ev.quality_of(trace, settings)[f'ndcg@{k}']:.2f}"

    assert "copied from their sources, which may not answer you" in text(html(app))
    assert "Baseline" not in helps()
    assert re.search(r"Now (answers|does not answer|answer in part|declines|may do harm)", helps())
    before = ndcg(5)
    assert before in helps()
    app.slider(key="tune.bm25.k_final").set_value(8).run()
    assert f"{before} → {ndcg(8)}" in helps()
    assert "Baseline" in helps()
    used = html(app).partition('class="rl-changes')[2].partition("</ol>")[0]
    entered = [one for one in used.split("<li") if "rl-entered" in one]
    assert len(entered) == 3
    assert all(re.search(r"rl-cut-title.*rl-label rl-(high|medium|low)", one) for one in entered)
    app.slider(key="tune.bm25.k_final").set_value(4).run()
    assert "cut by the 4-passage limit" in text(html(app))


def test_what_acts_at_once_stands_above_what_needs_run(drawn):
    app = on_tune(drawn)
    app.selectbox(key="tune.strategy").set_value("rag_msr").run()
    ask(app, ENGLISH)
    keys = [str(one.key) for one in app.slider]
    at_once = [keys.index(f"tune.rag_msr.{name}") for name in ("alpha", "theta")]
    assert max(at_once) < keys.index("tune.rag_msr.rewriter_temperature")


def test_with_a_language_model_nothing_is_sent_before_run(start, server):
    found = (
        "Contractions",
        "Waters that break",
        "Bleeding in labour",
        "A hospital bag",
    )  # by rewrites unlike one another
    server.choose = lambda body: Reply(f"{found[len(server.requests) % 4]} [1].")
    app = on_tune(start(OPENAI_BASE_URL=server.url))
    app.selectbox(key="tune.strategy").set_value("multi_query").run()
    ask(app, ENGLISH)
    sent = len(server.requests)
    assert sent == 3 + 1  # the rewrites and the answer
    assert "was written for an earlier ranking" not in text(html(app))

    app.slider(key="tune.multi_query.k_final").set_value(5).run()
    assert FREE.match(counted(app))
    assert "This answer was written for an earlier ranking (the defaults)." in text(html(app))
    assert listed(app) == ranked(app)
    assert len(listed(app)) == 5
    assert 'id="c0-p8"' in html(app)  # a citation of the answer opens what it was written from
    # the temperature and the templates
    assert text(html(app)).count("May need Run: 3 rewriting calls") == 2
    app.slider(key="tune.multi_query.rewriter_temperature").set_value(0.35).run()
    assert "This setting needs a run: 3 rewriting calls" in counted(app)
    assert len(server.requests) == sent

    server.choose = lambda body: Reply("Call your midwife now [1].")
    press(app, "Run this setting")
    assert "Call your midwife now" in text(html(app))
    assert FREE.match(counted(app))
    assert len(server.requests) == sent + 3 + 1


def test_a_column_of_compare_is_tuned_with_what_was_run(start, server):
    app = start(OPENAI_BASE_URL=server.url, RAG_MODELS="gpt-4o-mini").run()
    for name, values in {
        "s": ["bm25", "hybrid_rrf"],
        "2.mmr_lambda": "0.5",
        "2.model": "gpt-4o-mini",
    }.items():
        app.query_params[name] = values
    ask(app.run(), ENGLISH)
    sent = len(server.requests)
    assert sent == 2  # an answer each
    tuned = tune_this(app, 1, app)
    assert tuned.slider(key="tune.hybrid_rrf.mmr_lambda").value == 0.5
    assert counted(tuned).startswith("0 model calls")
    assert [one.value for one in tuned.caption if "gpt-4o-mini" in one.value] == ["model: gpt-4o-mini"]
    tuned.slider(key="tune.hybrid_rrf.mmr_lambda").set_value(0.6).run()
    press(tuned, "Keep as a column")
    assert len(server.requests) == sent
    press(tuned, "Run this setting")
    assert len(server.requests) == sent + 1
    assert server.requests[-1].body["model"] == "gpt-4o-mini"

    tuned.query_params.clear()
    back = tuned.switch_page("pages/compare/compare.py").run()
    assert [back.selectbox(key=f"strategy.{place}").value for place in range(3)] == [
        "bm25", "hybrid_rrf", "hybrid_rrf",
    ]  # fmt: skip
    assert [back.session_state[f"{place}.hybrid_rrf.mmr_lambda"] for place in (1, 2)] == [0.5, 0.6]
    assert html(back).count('class="rl-passages"') == 2  # the comparison as it was


def test_a_link_to_a_tuned_column_is_opened_by_another_server(start, tmp_path):
    database = {"RAG_HISTORY": "on", "RAG_DATABASE_URL": f"sqlite:///{tmp_path / 'history.db'}"}
    app = ask(start(**database).run(), ENGLISH)
    other = tune_this(app, 2, start(**database).run())
    assert counted(other).startswith("0 model calls")
    assert f"Results for: {ENGLISH}" in text(html(other))
    history = other.switch_page("pages/history/history.py").run()
    press(history, "Delete it for good")
    gone = tune_this(app, 2, history)
    assert ["no longer stored" in one.value for one in gone.info] == [True]


def tune_this(compared: AppTest, column: int, app: AppTest) -> AppTest:
    """Follow the link of a column of `compared` in a visit."""
    links = [one.proto for one in compared.get("page_link") if one.proto.label == "Tune this"]
    parameters = parse_qs(links[column].query_string)
    app.switch_page("pages/compare/tune.py")
    for name, values in parameters.items():
        app.query_params[name] = values
    app.run()
    assert not app.exception
    return app


def on_tune(app: AppTest) -> AppTest:
    return app.run().switch_page("pages/compare/tune.py").run()


def weights(app: AppTest) -> list[str]:
    return re.findall(r"weight ([\d.]+)", html(app).partition('class="rl-rewrites"')[2].partition("</ul>")[0])


def ranked(app: AppTest) -> list[str]:
    """The titles in the list of moves that are used."""
    used = html(app).partition('class="rl-changes')[2].partition("</ol>")[0]
    return re.findall(r'class="rl-cut-title">([^<]*)<', used)


def listed(app: AppTest) -> list[str]:
    """The titles of the cards that open, in their order."""
    shown = html(app).partition('class="rl-passages"')[2].partition("<div popover")[0]
    return re.findall(r'<span class="rl-title">([^<]*)<', shown)


def counted(app: AppTest) -> str:
    """The line that counts model calls."""
    assert not app.exception
    return text("<p" + html(app).partition('class="rl-counter')[2].partition("</p>")[0])
