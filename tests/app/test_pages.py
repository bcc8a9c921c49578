"""The real app in a real browser, as its users drive it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, SPANISH, Visit, serving
from helpers.openai_server import Endless, Status, serve
from helpers.small import ROOT
from playwright.sync_api import Browser, Page, expect

from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]


@pytest.mark.parametrize("question", [ENGLISH, SPANISH])
def test_a_visitor_compares_three_strategies_and_opens_a_citation(visit: Visit, question: str) -> None:
    visit.pick(question)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    for title in ("Simple semantic", "BM25 keywords", "Hybrid RRF + MMR"):
        expect(page.get_by_role("heading", name=title)).to_be_visible()
    expect(page.locator(".rl-passage")).to_have_count(15)
    expect(page.locator(".rl-done")).to_have_count(2 + 2 + 5)

    citation = page.locator("a.rl-cite").last
    passage = page.locator(f"details:has({citation.get_attribute('href')})")
    assert not passage.evaluate("element => element.open")
    citation.click()
    expect(passage.locator(".rl-text")).to_be_visible()
    expect(passage.locator(".rl-text u").first).to_be_visible()  # the quoted sentence
    expect(page.locator(".rl-text mark").first).to_be_attached()  # the question's words
    expect(page.locator(".rl-label [role=tooltip]").first).to_contain_text("judged passages")
    expect(page.get_by_text("Which passages did they share?")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    visit.assert_clean()


def test_results_survive_reruns_and_a_changed_control_runs_only_what_must(visit: Visit) -> None:
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    answers = page.locator(".rl-answer").all_inner_texts()
    page.get_by_role("button", name="Settings").nth(2).click()
    slider = page.get_by_role("slider", name="mmr_lambda")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowLeft")
    expect(page.locator(".rl-changed")).to_have_count(1)
    assert page.locator(".rl-answer").all_inner_texts() == answers  # nothing ran by itself

    page.keyboard.press("Escape")
    visit.run()
    expect(page.locator(".rl-changed")).to_have_count(0)
    visit.wait_until_done()
    stages = page.locator(".rl-stages")
    expect(stages).to_have_count(3)
    reused = [text.count("reused") for text in stages.all_inner_texts()]
    assert reused == [2, 2, 3]  # MMR and the answer ran again


def test_the_page_answers_bad_input_in_one_line_and_keeps_what_is_on_it(visit: Visit) -> None:
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    for question, complaint in [
        ("   ", "The question is empty."),
        ("🤰🍼", "no letter or digit"),
    ]:
        visit.type(question)
        visit.run()
        expect(visit.page.get_by_role("alert").filter(has_text=complaint)).to_be_visible()
        expect(visit.page.locator(".rl-passage")).to_have_count(15)
        expect(visit.page.get_by_label("Question", exact=True)).to_have_value(question)
    visit.type("x" * 2_001)  # more than a question may have: the box keeps what it holds
    expect(visit.page.get_by_label("Question", exact=True)).to_have_value("🤰🍼")
    for question in (
        "'; DROP TABLE passages; --",
        "<img src=x onerror=alert(1)> **bold**",
        "متى أذهب إلى المستشفى",
    ):
        visit.type(question)
        visit.run()
        expect(visit.results_for(question)).to_be_visible()
        visit.wait_until_done()
    expect(visit.page.get_by_text("This question seems to be in Arabic.")).to_be_visible()
    visit.assert_clean()


def test_two_sessions_at_the_same_moment_never_see_each_other(browser: Browser, app: str) -> None:
    first, second = Visit(browser, app), Visit(browser, app)
    first.pick(ENGLISH)
    second.pick(SPANISH)
    first.run()
    second.run()
    first.wait_until_done()
    second.wait_until_done()
    ours, theirs = (visit.page.locator(".rl-passages").first.inner_text() for visit in (first, second))
    assert "contractions" in ours
    assert "cesárea" in theirs
    assert "cesárea" not in ours
    assert "contractions" not in theirs
    expect(first.results_for(ENGLISH)).to_be_visible()
    expect(second.results_for(SPANISH)).to_be_visible()
    first.context.close()
    second.context.close()


def test_a_phone_shows_everything_without_scrolling_sideways(browser: Browser, app: str) -> None:
    visit = Visit(browser, app, width=390, height=844)
    visit.pick(SPANISH)
    visit.run()
    visit.wait_until_done()
    wide = visit.page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
    assert wide <= 390
    visit.page.get_by_role("heading", name="Hybrid RRF + MMR").scroll_into_view_if_needed()
    visit.context.close()


def test_the_documents_page_shows_a_document_and_its_guidance(browser: Browser, app: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{app}/documents")
    page.get_by_label("Words in the text").fill("anti-D rhesus")
    page.get_by_label("Words in the text").press("Enter")
    expect(page.get_by_text("Guidance cited by this document")).to_be_visible(timeout=60_000)
    page.get_by_label("Words in the text").fill("zzzz")
    page.get_by_label("Words in the text").press("Enter")
    expect(page.get_by_text("No matches. Remove a filter.")).to_be_visible()
    context.close()


SCRIPTS = {
    path: script
    for script, path in re.findall(
        r'st\.Page\("([^"]+)".*url_path="(\w*)"', (ROOT / "app.py").read_text(encoding="utf-8")
    )
}


@pytest.mark.parametrize("path", SCRIPTS)
def test_the_first_visit_of_a_fresh_server_may_be_to_any_page(
    browser: Browser, lab: Lab, real_home: Path, path: str
) -> None:
    script = (ROOT / SCRIPTS[path]).read_text(encoding="utf-8")
    heading = re.search(r'st\.header\("([^"]+)"', script)[1]
    errors: list[tuple[str, str]] = []

    def look(page: Page) -> None:
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert page.url == link

    with serving(RAG_HOME=str(real_home), RAG_LLM="offline") as address:
        link = f"{address}/{path}"
        for _ in range(2):  # two sessions
            page = browser.new_page()
            page.on(
                "console",
                lambda line: (
                    errors.append((line.text, line.location["url"])) if line.type == "error" else None
                ),
            )
            page.goto(link)
            look(page)
            page.reload()
            look(page)
            page.close()
    # below another path than "/" Streamlit's page first asks that path for the server, and is told 404
    assert [error for error in errors if f"/{path}/_stcore/" not in error[1]] == []


def test_stop_ends_a_model_that_goes_on_and_on(browser: Browser, lab: Lab, real_home: Path) -> None:
    with (
        serve() as server,
        serving(RAG_HOME=str(real_home), OPENAI_BASE_URL=server.url, OPENAI_API_KEY="test") as address,
    ):
        server.choose = lambda body: Endless()
        visit = Visit(browser, address)
        visit.pick(ENGLISH)
        visit.run()
        expect(visit.page.locator(".rl-live")).to_have_count(3, timeout=ANSWER_MS)
        visit.stop_button.click()
        expect(visit.page.get_by_text("Finished results are kept.")).to_have_count(3)
        expect(visit.page.locator(".rl-passage")).to_have_count(15)
        assert server.gone.wait(timeout=30)
        visit.context.close()


def test_a_failing_model_is_a_named_failure_and_never_an_answer(
    browser: Browser, lab: Lab, real_home: Path
) -> None:
    with (
        serve() as server,
        serving(RAG_HOME=str(real_home), OPENAI_BASE_URL=server.url, OPENAI_API_KEY="test") as address,
    ):
        server.choose = lambda body: Status(401)
        visit = Visit(browser, address)
        visit.pick(ENGLISH)
        visit.run()
        expect(visit.page.get_by_text("This strategy failed.")).to_have_count(3, timeout=ANSWER_MS)
        expect(visit.page.get_by_text("the key was refused").first).to_be_visible()
        expect(visit.page.locator(".rl-answer")).to_have_count(0)
        expect(visit.page.locator(".rl-passage")).to_have_count(15)
        visit.context.close()


@pytest.mark.parametrize("data", ["nowhere", "empty"])
def test_a_lab_without_documents_says_so_on_every_page_and_what_to_do(
    browser: Browser, tmp_path: Path, data: str
) -> None:
    (tmp_path / "empty" / "corpus").mkdir(parents=True)
    with serving(RAG_HOME=str(tmp_path), RAG_DATA=str(tmp_path / data)) as address:
        context = browser.new_context()
        page = context.new_page()
        for path in ("/", "/documents"):
            page.goto(address + path)
            told = page.get_by_role("alert").filter(has_text="Not ready.")
            expect(told).to_contain_text(str(tmp_path / data / "corpus"), timeout=60_000)
            expect(told).to_contain_text("set RAG_DATA to a folder whose corpus/ holds documents")
        context.close()
