"""Prompts in a real browser: edited in the side panel, refused when wrong, sent as edited, and read again."""

from __future__ import annotations

import pytest
from helpers.behaviours import Reply
from helpers.browser import CHROMIUM, ENGLISH, Visit
from helpers.openai_server import OpenAIServer
from playwright.sync_api import Browser, expect

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path"),
]
MINE = "In one sentence: {question}\n\n{sources}"


def test_a_prompt_is_edited_checked_sent_and_read(browser: Browser, paid: str, model: OpenAIServer) -> None:
    model.choose = lambda body: Reply("It is given at 28 weeks [1].", usage=(900, 12))
    visit = Visit(browser, f"{paid}/?s=bm25&s=simple_semantic")
    page, panel = visit.page, visit.settings("A")
    box = panel.get_by_test_id("stExpander").filter(has_text="Answer prompt")
    box.get_by_text("Answer prompt", exact=True).click()
    message = box.get_by_label("User message")
    expect(message).to_have_value(
        "Question: {question}\n\n{urgency}Sources:\n{sources}\n\nAnswer with citations:"
    )
    message.fill("Say something about {question}")
    message.press("Control+Enter")
    expect(box.get_by_text("is missing {sources}")).to_be_visible()
    expect(page.get_by_text("changed: answer prompt")).to_have_count(0)
    message.fill(MINE)
    message.press("Control+Enter")
    expect(box.get_by_text("is missing {sources}")).to_have_count(0)
    expect(box.get_by_role("button", name="Back to the original")).to_be_visible()
    page.keyboard.press("Escape")

    visit.type(ENGLISH)
    visit.run()
    visit.wait_until_done(2)
    expect(page.locator(".rl-chip", has_text="changed: answer prompt").first).to_be_visible()
    sent = [request.messages[1][1] for request in model.requests]
    (edited,) = [text for text in sent if text.startswith(f"In one sentence: {ENGLISH}")]
    explained = page.get_by_test_id("stExpander").filter(has_text="How it got here").first
    explained.get_by_text("How it got here").click()
    explained.get_by_text("Prompts", exact=True).click()
    prompt = explained.locator(".rl-prompt").first
    expect(prompt.locator("summary")).to_contain_text("900 tokens in, 12 out, counted by the provider")
    prompt.locator("summary").click()
    assert prompt.locator("pre").nth(1).text_content() == edited

    page.reload()
    visit.wait_until_done(2)
    again = visit.settings("A").get_by_test_id("stExpander").filter(has_text="Answer prompt")
    again.get_by_text("Answer prompt", exact=True).click()
    expect(again.get_by_label("User message")).to_have_value(MINE)
    again.get_by_role("button", name="Back to the original").click()
    expect(again.get_by_label("User message")).to_have_value(
        "Question: {question}\n\n{urgency}Sources:\n{sources}\n\nAnswer with citations:"
    )
    expect(again.get_by_role("button", name="Back to the original")).to_have_count(0)
    visit.context.close()
