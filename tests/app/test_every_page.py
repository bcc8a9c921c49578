"""Every page: its address, its heading, our notice, no violation, no sideways scroll; before the models are there too."""

import re
from threading import Event

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import ANSWER_MS, ENGLISH, errors_of, tab, wait_until_drawn
from helpers.in_process import fresh, html, text, visitor
from helpers.small import ROOT
from playwright.sync_api import Page, expect

from pages.frame.gate import PAGES
from pages.shared.engine import engine
from rag_core import NOTICE

GRAVE = ("serious", "critical")
DESK, PHONE = {"width": 1440, "height": 900}, {"width": 390, "height": 844}
MAIN = "document.querySelector('[data-testid=stMain]')"


def heading_of(script: str) -> str:
    found = re.search(
        r'(?:st\.header\(|rooms\.page\("\w+", )(?:label\(|t\()*"([^"]+)"', (ROOT / script).read_text(encoding="utf-8")
    )
    assert found, script
    return found[1]


HEADINGS = {path: heading_of(script) for path, script, _ in PAGES}
VIEWS = (
    "evaluate?view=results",
    "evaluate?view=search-settings",
    "evaluate?view=runs",
    "documents?view=add",
    "documents?view=exam",
)


def violations(page: Page) -> list[str]:
    """Rule and place of each grave violation that axe-core finds in what this app draws, once it is drawn.

    Streamlit fades what a redraw has not reached yet, and faded text has too little contrast.
    Contrast of both themes is also computed in test_palette.
    """
    wait_until_drawn(page)
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['html'][:160]}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


def uncovered_notice(page: Page) -> bool:
    """Whether our notice is on screen, scrolled up and down, and nothing covers it."""
    notice = page.locator(".rl-framing")
    for to in ("0", f"{MAIN}.scrollHeight"):
        page.evaluate(f"{MAIN}.scrollTo(0, {to})")
        expect(notice).to_be_in_viewport(ratio=1)
        box = notice.bounding_box()
        assert box
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if not page.evaluate(f"document.elementFromPoint({x}, {y}).closest('.rl-framing') !== null"):
            return False
    return True


@pytest.mark.browser
def test_every_page_at_its_address_in_both_sizes(browser, app):
    """In English and dark; a comparison and Tune are looked at in Spanish and light."""
    context = browser.new_context(locale="en-GB", color_scheme="dark", viewport=DESK, reduced_motion="reduce")
    page = context.new_page()
    errors = errors_of(page)
    faults = {}
    for path in (*HEADINGS, *VIEWS):
        heading = HEADINGS[path.partition("?")[0]]
        page.goto(f"{app}/{path}")
        expect(page.locator(".rl-dot")).to_have_count(
            1, timeout=ANSWER_MS
        )  # the old stands beside the new for a moment
        wait_until_drawn(page)
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page.locator(".rl-framing")).to_contain_text(NOTICE)
        found: list[object] = [*violations(page)]
        for size in (PHONE, DESK):
            page.set_viewport_size(size)  # type: ignore[arg-type]
            if not uncovered_notice(page):
                found.append(f"something covers our notice, {size['width']} wide")
            if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
                found.append(f"it scrolls sideways, {size['width']} wide")
        if page.url != f"{app}/{path}":
            found.append(f"its address became {page.url}")
        if found:
            faults[path or "compare"] = found
    assert faults == {}
    assert errors == []
    context.close()


@pytest.mark.browser
def test_a_comparison_and_tune_have_no_grave_violation(browser, app):
    context = browser.new_context(locale="es-ES", color_scheme="light", viewport=DESK, reduced_motion="reduce")
    page = context.new_page()
    page.goto(app)
    expect(page.locator(".rl-dot")).to_have_count(1, timeout=ANSWER_MS)
    page.locator(".st-key-question textarea").fill(ENGLISH)
    page.locator(".st-key-run-buttons button").first.click()
    expect(page.locator(".rl-support")).to_have_count(3, timeout=ANSWER_MS)
    expect(page.locator(".st-key-verdict-why button").first).to_be_visible(timeout=ANSWER_MS)
    wait_until_drawn(page)  # the verdict is the last to come, and moves what is below it
    page.locator(".rl-passage summary").first.click()
    page.get_by_test_id("stExpander").locator("summary").first.click()  # how it got here
    expect(page.locator(".rl-stages").first).to_be_visible()
    assert violations(page) == []
    dialog = page.get_by_role("dialog")
    # The first takes its focused button away when the table is drawn anew; the keys work all the same.
    for opener in (".rl-absent button", ".st-key-verdict-why button"):
        page.locator(opener).first.click()
        expect(dialog.locator("h4")).to_have_count(3)
        wait_until_drawn(page)
        expect(dialog).to_be_focused()
        assert violations(page) == []
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
    page.locator("[data-press^=without]").first.evaluate("one => one.click()")  # its passage is closed again
    expect(page.locator(".rl-without")).to_be_visible()
    assert violations(page) == []
    page.locator("button.rl-cite").first.click()
    page.locator(".rl-card:popover-open .rl-open").first.click()
    expect(page.locator(".rl-drawer:popover-open")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.locator(".st-key-question textarea").blur()
    page.keyboard.press("F2")
    expect(page.locator(".rl-presented")).to_be_visible()
    assert violations(page) == []

    page.goto(f"{app}/tune")
    expect(page.locator(".rl-dot")).to_have_count(1, timeout=ANSWER_MS)
    page.locator(".st-key-question textarea").fill(ENGLISH)
    page.locator(".st-key-run-buttons button").first.click()
    expect(page.locator(".rl-knob-note span").first).to_be_visible(timeout=ANSWER_MS)
    assert violations(page) == []
    context.close()


@pytest.mark.browser
def test_five_entries_and_addresses_of_what_is_not_here(browser, app):
    page = browser.new_page()
    errors = errors_of(page)
    page.goto(f"{app}/?s=bm25&s=hyde")
    expect(tab(page, "Compare")).to_have_attribute("aria-current", "page")
    named = page.get_by_test_id("stTopNavLink")
    expect(named).to_have_text(["Compare", "Strategies", "Documents", "Evaluate", "History"])
    for address, shown in (
        ("evaluate?split=dev", "Every question has documents judged relevant."),
        ("history?lang=es", "Preguntas hechas"),
    ):
        page.goto(f"{app}/{address}")
        expect(page.get_by_text(shown)).to_be_visible()
    assert errors == []
    page.close()


def test_the_first_visit_of_a_fresh_server_may_be_to_any_page(monkeypatch, tmp_path):
    """While the models load, which here they do until every page has been looked at."""
    looked = Event()
    monkeypatch.setattr("rag_core.open_lab", lambda **_: looked.wait(60), raising=False)
    monkeypatch.setattr("rag_core.lab.opening.warm_up", lambda *_: None)
    monkeypatch.setenv("RAG_LLM", "offline")
    try:
        for path, script, _ in PAGES:
            fresh()
            app = visitor().run().switch_page(script).run()
            assert not app.exception, script
            assert HEADINGS[path] in [one.value for one in app.header]
            assert "Warming up" in text(html(app))
    finally:
        looked.set()
        engine().settled.wait(60)
        fresh()


@pytest.mark.parametrize("data", ["nowhere", "empty"])
def test_a_lab_without_documents_says_so_on_every_page_and_what_to_do(tmp_path, monkeypatch, data):
    (tmp_path / "empty" / "corpus").mkdir(parents=True)
    monkeypatch.setenv("RAG_DATA", str(tmp_path / data))
    monkeypatch.setenv("RAG_LLM", "offline")
    fresh()
    engine().start()
    assert engine().settled.wait(60)
    app = visitor().run()
    for _, script, _ in PAGES:
        app.switch_page(script).run()
        assert not app.exception, script
        told = text(html(app).partition("rl-engine rl-bad")[2].partition("</div>")[0])
        assert "Not ready." in told
        assert str(tmp_path / data / "corpus") in told
        assert "set RAG_DATA to a folder whose corpus/ has documents" in told
    fresh()


def test_a_setting_that_is_not_valid_is_told_on_every_page_without_an_exception(monkeypatch):
    monkeypatch.setenv("RAG_LLM", "nonsense")
    fresh()
    app = visitor().run()
    for _, script, _ in PAGES:
        app.switch_page(script)
        for view in ("", "results", "search-settings", "runs") if "evaluate" in script else ("",):
            app.query_params["view"] = view
            app.run()
            assert not app.exception, (script, view)
            assert "RAG_LLM cannot be 'nonsense'" in text(html(app))
            assert "RAG_HISTORY is off" not in "".join(one.value for one in app.info)
    fresh()
