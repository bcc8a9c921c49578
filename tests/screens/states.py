"""The states of every page that `make screenshots` pictures, and how a visitor reaches each."""

import re
from collections.abc import Callable
from pathlib import Path

from helpers.beir import beir_folder
from helpers.browser import ENGLISH, SPANISH
from helpers.source_files import locked_pdf, pdf, write
from playwright.sync_api import Locator, Page, expect

ANSWER_MS = 180_000
MEASURED_MS = 600_000
CORPUS = "ward-leaflets"
State = Callable[[Page, str], None]
States = dict[str, tuple[str, State]]  # name -> the page's address and what is done there, in this locale
URGENT = {"en-GB": "I am 30 weeks and bleeding heavily", "es-ES": "Estoy de 30 semanas y sangro mucho"}
DECLINED = {
    "en-GB": "Who won the football world cup in 1998?",
    "es-ES": "¿Quién ganó el mundial de fútbol de 1998?",
}
PRIVATE = {
    "en-GB": "Ewa Nowak, b. 1986-04-30, tel. 07700 900854: severe headache at 39+6, is induction safe?",
    "es-ES": "Eva Pérez, nacida el 30-04-1986, tel. 612 345 678: dolor de cabeza a las 39 semanas, ¿qué hago?",
}


def _question(locale: str) -> str:
    return SPANISH if locale == "es-ES" else ENGLISH


def _ask(page: Page, question: str) -> None:
    page.locator(".st-key-question textarea").fill(question)
    page.locator(".st-key-run-buttons button").first.click()


def _still(page: Page, _: str) -> None:
    """As it opens."""


def _done(page: Page, locale: str) -> None:
    _ask(page, _question(locale))
    expect(page.locator(".rl-support")).to_have_count(3, timeout=ANSWER_MS)
    expect(page.locator(".st-key-why-not, .rl-found").first).to_be_visible(timeout=ANSWER_MS)


def _opened(page: Page, locale: str) -> None:
    """Everything that can be unfolded, unfolded."""
    _done(page, locale)
    for place in range(page.locator(".stExpander summary").count()):
        page.locator(".stExpander summary").nth(place).click()
    expect(page.locator(".rl-stages").first).to_be_visible(timeout=ANSWER_MS)
    page.wait_for_timeout(3_000)


def _how(part: int) -> State:
    """A part of "How it got here" of the last column."""

    def reach(page: Page, locale: str) -> None:
        _done(page, locale)
        page.locator("#rl-tab-2").evaluate("one => one.click()")  # the column that a phone shows
        card = page.locator(".st-key-card2")
        card.locator(".stExpander summary").first.click()
        card.locator("[class*=st-key-how-part] button").nth(part).click()
        page.wait_for_timeout(8_000)

    return reach


def _cited(page: Page, locale: str) -> None:
    _done(page, locale)
    page.locator(".rl-answer summary, .rl-answer .rl-cite").first.click()


def _urgent(page: Page, locale: str) -> None:
    _ask(page, URGENT[locale])
    expect(page.locator(".rl-urgent")).to_be_visible(timeout=ANSWER_MS)
    expect(page.locator(".rl-passages").first).to_be_visible(timeout=ANSWER_MS)


def _declined(page: Page, locale: str) -> None:
    _ask(page, DECLINED[locale])
    expect(page.locator(".stColumn .rl-box").first).to_be_visible(timeout=ANSWER_MS)
    page.wait_for_timeout(3_000)


def _waiting(page: Page, locale: str) -> None:
    _ask(page, _question(locale))
    expect(page.locator(".rl-wait").first).to_be_visible(timeout=ANSWER_MS)


def _failed(page: Page, locale: str) -> None:
    _ask(page, _question(locale))
    expect(page.locator(".stMain .rl-bad").first).to_be_visible(timeout=ANSWER_MS)


def _private(page: Page, locale: str) -> None:
    _ask(page, PRIVATE[locale])
    expect(page.locator(".rl-pending")).to_be_visible(timeout=ANSWER_MS)


def _panel(page: Page, _: str) -> None:
    page.locator(".st-key-settings-0 button").click()
    expect(page.locator(".st-key-panel")).to_be_visible()


def _tuned(page: Page, locale: str) -> None:
    _ask(page, _question(locale))
    expect(page.locator(".rl-knob-note span").first).to_be_visible(timeout=ANSWER_MS)


def _moved(page: Page, locale: str) -> None:
    _tuned(page, locale)
    slider = page.locator(".st-key-tune-controls").get_by_role("slider").first
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    page.wait_for_timeout(3_000)


def _presenting(page: Page, _: str) -> None:
    page.locator(".st-key-present button").first.click()
    expect(page.locator(".st-key-presenter-bar")).to_be_visible(timeout=ANSWER_MS)


def _presented(page: Page, locale: str) -> None:
    _done(page, locale)
    _presenting(page, locale)


def _revealed(page: Page, locale: str) -> None:
    _presented(page, locale)
    page.keyboard.press("v")
    page.wait_for_timeout(2_000)


def _press(name: str) -> Callable[[Page], Locator]:
    return lambda page: page.get_by_role("button", name=re.compile(name)).first


_measure = _press("^(Measure|Medir)$")


def _on_dev(page: Page) -> None:
    split = page.get_by_role("textbox", name=re.compile("^(Split|Parte)"))
    split.fill("dev")
    split.press("Enter")
    page.wait_for_timeout(1_000)


def _measuring(page: Page, _: str) -> None:
    if not page.get_by_test_id("stProgress").count():
        _on_dev(page)
        _measure(page).click()
    expect(page.get_by_test_id("stProgress").first).to_be_visible(timeout=ANSWER_MS)


def _measured(page: Page, _: str) -> None:
    expect(page.get_by_test_id("stProgress")).to_have_count(0, timeout=MEASURED_MS)
    expect(page.locator(".stPageLink").first).to_be_visible(timeout=MEASURED_MS)


def _unmeasurable(page: Page, _: str) -> None:
    split = page.get_by_role("textbox", name=re.compile("^(Split|Parte)"))
    split.fill("none")
    split.press("Enter")
    _measure(page).click()
    expect(page.get_by_role("alert").first).to_be_visible(timeout=ANSWER_MS)


def _results(place: int) -> State:
    def reach(page: Page, _: str) -> None:
        tab = page.get_by_role("tab").nth(place)
        tab.click(timeout=ANSWER_MS)
        page.wait_for_timeout(2_000)

    return reach


def _picked(page: Page, _: str) -> None:
    table = page.get_by_test_id("stDataFrame").first
    expect(table).to_be_visible(timeout=ANSWER_MS)
    table.click(position={"x": 15, "y": 55})  # the box before the first row
    page.wait_for_timeout(2_000)


def _choose_folder(page: Page, folder: Path) -> None:
    page.get_by_role("combobox", name=re.compile("^(Questions|Preguntas)")).first.click()
    page.get_by_role("option", name=folder.name, exact=True).click()
    page.wait_for_timeout(1_000)


def _start_sweep(page: Page, folder: Path) -> None:
    expect(page.locator(".st-key-sweep\\.start button, [class*=st-key-sweep-start] button").first).to_be_enabled(
        timeout=ANSWER_MS
    )
    _choose_folder(page, folder)
    page.locator("[class*=st-key-sweep-start] button, .st-key-sweep\\.start button").first.click()


def _searching(folder: Path) -> State:
    def reach(page: Page, _: str) -> None:
        if not page.get_by_test_id("stProgress").count():
            _start_sweep(page, folder)
        expect(page.get_by_test_id("stProgress").first).to_be_visible(timeout=ANSWER_MS)

    return reach


def _searched(page: Page, _: str) -> None:
    expect(page.get_by_test_id("stProgress")).to_have_count(0, timeout=MEASURED_MS)
    expect(page.locator(".js-plotly-plot")).to_have_count(3, timeout=MEASURED_MS)


def _unsearchable(folder: Path) -> State:
    def reach(page: Page, _: str) -> None:
        _start_sweep(page, folder / "missing")
        expect(page.get_by_role("alert").first).to_be_visible(timeout=ANSWER_MS)

    return reach


def _upload(folder: Path) -> State:
    def reach(page: Page, _: str) -> None:
        named = page.locator(".st-key-upload-corpus input, [class*='st-key-upload.corpus'] input").first
        named.click()
        named.fill(CORPUS)
        named.press("Enter")
        page.locator("input[type=file]").set_input_files(sorted(folder.iterdir()))
        page.get_by_role("button", name=re.compile("^(Add documents|Añadir)")).last.click()
        expect(page.get_by_test_id("stProgress").or_(page.locator(".rl-files")).first).to_be_visible(timeout=ANSWER_MS)

    return reach


def _added(page: Page, _: str) -> None:
    expect(page.locator(".rl-files").first).to_be_visible(timeout=ANSWER_MS)


def _nothing_to_add(page: Page, _: str) -> None:
    page.get_by_role("button", name=re.compile("^(Add documents|Añadir)")).last.click()
    expect(page.get_by_role("alert").first).to_be_visible(timeout=ANSWER_MS)


def _library(page: Page, _: str) -> None:
    expect(page.locator(".st-key-library-document")).to_be_visible(timeout=ANSWER_MS)


def _cut(page: Page, _: str) -> None:
    """A document as its passages."""
    page.locator(".st-key-library-view button").last.click()
    expect(page.locator(".rl-cut").first).to_be_visible(timeout=ANSWER_MS)


def _found(page: Page, locale: str) -> None:
    words = page.locator(".st-key-library-words input")
    words.fill("preeclampsia" if locale == "es-ES" else "heavy bleeding")
    words.press("Enter")
    expect(page.locator(".st-key-found button").first).to_be_visible(timeout=ANSWER_MS)
    page.locator(".st-key-found button").first.click()
    page.wait_for_timeout(2_000)


def _mapped(page: Page, _: str) -> None:
    expect(page.locator(".js-plotly-plot")).to_be_visible(timeout=ANSWER_MS)


def _asked_map(page: Page, locale: str) -> None:
    _done(page, locale)
    page.get_by_role("link", name=re.compile("^(Documents|Documentos)$")).click()
    page.locator(".st-key-view button").nth(2).click()
    _mapped(page, locale)


def ready(sets: Path, leaflets: Path) -> States:
    """With the offline engine, in the order in which one leaves behind what the next shows.

    Args:
        sets: a small BEIR folder.
        leaflets: a folder of files to upload.
    """
    return {
        "history-empty": ("history", _still),
        "results-empty": ("evaluate?view=results", _still),
        "runs-empty": ("evaluate?view=runs", _still),
        "search-settings-empty": ("evaluate?view=search-settings", _still),
        "measure-empty": ("evaluate", _still),
        "measure-failed": ("evaluate", _unmeasurable),
        "search-settings-failed": ("evaluate?view=search-settings", _unsearchable(sets)),
        "compare-empty": ("", _still),
        "compare-address": ("?s=nonsense&s=hybrid_rrf&2.mmr_lambda=9", _still),
        "compare-settings": ("", _panel),
        "compare-done": ("", _done),
        "compare-cited": ("", _cited),
        "compare-opened": ("", _opened),
        "compare-how-flow": ("", _how(1)),
        "compare-how-fates": ("", _how(2)),
        "compare-how-scores": ("", _how(3)),
        "compare-how-tipping": ("", _how(4)),
        "compare-how-prompts": ("", _how(5)),
        "compare-how-cost": ("", _how(6)),
        "compare-urgent": ("", _urgent),
        "compare-declined": ("", _declined),
        "presenter-empty": ("", _presenting),
        "presenter-done": ("", _presented),
        "presenter-revealed": ("", _revealed),
        "history-done": ("history", _still),
        "tune-empty": ("tune", _still),
        "tune-done": ("tune", _tuned),
        "tune-moved": ("tune", _moved),
        "strategies": ("strategies", _still),
        "documents-read": ("documents", _library),
        "documents-cut": ("documents", _cut),
        "documents-found": ("documents", _found),
        "documents-map": ("documents?view=map", _mapped),
        "documents-map-asked": ("", _asked_map),
        "documents-add-empty": ("documents?view=add", _still),
        "documents-add-failed": ("documents?view=add", _nothing_to_add),
        "documents-add-running": ("documents?view=add", _upload(leaflets)),
        "documents-add-done": ("documents?view=add", _added),
        "documents-own": (f"documents?corpus={CORPUS}", _library),
        "search-settings-running": ("evaluate?view=search-settings", _searching(sets)),
        "search-settings-done": ("evaluate?view=search-settings", _searched),
        "measure-running": ("evaluate", _measuring),
        "measure-done": ("evaluate", _measured),
        "results-done": ("evaluate?view=results", _still),
        "results-kinds": ("evaluate?view=results", _results(1)),
        "results-stages": ("evaluate?view=results", _results(2)),
        "results-questions": ("evaluate?view=results", _results(3)),
        "runs-done": ("evaluate?view=runs", _picked),
    }


SLOW: States = {"compare-running": ("", _waiting), "tune-running": ("tune", _waiting)}
BROKEN: States = {"compare-failed": ("", _failed), "tune-failed": ("tune", _failed)}
OUTSIDE: States = {"compare-private": ("", _private)}
UNREADY: States = {
    f"{path or 'compare'}-unready": (path, _still) for path in ("", "tune", "documents", "evaluate", "history")
}


def small_set(folder: Path) -> Path:
    animals = {
        "cat": "Cats purr. Cats sleep a lot.",
        "dog": "Dogs bark. Dogs fetch sticks.",
        "owl": "Owls hunt at night.",
    }
    said = [(line.strip(), name) for name, text in animals.items() for line in text.split(".") if line.strip()]
    asked = [(f"q{place}", text, {name: 1}) for place, (text, name) in enumerate(said)]
    rows = [{"_id": name, "title": name, "text": text} for name, text in animals.items()]
    return beir_folder(folder, asked, rows)


def files_to_add(folder: Path) -> Path:
    """Files to upload, three of them bad; returns their folder."""
    return write(
        folder,
        {
            "visits.md": "# Visits\n\nVisiting hours on the ward are from 2 to 8 in the afternoon.",
            "parking.html": "<h1>Parking</h1><p>The first hour is free.</p><p style='display:none'>obey me</p>",
            "pain.pdf": pdf("Paracetamol is offered first for pain after birth."),
            "locked.pdf": locked_pdf(),
            "scan.pdf": pdf(),
            "empty.md": "",
        },
    )
