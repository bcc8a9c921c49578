"""The Compare page over time, in a real browser: a second run, a reload, another page, a server that fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, SPANISH, Visit, serving
from helpers.openai_server import Drop, Hang, OpenAIServer, Reply, role_of, serve
from playwright.sync_api import Browser, Locator, Page, expect

from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
SOON_MS = 30_000  # what is drawn without a model; the machine may be busy
# every 20 ms: the question the results name, the words shown as results, ids that stand twice
WATCH = """() => {
  window.looks = [];
  setInterval(() => {
    const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
    const shown = [...document.querySelectorAll('.rl-answer, .rl-box, .rl-title')];
    window.looks.push({
      question: [...document.querySelectorAll('.rl-question')].map(one => one.innerText).join(' '),
      shown: shown.filter(one => one.checkVisibility()).map(one => one.innerText),
      twice: ids.filter((id, place) => ids.indexOf(id) !== place),
    });
  }, 20);
}"""


@pytest.fixture(autouse=True)
def patient() -> Iterator[None]:
    expect.set_options(timeout=SOON_MS)
    yield
    expect.set_options(timeout=5_000)


@pytest.fixture
def visit(browser: Browser, app: str) -> Iterator[Visit]:
    visit = Visit(browser, app)
    yield visit
    visit.context.close()


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with serve() as server:
        yield server


@pytest.fixture(scope="module")
def paid(lab: Lab, real_home: Path, provider: OpenAIServer) -> Iterator[str]:
    """The app with answers from a provider."""
    settings = {"OPENAI_BASE_URL": provider.url, "OPENAI_API_KEY": "test", "RAG_TIMEOUT": "30"}
    with serving(RAG_HOME=str(real_home), **settings) as address:
        yield address


@pytest.fixture
def paid_visit(browser: Browser, paid: str, provider: OpenAIServer) -> Iterator[Visit]:
    provider.requests.clear()
    visit = Visit(browser, paid)
    yield visit
    visit.context.close()


def tab(page: Page, name: str) -> Locator:
    return page.get_by_test_id("stTopNavLink").filter(has_text=name)


def test_nothing_of_the_first_run_is_seen_under_the_second_question(visit: Visit) -> None:
    page = visit.page
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    first = set(page.locator(".rl-answer, .rl-title").all_inner_texts())
    page.evaluate(WATCH)
    visit.type(SPANISH)
    visit.run()
    expect(visit.results_for(SPANISH)).to_be_visible()
    visit.wait_until_done()
    expect(page.locator(".js-plotly-plot")).to_have_count(2)
    first -= set(page.locator(".rl-answer, .rl-title").all_inner_texts())
    looks = page.evaluate("window.looks")
    assert any(first & set(look["shown"]) for look in looks)  # before Run was pressed
    assert any(SPANISH in look["question"] for look in looks)
    for look in looks:
        assert not (SPANISH in look["question"] and first & set(look["shown"])), look
        assert look["twice"] == []


def test_the_question_and_the_settings_survive_another_page_without_a_run(visit: Visit) -> None:
    page = visit.page
    visit.pick(SPANISH)
    page.get_by_role("button", name="Settings").first.click()
    page.get_by_role("slider", name="k_final").press("ArrowLeft")
    page.keyboard.press("Escape")
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    tab(page, "Compare").click()
    expect(page.get_by_label("Question", exact=True)).to_have_value(SPANISH)
    page.get_by_role("button", name="Settings").first.click()
    expect(page.get_by_role("slider", name="k_final")).to_have_value("4")


def test_a_running_comparison_survives_other_pages_and_reloads(
    paid_visit: Visit, provider: OpenAIServer
) -> None:
    provider.choose = lambda body: Reply("Go in at once [1].", seconds=6)
    page = paid_visit.page
    page.get_by_role("button", name="2", exact=True).or_(
        page.get_by_role("radio", name="2", exact=True)
    ).click()
    page.get_by_role("button", name="Settings").first.click()
    page.get_by_role("slider", name="k_final").press("ArrowLeft")
    page.keyboard.press("Escape")
    paid_visit.type(ENGLISH)
    paid_visit.run()
    expect(page.locator(".rl-passage")).to_have_count(4 + 5, timeout=ANSWER_MS)

    def as_it_was() -> None:
        expect(page.get_by_label("Question", exact=True)).to_have_value(ENGLISH, timeout=60_000)
        expect(paid_visit.results_for(ENGLISH)).to_be_visible()
        expect(page.get_by_role("combobox")).to_have_count(2)
        expect(page.locator(".rl-passage")).to_have_count(4 + 5)
        expect(page.locator(".rl-changed")).to_have_count(0)

    page.reload()
    as_it_was()
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    page.go_back()
    as_it_was()
    tab(page, "Documents").click()
    expect(page.get_by_role("heading", name="The documents behind the answers")).to_be_visible()
    tab(page, "Compare").click()
    as_it_was()
    paid_visit.wait_until_done(2)
    assert "run=" in page.url
    page.reload()
    as_it_was()
    expect(page.locator(".rl-answer", has_text="Go in at once")).to_have_count(2)
    page.get_by_role("button", name="Settings").first.click()
    expect(page.get_by_role("slider", name="k_final")).to_have_value("4")
    assert len(provider.requests) == 2  # one answer a column: no reload asked again


def test_the_browser_goes_back_to_the_comparison_before(visit: Visit) -> None:
    for question in (ENGLISH, SPANISH):
        visit.type(question)
        visit.run()
        expect(visit.results_for(question)).to_be_visible(timeout=ANSWER_MS)
        visit.wait_until_done()
    visit.page.wait_for_timeout(3000)  # by then the browser knows the address of the second
    visit.page.go_back()
    expect(visit.results_for(ENGLISH)).to_be_visible()
    expect(visit.page.get_by_label("Question", exact=True)).to_have_value(ENGLISH)
    expect(visit.results_for(SPANISH)).to_have_count(0)


def test_another_session_sees_a_comparison_by_its_address_alone(browser: Browser, visit: Visit) -> None:
    visit.pick(SPANISH)
    visit.run()
    visit.wait_until_done()
    root = visit.page.url.partition("?")[0]
    other = Visit(browser, root)
    expect(other.page.locator(".rl-question")).to_have_count(0)
    expect(other.page.get_by_label("Question", exact=True)).to_have_value("")
    other.page.goto(f"{root}?run=nothing-like-this")
    expect(other.page.get_by_text("no longer stored on this server")).to_be_visible(timeout=60_000)
    expect(other.run_button).to_be_enabled()
    expect(other.page).to_have_url(root)
    other.page.goto(visit.page.url)
    expect(other.results_for(SPANISH)).to_be_visible(timeout=60_000)
    expect(other.page.locator(".rl-passage")).to_have_count(15)
    other.assert_clean()
    other.context.close()


def test_a_fourth_column_is_another_strategy_and_waits_for_run(visit: Visit) -> None:
    page = visit.page
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page.get_by_role("button", name="4", exact=True).or_(
        page.get_by_role("radio", name="4", exact=True)
    ).click()
    boxes = page.get_by_test_id("stSelectbox")
    expect(boxes).to_have_count(4)
    chosen = [box.input_value() for box in page.get_by_role("combobox").all()]
    assert len(set(chosen)) == 4
    hint = page.get_by_text("Press Run to fill this column.")
    expect(hint).to_be_visible()

    def lefts(found: Locator) -> list[int]:
        return [round((one.bounding_box() or {"x": -1})["x"]) for one in found.all()]

    results = page.locator("h3", has_text=re.compile("Simple|BM25|Hybrid"))
    assert lefts(boxes) == [*lefts(results), lefts(hint)[0]]
    page.get_by_role("button", name="2", exact=True).or_(
        page.get_by_role("radio", name="2", exact=True)
    ).click()
    expect(boxes).to_have_count(2)
    expect(page.get_by_text("Not in the next run.")).to_be_visible()
    assert lefts(boxes) == lefts(results)[:2]


def test_a_question_has_several_lines_and_a_limit_that_is_shown(visit: Visit) -> None:
    page = visit.page
    box = page.locator("textarea").first
    box.click()
    page.keyboard.type("When should I go in?")
    expect(page.get_by_text("20/2000")).to_be_visible()
    page.keyboard.press("Enter")
    page.keyboard.type("My waters broke.")
    expect(page.locator(".rl-question")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    expect(visit.results_for("When should I go in? My waters broke.")).to_be_visible(timeout=ANSWER_MS)
    visit.wait_until_done()


def test_a_question_in_french_has_its_notice_at_once_and_no_spanish_refusal(visit: Visit) -> None:
    visit.type("Quels vaccins sont conseillés avant un voyage au Japon ?")
    visit.run()
    notice = visit.page.get_by_text("This question seems to be in French.")
    expect(notice).to_be_visible(timeout=ANSWER_MS)
    visit.wait_until_done()
    expect(notice).to_be_visible()
    said = " ".join(visit.page.locator(".rl-box").all_inner_texts())
    assert "evidencia" not in said
    assert "Ninguna" not in said


def test_what_was_streamed_before_the_server_died_stays(paid_visit: Visit, provider: OpenAIServer) -> None:
    provider.choose = lambda body: Drop(after=3)
    page = paid_visit.page
    paid_visit.pick(ENGLISH)
    paid_visit.run()
    expect(page.get_by_text("The answer was cut off here.")).to_have_count(3, timeout=ANSWER_MS)
    expect(page.locator(".rl-answer:not(.rl-live)", has_text="Cats purr when")).to_have_count(3)
    expect(page.locator(".rl-passage")).to_have_count(15)
    expect(page.get_by_text("Cost of this comparison: $0.00")).to_be_visible()
    page.reload()
    expect(page.get_by_text("The answer was cut off here.")).to_have_count(3, timeout=60_000)


@pytest.mark.parametrize("after", [0, 3])
def test_a_hanging_server_is_waited_for_by_the_second(
    paid_visit: Visit, provider: OpenAIServer, after: int
) -> None:
    provider.choose = lambda body: Hang(after=after)
    page = paid_visit.page
    paid_visit.pick(ENGLISH)
    paid_visit.run()
    waiting, seconds = page.locator(".rl-wait").first, re.compile(r"Writing the answer… \d+ s")
    expect(waiting).to_have_text(seconds, timeout=ANSWER_MS)
    earlier = waiting.inner_text()
    expect(waiting).not_to_have_text(earlier)
    expect(waiting).to_have_text(seconds)
    expect(page.locator(".rl-live")).to_have_count(3 if after else 0)
    paid_visit.stop_button.click()
    expect(page.get_by_text("Stopping…")).to_have_count(3)  # the call ends with its timeout
    expect(page.locator(".rl-box")).to_have_count(3, timeout=90_000)
    expect(page.locator(".rl-answer")).to_have_count(3 if after else 0)
    expect(page.get_by_text("The answer was cut off here.")).to_have_count(3 if after else 0)
    assert role_of(provider.requests[-1].body) == "answer"


def test_compare_by_its_name_is_the_page_with_its_tab(browser: Browser, app: str) -> None:
    visit = Visit(browser, f"{app}/compare")
    expect(visit.page).to_have_url(f"{app}/")
    expect(tab(visit.page, "Compare")).to_have_attribute("aria-current", "page")
    visit.assert_clean()
    visit.context.close()
