import re

import pytest
from helpers.behaviours import Reply, Status
from helpers.browser import ENGLISH
from helpers.in_process import ask, html, press, text
from helpers.openai_server import role_of
from helpers.provider_lab import obliging
from playwright.sync_api import expect
from streamlit.testing.v1 import AppTest

from pages.compare.passages import same

CONTRACTIONS = "When should I go to the hospital if I have contractions?"  # with a judged answer


def leave_out(app: AppTest, column: int, rank: int) -> str:
    """Press "Without it" in a passage; what then stands there."""
    hit = app.session_state["run"].columns[column].trace.ranking.hits[rank - 1]
    key = f"without-{column}-{same(hit.id)}"
    assert f'data-press="{key}"' in html(app)
    app.button(key=key).click().run()
    assert not app.exception
    drawn = text(re.findall(r'<details class="rl-passage [^>]* open>.*?</details>', html(app))[-1])
    assert hit.passage.full_title in drawn
    return drawn


def test_an_answer_that_needed_a_passage_changes_and_so_does_its_verdict(drawn):
    ask(drawn.run(), CONTRACTIONS)
    trace = drawn.session_state["run"].columns[0].trace
    first = trace.ranking.hits.index(
        next(hit for hit in trace.ranking if hit.id == trace.answer.citations[0].context_id)
    )
    told = leave_out(drawn, 0, first + 1)
    gone = told.partition("Without this passage")[2]
    assert "Gone" in gone
    assert "With it: A answers. Without it: A " in told
    assert len(drawn.session_state["run"].without) == 1


def test_an_answer_that_does_not_cite_a_passage_stays(drawn):
    ask(drawn.run(), CONTRACTIONS)
    trace = drawn.session_state["run"].columns[0].trace
    cited = {one.context_id for one in trace.answer.citations}
    last = next(rank for rank in range(len(trace.ranking), 0, -1) if trace.ranking.hits[rank - 1].id not in cited)
    assert "Without this passageThe answer stays the same." in leave_out(drawn, 0, last)
    press(drawn, "Present")
    assert "data-press" not in html(drawn)


def test_a_paid_model_answers_at_a_price_and_its_failure_is_a_sentence(start, server):
    app = ask(start(OPENAI_BASE_URL=server.url, RAG_MODEL="gpt-4o", RAG_ABSTAIN="off").run(), CONTRACTIONS)
    assert re.search(r"Without it: one call, about \$0\.\d+", html(app))
    sent = len(server.requests)
    server.choose = lambda body: Reply("Rest [1].", usage=(500, 10)) if role_of(body) == "answer" else obliging(body)
    told = leave_out(app, 0, 1)
    assert "NewRest" in told
    assert len(server.requests) == sent + 1
    (call,) = app.session_state["run"].later
    assert (call.purpose, call.input_tokens) == ("answer", 500)
    server.choose = lambda body: Status(400)
    leave_out(app, 1, 1)
    assert html(app).count('class="rl-box rl-bad" role="alert"') == 1


@pytest.mark.browser
def test_a_button_in_a_text_presses_the_one_that_stands_hidden(visit):
    page = visit.page
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    passage = page.locator(".rl-passage").first
    passage.locator("summary").click()
    passage.get_by_role("button", name="Without it").click()
    expect(passage.locator(".rl-without")).to_be_visible()
    page.locator(".rl-absent button").first.click()
    expect(page.get_by_role("dialog", name="How it was lost")).to_be_visible()
