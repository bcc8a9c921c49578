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
    "lending.md": """# Lending at the town library

## How long a loan lasts

A book is lent for three weeks, a film for one week. Magazines are read in the library and not lent.

## Renewing a loan

A loan is renewed twice, online or at the desk, unless another reader has reserved the book.

## Late books

A late book costs 10 cents a day, 5 euros at most. Children pay no fines.

## Lost or damaged books

Who loses a book pays its price and 2 euros for the new cover. Pencil marks are rubbed out, not paid for.

## Reserving a book

A book that is lent to another reader is reserved for 50 cents. It waits at the desk for seven days.

## Books from other libraries

A book that we do not have is ordered from another library in ten days, for 3 euros.

## E-books

Five e-books at a time are read with the card's number and its code, and return by themselves after two weeks.
""",
    "visiting.md": """# Visiting the town library

## Opening hours

The library is open from nine to eight, on Saturdays until two. It is closed on Sundays and on holidays.

## Study rooms

A study room is booked online, two weeks ahead, for three hours and up to six people.

## Food and drink

Water in a closed bottle is allowed. Food is eaten in the hall, and coffee is not taken to the shelves.

## Printing and copying

A printed page costs 5 cents, in colour 20. Pay with the card at the printer.

## Computers and the network

A computer is free for an hour a day. The name of the wireless network is Library, and its code changes each Monday.

## Getting in with a wheelchair

The ramp is in Garden Street; the lift goes to every floor. The desk lends a wheelchair.

## Lost property

What is found is kept at the desk for a month, and then taken to the town hall.
""",
    "carne.md": """# El carné y los niños

## Cómo se pide el carné

El carné se pide en el mostrador con el documento de identidad. Es gratuito y sirve dos años.

## Si se pierde el carné

Un segundo carné cuesta tres euros. Avise el mismo día, para que nadie más lo use.

## El carné de los niños

Los niños tienen carné desde que nacen; hasta los catorce años firma su padre, su madre o su tutor.

## Cuántos libros se llevan los niños

Los niños pueden llevarse seis libros y dos películas durante tres semanas.

## La hora del cuento

Los sábados a las once se leen cuentos en la sala infantil. No hay que apuntarse.

## Las visitas de los colegios

Un colegio pide su visita un mes antes; vienen veinticinco alumnos y dos maestros como mucho.
""",
}
ANSWERED_BY = {
    "How long may I keep a book?": "How long a loan lasts",
    "Can I take a magazine home?": "How long a loan lasts",
    "Can I renew my loan online?": "Renewing a loan",
    "What does a late book cost?": "Late books",
    "What happens if I lose a book?": "Lost or damaged books",
    "How do I reserve a book that is out?": "Reserving a book",
    "Can you get a book from another library?": "Books from other libraries",
    "How many e-books may I read at a time?": "E-books",
    "Is the library open on Sundays?": "Opening hours",
    "How do I book a study room?": "Study rooms",
    "May I bring coffee?": "Food and drink",
    "What does a colour page cost?": "Printing and copying",
    "What is the code of the wireless network?": "Computers and the network",
    "Is there a ramp or a lift?": "Getting in with a wheelchair",
    "I left my umbrella there, where is it?": "Lost property",
    "¿Cómo pido el carné?": "Cómo se pide el carné",
    "He perdido el carné, ¿cuánto cuesta otro?": "Si se pierde el carné",
    "¿Desde qué edad hay carné para niños?": "El carné de los niños",
    "¿Cuántos libros puede llevarse mi hija?": "Cuántos libros se llevan los niños",
    "¿Cuándo se leen cuentos?": "La hora del cuento",
}
COUNT = len(ANSWERED_BY)


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
    """Tick every passage of the question that is shown by whether it has the section that answers; how many those are."""
    asked = page.locator(".rl-asked-room")
    question = next(one for one in ANSWERED_BY if one in asked.inner_text())
    cards = page.locator("[class*='st-key-judged']")
    for place in range(count := cards.count()):
        answers = ANSWERED_BY[question] in cards.nth(place).inner_text()
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
        expect(owner.get_by_text(f"{COUNT} questions: enough to tell")).to_be_visible()
        owner.get_by_role("button", name="Make the exam").click()
        expect(owner.get_by_text(f"0 of {COUNT} questions judged").first).to_be_visible(timeout=ANSWER_MS)
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
        expect(owner.get_by_text(f"{COUNT} of {COUNT} questions judged").first).to_be_visible(timeout=ANSWER_MS)
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
