"""A reload in the middle of what runs, or before it runs, loses nothing."""

import re
import threading

import pytest
from helpers.behaviours import Held, Reply
from helpers.browser import ANSWER_MS, Visit, wait_for_models, wait_until_drawn
from helpers.source_files import write
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_contexts_are_written_through_reloads(browser, paid, model, tmp_path):
    files = write(
        tmp_path / "files", {f"{name}.md": f"# {name}\n\nAbout {name}." for name in ("meals", "visits")}
    )
    released = threading.Event()
    model.choose = lambda body: Held(released, Reply("About a clinic."))
    visit = Visit(browser, paid)
    page = visit.page
    page.goto(f"{paid}/documents?view=add")
    wait_for_models(page)
    named = page.get_by_role("combobox", name="Name of the collection")
    named.fill("clinic")
    named.press("Enter")
    page.locator("input[type=file]").set_input_files(sorted(files.iterdir()))
    expect(page.get_by_role("button", name=re.compile(r"Remove .+\.md"))).to_have_count(2)
    page.get_by_text("More choices").click()
    context = page.get_by_role("switch", name="Add a context to each passage")
    expect(context).to_be_visible()
    wait_until_drawn(page)
    context.press("Space")
    expect(context).to_be_checked()
    page.get_by_role("button", name="Add documents").click()
    agree = page.get_by_role("button", name="Go on")
    expect(agree).to_be_visible(timeout=ANSWER_MS)
    page.reload()  # while it waits for consent
    expect(page.get_by_text("Nothing is sent before you agree.")).to_be_visible()
    assert model.requests == []
    agree.click()
    expect(page.get_by_text("It continues when this page is closed")).to_be_visible()
    page.reload()  # while a model writes
    expect(page.get_by_text("It continues when this page is closed")).to_be_visible(timeout=ANSWER_MS)
    released.set()
    expect(page.get_by_text("2 added.")).to_be_visible(timeout=ANSWER_MS)
    assert len(model.requests) == 2  # one context a passage: nothing was asked again
    visit.context.close()
