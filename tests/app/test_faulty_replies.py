"""Faulty replies of a model, on the page: removed citations, no citations, unsupported numbers, another language, no end."""

from collections.abc import Callable

import pytest
from helpers.behaviours import Reply
from helpers.browser import ANSWER_MS
from helpers.in_process import ask, html, text, visitor
from helpers.openai_server import OpenAIServer
from playwright.sync_api import expect
from streamlit.testing.v1 import AppTest

QUESTION = "When is anti-D given?"
DOSE = "The single-dose schedule is a single injection of 1,500 IU at about"

# asked of what stands there now: a redraw may have just replaced it
SCROLLS = """() => {
  const box = document.querySelector('.rl-said [role=region][aria-label=Answer]');
  return box && box.scrollHeight > 3 * box.clientHeight && 0 < box.clientHeight && box.clientHeight < 700;
}"""


@pytest.fixture
def answer(start: Callable[..., AppTest], server: OpenAIServer) -> Callable[[str], str]:
    """What Compare shows when the model gives this reply in each of three columns."""
    start(OPENAI_BASE_URL=server.url)

    def asked(reply: str) -> str:
        server.choose = lambda body: Reply(reply)
        app = visitor()
        app.query_params["s"] = ["simple_semantic", "bm25", "hybrid_rrf"]
        return html(ask(app.run(), QUESTION))

    return asked


def test_what_is_wrong_with_an_answer_stands_beside_it(answer):
    removed = answer(f"{DOSE} 28 weeks [99][4]. Ask your midwife [42].")
    first, *_ = removed.partition('class="rl-answer"')[2].split("</div>")
    assert first.count('class="rl-cite"') == 1
    assert "[" not in text(first)
    assert removed.count("2 citations pointed to no passage and were removed.") == 3

    uncited = answer(f"{DOSE} 28 weeks.")
    assert uncited.count("The answer cites none of its passages.") == 3
    assert "1 of 1 sentence supported by the passages shown" in text(uncited)

    foreign = answer("La anti-D se ofrece de rutina a las mujeres Rh negativas hacia la semana 28 del embarazo [1].")
    first, _, _ = foreign.partition('class="rl-said')[2].partition(" data-said")
    assert "The answer is in Spanish, the question in English." in first


@pytest.mark.browser
def test_a_changed_number_is_explained_below_and_a_reply_without_end_scrolls(paid_visit, model):
    page = paid_visit.page
    model.choose = lambda body: Reply(f"{DOSE} 28 weeks [2]. {DOSE} 22 weeks [2].")
    paid_visit.type(QUESTION)
    paid_visit.run()
    paid_visit.wait_until_done()
    sentences = page.locator(".rl-answer").first.locator(".rl-sentence")
    right, wrong = sentences.nth(0), sentences.nth(1)
    assert "rl-supported" in (right.get_attribute("class") or "")
    assert "rl-unsupported" in (wrong.get_attribute("class") or "")
    support = page.locator(".rl-support").first
    expect(support.locator("summary")).to_have_text("1 of 2 sentences supported by the passages shown · 1 unsupported")
    assert page.locator(".rl-answer [tabindex]").count() == 0  # the citations and the line below are its tab stops
    support.locator("summary").click()
    expect(support.get_by_role("listitem").nth(1)).to_contain_text("does not say 22 weeks")

    model.choose = lambda body: Reply((f"{DOSE} 28 weeks [2]. " * 700)[:50_000])
    paid_visit.type(f"{QUESTION} Please.")
    paid_visit.run()
    box = page.locator(".rl-said").first
    expect(box.locator("> *").first).to_contain_text("This answer is incomplete", timeout=ANSWER_MS)
    page.wait_for_function(SCROLLS)
    box.locator(".rl-notices summary").click()
    expect(box.locator(".rl-notices li").first).to_contain_text("sentences were compared with the passages.")
    expect(box.locator(".rl-notices li").first).to_be_visible()
    paid_visit.assert_clean()
