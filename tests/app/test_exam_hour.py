"""The hour of an exam in real browsers: an owner and three phones, from a library's leaflets to the sentence of the result."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import ANSWER_MS, errors_of, serving, wait_for_models, wait_until_drawn
from helpers.source_files import write
from playwright.sync_api import Browser, Page, expect

from rag_core.indexing import CorpusStore, read_path
from rag_core.lab.lab import Lab

LEAFLETS = {
    "loans.md": "# Loans\n\nA book is lent for three weeks. Films are lent for one week. A loan is renewed twice, online.",
    "fines.md": "# Fines\n\nA late book costs 10 cents a day. Children pay no fines. Who loses a book pays its price.",
    "rooms.md": "# Study rooms\n\nA study room is booked online, two weeks ahead, for three hours. Bring no food.",
    "hours.md": "# Opening hours\n\nThe library is open from nine to eight, on Saturdays until two. It is closed on Sundays.",
    "print.md": "# Printing\n\nA printed page costs 5 cents, in colour 20. Pay with the card at the printer.",
    "carne.md": "# El carné\n\nEl carné es gratuito y sirve dos años. Un segundo carné cuesta tres euros.",
    "ninos.md": "# Niños\n\nLos niños pueden llevarse seis libros. Los sábados a las once se leen cuentos.",
}
ANSWERED_BY = {
    "How long may I keep a book?": "Loans",
    "What does a late book cost?": "Fines",
    "How do I book a study room?": "Study rooms",
    "Is the library open on Sundays?": "Opening hours",
    "¿Cuánto cuesta el carné?": "El carné",
    "¿Cuántos libros puede llevarse mi hija?": "Niños",
}


@pytest.fixture
def library(lab: Lab, real_home: Path, tmp_path: Path) -> Iterator[str]:
    """An app with the leaflets as a collection, and no exam yet."""
    home = Path(copytree(real_home, tmp_path / "home"))
    CorpusStore(home, "library", lab.engines.embedder).update(read_path(write(tmp_path / "files", LEAFLETS)))
    with serving(RAG_HOME=str(home), RAG_LLM="offline", RAG_HISTORY="on") as address:
        yield address


@contextmanager
def timed(step: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{step}: {time.monotonic() - began:.1f} s")  # noqa: T201


def grave(page: Page) -> list[str]:
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [one["id"] for one in found if one["impact"] in ("serious", "critical")]


def is_asked(page: Page) -> bool:
    wait_until_drawn(page)
    return page.get_by_role("button", name="Next question").count() > 0


def judge(page: Page) -> int:
    """Tick every passage of the question that is shown by whether it is of the leaflet that answers; how many those are."""
    asked = page.locator(".rl-asked-room")
    question = next(one for one in ANSWERED_BY if one in asked.inner_text())
    cards = page.locator("[class*='st-key-judged']")
    for place in range(count := cards.count()):
        answers = ANSWERED_BY[question] in cards.nth(place).inner_text().splitlines()[0]
        cards.nth(place).get_by_role("radio").nth(0 if answers else 2).click()
    following = page.get_by_role("button", name="Next question")
    expect(following).to_be_enabled()
    following.click()
    expect(asked.filter(has_text=question)).to_have_count(0)
    return count


@pytest.mark.browser
def test_an_owner_and_three_phones_come_to_the_sentence_of_the_result(browser: Browser, library: str):
    owner = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB").new_page()
    errors = errors_of(owner)
    with timed("the owner opens the page"):
        owner.goto(f"{library}/documents?view=exam&corpus=library")
        wait_for_models(owner)
    with timed("writes the questions and makes the exam; passages are found"):
        box = owner.get_by_role("textbox", name="Questions, one a line")
        box.fill("\n".join(ANSWERED_BY))
        box.blur()
        expect(owner.get_by_text("6 questions: enough to tell")).to_be_visible()
        owner.get_by_role("button", name="Make the exam").click()
        expect(owner.get_by_text("0 of 6 questions judged").first).to_be_visible(timeout=ANSWER_MS)
        wait_until_drawn(owner)
        assert grave(owner) == []
    code = owner.locator(".rl-room-code b").inner_text()
    with timed("three phones come in"):
        size = {"width": 390, "height": 844}
        phones = [
            browser.new_context(viewport=size, locale="en-GB", has_touch=True, is_mobile=True).new_page()
            for _ in range(3)
        ]
        for phone in phones:
            phone.goto(f"{library}/judge?room={code}")
            expect(phone.locator(".st-key-judge-ways")).to_be_visible()
        assert grave(phones[0]) == []
    ticks = 0
    with timed("they judge"):
        while asked := [phone for phone in phones if is_asked(phone)]:
            ticks += sum(judge(phone) for phone in asked)
    with timed(f"the owner sees {ticks} ticks come in, and measures"):
        expect(owner.get_by_text("6 of 6 questions judged").first).to_be_visible(timeout=ANSWER_MS)
        owner.get_by_role("link", name="Measure on it").click()
        owner.get_by_role("button", name="Measure", exact=True).click()
        expect(owner.get_by_role("link", name="See the results")).to_be_visible(timeout=ANSWER_MS)
    with timed("reads the result"):
        owner.get_by_role("link", name="See the results").click()
        said = owner.get_by_test_id("stAlert").filter(has_text=re.compile("is ahead of|not told apart from"))
        expect(said).to_be_visible(timeout=ANSWER_MS)
        expect(owner.get_by_text("Judged in an exam. People: 3;")).to_be_visible()
        wait_until_drawn(owner)
        assert grave(owner) == []
    assert errors == []
