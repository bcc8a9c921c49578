"""What the screen shows when a model cites nothing or no passage, contradicts one, changes language or never ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS, CHROMIUM, Visit, serving
from helpers.openai_server import OpenAIServer, serve
from playwright.sync_api import Browser, Page, expect

from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]

QUESTION = "When is anti-D given?"
DOSE = "The single-dose schedule is a single injection of 1,500 IU at about"


@pytest.fixture(scope="module")
def model() -> Iterator[OpenAIServer]:
    with serve() as server:
        yield server


@pytest.fixture(scope="module")
def model_app(lab: Lab, real_home: Path, model: OpenAIServer) -> Iterator[str]:
    with serving(RAG_HOME=str(real_home), OPENAI_BASE_URL=model.url, OPENAI_API_KEY="test") as address:
        yield address


@pytest.fixture
def answer(browser: Browser, model_app: str, model: OpenAIServer) -> Iterator[Callable[[str], Page]]:
    """The Compare page with this reply of the model in the first column."""
    visit = Visit(browser, model_app)

    def ask(reply: str) -> Page:
        model.choose = lambda body: Reply(reply)
        visit.type(QUESTION)
        visit.run()
        expect(visit.page.locator(".rl-support")).to_have_count(3, timeout=ANSWER_MS)
        expect(visit.stop_button).to_be_disabled(timeout=ANSWER_MS)
        return visit.page

    yield ask
    visit.assert_clean()
    visit.context.close()


def first(page: Page, css: str) -> str:
    return page.locator(css).first.inner_text()


def test_citations_of_nothing_are_removed_and_counted(answer: Callable[[str], Page]) -> None:
    page = answer(f"{DOSE} 28 weeks [99][2]. Ask your midwife [42].")
    assert page.locator(".rl-answer").first.inner_text().count("[") == 0
    links = page.locator(".rl-answer").first.locator("button.rl-cite")
    expect(links).to_have_count(1)
    assert first(page, ".rl-remark") == "2 citations pointed to no passage and were removed."


def test_an_answer_without_citations_says_so(answer: Callable[[str], Page]) -> None:
    page = answer(f"{DOSE} 28 weeks.")
    expect(page.get_by_text("The answer cites none of its passages.")).to_have_count(3)
    assert first(page, ".rl-support") == "1 of 1 sentence supported by the passages shown"


def test_one_changed_number_is_unsupported(answer: Callable[[str], Page]) -> None:
    page = answer(f"{DOSE} 28 weeks [2]. {DOSE} 22 weeks [2].")
    sentences = page.locator(".rl-answer").first.locator(".rl-sentence")
    right, wrong = sentences.nth(0), sentences.nth(1)
    assert "rl-supported" in (right.get_attribute("class") or "")
    assert "rl-unsupported" in (wrong.get_attribute("class") or "")
    wrong.focus()
    expect(wrong.get_by_role("tooltip")).to_be_visible()
    expect(wrong.get_by_role("tooltip")).to_contain_text("does not say 22 weeks")
    assert first(page, ".rl-support") == "1 of 2 sentences supported by the passages shown · 1 unsupported"


def test_an_answer_in_another_language_says_so_first(answer: Callable[[str], Page]) -> None:
    page = answer(
        "La anti-D se ofrece de rutina a las mujeres Rh negativas hacia la semana 28 del embarazo [1]."
    )
    box = page.locator(".rl-said").first
    expect(box.locator("> *").first).to_have_text("The answer is in Spanish, the question in English.")


def test_a_reply_that_never_ends_is_cut_and_scrolls(answer: Callable[[str], Page]) -> None:
    page = answer((f"{DOSE} 28 weeks [2]. " * 700)[:50_000])
    box = page.locator(".rl-said").first
    expect(box.locator("> *").first).to_contain_text("This answer is incomplete")
    frame = box.get_by_role("region", name="Answer")
    assert frame.evaluate("box => box.scrollHeight > 3 * box.clientHeight && box.clientHeight < 700")
    assert "sentences were compared with the passages." in box.inner_text()
