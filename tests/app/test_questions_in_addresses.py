"""A question may name a patient: no address has it, and so no log of a server or proxy and no Referer."""

from urllib.parse import unquote_plus

import pytest
from helpers.browser import ANSWER_MS, Visit, serving
from helpers.in_process import ask
from playwright.sync_api import Page, expect

SECRET = "Quibble"
ASKED = f"When is anti-D given to {SECRET}?"
DRAFT = f"And when again, {SECRET}?"


def told(page: Page) -> list[str]:
    """Every address that the page has had, of every request too, and all headers of the latter; filled as it goes on."""
    found: list[str] = []
    page.on("framenavigated", lambda frame: found.append(unquote_plus(frame.url)))
    page.on("websocket", lambda socket: found.append(unquote_plus(socket.url)))
    page.on("request", lambda request: found.append(unquote_plus(f"{request.url} {request.headers}")))
    return found


@pytest.mark.browser
def test_typing_asking_tuning_and_sharing_put_no_question_into_an_address(browser, lab, real_home, tmp_path):
    log = tmp_path / "log"
    with serving(log, RAG_HOME=str(real_home), RAG_LLM="offline") as address:
        visit = Visit(browser, address)
        page = visit.page
        addresses = told(page)
        visit.type(ASKED)
        visit.wait_for_draft(ASKED)
        page.reload()
        expect(page.get_by_label("Question", exact=True)).to_have_value(ASKED)
        visit.run()
        expect(visit.results_for(ASKED)).to_have_count(1)
        visit.wait_until_done()
        visit.type(DRAFT)
        visit.wait_for_draft(DRAFT)
        shared = page.url
        assert "run=" in shared
        page.get_by_role("link", name="Tune this").first.click()
        expect(page.locator(".rl-changes")).to_be_visible(timeout=ANSWER_MS)
        expect(page.get_by_label("Question", exact=True)).to_have_value(ASKED)
        visit.context.close()

        reader = browser.new_page()
        read = told(reader)
        reader.goto(shared)
        expect(reader.get_by_text(f"Results for: {ASKED}")).to_be_visible(timeout=ANSWER_MS)
        expect(reader.get_by_label("Question", exact=True)).to_have_value(ASKED)
        reader.close()
    assert min(len(addresses), len(read)) > 20
    assert [one for one in addresses + read if SECRET in one] == []
    assert SECRET not in log.read_text(encoding="utf-8", errors="replace")


def test_a_question_that_no_history_keeps_says_how_long_its_address_opens_it(start, tmp_path):
    for history, said in (("off", 1), ("on", 0)):
        settings = {"RAG_HISTORY": history, "RAG_DATABASE_URL": f"sqlite:///{tmp_path / 'history.db'}"}
        app = ask(start(**settings).run(), ASKED)
        assert sum("until the app ends, for 12 hours" in one.value for one in app.caption) == said


def test_a_question_tuned_alone_is_opened_by_another_server(start, tmp_path):
    database = {"RAG_HISTORY": "on", "RAG_DATABASE_URL": f"sqlite:///{tmp_path / 'history.db'}"}
    app = ask(start(**database).run().switch_page("pages/compare/tune.py").run(), ASKED)
    address = {name: app.query_params[name] for name in app.query_params}
    other = start(**database).run().switch_page("pages/compare/tune.py")
    for name, value in address.items():
        other.query_params[name] = value
    other.run()
    assert not other.exception
    assert other.text_area(key="question").value == ASKED
    assert other.session_state["tune.run"].question == ASKED
