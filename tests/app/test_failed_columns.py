"""A column that fails says whose model failed, shows what was sent, and the status line names its model."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlencode

import pytest
from helpers.behaviours import Reply, Status
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, Visit, serving
from helpers.openai_server import role_of, serve
from playwright.sync_api import Browser, expect

import rag_core
from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]


def test_a_column_on_a_model_of_its_own_names_it_and_what_it_was_sent(
    browser: Browser, lab: Lab, real_home: Path
) -> None:
    columns = [rag_core.set_up("multi_query"), rag_core.set_up("bm25", model="no-such-model")]
    asked = urlencode(rag_core.to_address(ENGLISH, columns), doseq=True)
    with (
        serve() as server,
        serving(
            RAG_HOME=str(real_home), RAG_HISTORY="off", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="test"
        ) as address,
    ):
        server.choose = lambda body: Status(404) if role_of(body) == "answer" else Reply("anti-D weeks")
        visit = Visit(browser, f"{address}/?{asked}")
        page = visit.page
        badge = page.locator(".rl-engine")
        expect(badge).to_contain_text("columns with a model of their own: no-such-model", timeout=ANSWER_MS)
        visit.run()
        visit.wait_until_done(2)
        failed = page.locator("div.rl-bad.rl-box")
        expect(failed.nth(0)).to_contain_text("Model gpt-4o: the server does not have this model.")
        expect(failed.nth(0)).to_contain_text("Check RAG_ANSWER_MODEL, RAG_JUDGE_MODEL.")
        expect(failed.nth(1)).to_contain_text("Model no-such-model: the server does not have this model.")
        expect(failed.nth(1)).to_contain_text("Check its name where it was chosen: in the column's settings")
        expect(failed.nth(1)).not_to_contain_text("RAG_ANSWER_MODEL")

        unlabelled = page.locator(".rl-passage summary .rl-unlabelled")
        expect(unlabelled).to_have_count(page.locator(".rl-passage").count())
        expect(unlabelled.first).to_contain_text("this one did not finish")

        box = page.get_by_test_id("stExpander").filter(has_text="How it got here").first
        box.get_by_text("How it got here").click()
        expect(box.locator(".rl-prompt")).to_have_count(3 + 1)  # the rewrites, then the answer that failed
        last = box.locator("section").last
        expect(last.locator("h4")).to_have_text("Answer: failed")
        summary = last.locator("summary")
        expect(summary).to_contain_text("failed: Model gpt-4o: the server does not have this model.")
        summary.click()
        expect(last.locator("pre").nth(1)).to_contain_text(ENGLISH)
        visit.context.close()
