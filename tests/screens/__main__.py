"""`make screenshots`: every page in its states, wide and narrow, light and dark, in every language, into `screenshots/`.

python -m screens [WORD]: only those whose name has the word, such as "compare" or "-es-dark-390".

A state that cannot be reached does not stop the others: the last lines count the pictures and name what is missing,
and the exit code is 1 if anything is.
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.behaviours import Behaviour, Hang, Status
from helpers.browser import CHROMIUM, ENGLISH, SPANISH, serving
from helpers.openai_server import serve
from helpers.small import ROOT
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

OUT = ROOT / "screenshots"
SIZES = {1440: 900, 390: 844}
THEMES, LANGUAGES = ("light", "dark"), ("en-GB", "es-ES")
ANSWER_MS = 180_000
MEASURED_MS = 600_000
State = Callable[[Page, str], None]
URGENT = {"en-GB": "I am 30 weeks and bleeding heavily", "es-ES": "Estoy de 30 semanas y sangro mucho"}


def _ask(page: Page, question: str) -> None:
    page.locator(".st-key-question textarea").fill(question)
    page.locator(".st-key-run-buttons button").first.click()


def _done(page: Page, locale: str) -> None:
    _ask(page, SPANISH if locale == "es-ES" else ENGLISH)
    expect(page.locator(".rl-support")).to_have_count(3, timeout=ANSWER_MS)


def _stages(page: Page, locale: str) -> None:
    _done(page, locale)
    page.locator(".stExpander summary").first.click()
    expect(page.locator(".rl-stages").first).to_be_visible()
    page.locator("#rl-none, .stExpander summary").first.scroll_into_view_if_needed()


def _urgent(page: Page, locale: str) -> None:
    _ask(page, URGENT[locale])
    expect(page.locator(".rl-urgent")).to_be_visible(timeout=ANSWER_MS)
    expect(page.locator(".rl-passages").first).to_be_visible(timeout=ANSWER_MS)


def _running(page: Page, locale: str) -> None:
    _ask(page, SPANISH if locale == "es-ES" else ENGLISH)
    expect(page.locator(".rl-wait").first).to_be_visible(timeout=ANSWER_MS)


def _failed(page: Page, locale: str) -> None:
    _ask(page, SPANISH if locale == "es-ES" else ENGLISH)
    expect(page.locator(".rl-bad").first).to_be_visible(timeout=ANSWER_MS)


def _panel(page: Page, _: str) -> None:
    page.locator(".st-key-settings-0 button").click()
    expect(page.locator(".st-key-panel")).to_be_visible()


def _tuned(page: Page, locale: str) -> None:
    _ask(page, SPANISH if locale == "es-ES" else ENGLISH)
    expect(page.locator(".rl-knob-note span").first).to_be_visible(timeout=ANSWER_MS)


def _presented(page: Page, locale: str) -> None:
    _done(page, locale)
    page.keyboard.press("F2")
    expect(page.locator(".st-key-presenter-bar")).to_be_visible(timeout=ANSWER_MS)


def _measured(page: Page, _: str) -> None:
    page.get_by_role("button", name=re.compile("^(Measure|Medir)$")).click()
    progress = page.get_by_test_id("stProgress")
    expect(progress).to_be_visible(timeout=ANSWER_MS)  # links of earlier measurements stand here too
    expect(progress).to_have_count(0, timeout=MEASURED_MS)


def _unmeasurable(page: Page, _: str) -> None:
    split = page.get_by_role("textbox", name=re.compile("^(Split|Parte)$"))
    split.fill("none")
    split.press("Enter")
    page.get_by_role("button", name=re.compile("^(Measure|Medir)$")).click()
    expect(page.get_by_role("alert").first).to_be_visible(timeout=ANSWER_MS)


def _view(place: int) -> State:
    """The view of the Documents page at this place."""

    def reach(page: Page, _: str) -> None:
        page.locator(".st-key-view button").nth(place).click()
        expect(page.locator(".st-key-view button").nth(place)).to_be_checked()

    return reach


def _still(page: Page, _: str) -> None:
    """As it opens."""


READY: dict[str, tuple[str, State]] = {
    "compare-empty": ("", _still),
    "compare-settings": ("", _panel),
    "compare-done": ("", _done),
    "compare-stages": ("", _stages),
    "compare-urgent": ("", _urgent),
    "questions-done": ("questions", _still),
    "tune-empty": ("tune", _still),
    "strategies": ("strategies", _still),
    "documents-read": ("documents", _still),
    "documents-add": ("documents", _view(1)),
    "documents-map": ("documents", _view(2)),
    "measure-empty": ("measure", _still),
    "results-empty": ("results", _still),
    "search-settings-empty": ("search-settings", _still),
    "history-empty": ("history", _still),
    "tune-done": ("tune", _tuned),
    "presenter-done": ("", _presented),
    "measure-failed": ("measure", _unmeasurable),
    "measured-done": ("measure", _measured),  # the two below show what this one has measured
    "measured-results": ("results", _still),
    "measured-history": ("history", _still),
}
SLOW: dict[str, tuple[str, State]] = {"compare-running": ("", _running), "tune-running": ("tune", _running)}
BROKEN: dict[str, tuple[str, State]] = {"compare-failed": ("", _failed), "tune-failed": ("tune", _failed)}


@contextmanager
def _served(home: Path, **environment: str) -> Iterator[str]:
    with serving(RAG_HOME=str(home), **environment) as address:
        yield address


def _shoot(
    browser: Browser, address: str, states: dict[str, tuple[str, State]], word: str
) -> tuple[int, list[str]]:
    """How many pictures were taken, and a line for each that could not be."""
    taken, missing = 0, []
    for (name, (path, reach)), locale, theme, width in itertools.product(
        states.items(), LANGUAGES, THEMES, SIZES
    ):
        file = OUT / f"{name}-{locale[:2]}-{theme}-{width}.png"
        if word not in file.stem:
            continue
        context = browser.new_context(
            viewport={"width": width, "height": SIZES[width]}, locale=locale, color_scheme=theme
        )
        try:
            page = context.new_page()
            page.goto(f"{address}/{path}")
            expect(page.locator(".rl-dot")).to_be_attached(timeout=ANSWER_MS)
            expect(page.locator("[data-testid=stHeading], .st-key-ask").first).to_be_attached(
                timeout=ANSWER_MS
            )
            reach(page, locale)
            expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=ANSWER_MS)
            page.wait_for_timeout(700)  # charts and fonts settle; a picture has no state to wait for
            page.screenshot(path=file)
        except (AssertionError, Error) as error:
            file.unlink(missing_ok=True)  # an earlier run's picture is not this state
            missing.append(f"{file.stem}: {str(error).splitlines()[0]}")
        else:
            taken += 1
            print(file.relative_to(ROOT), flush=True)  # noqa: T201
        finally:
            context.close()
    return taken, missing


def main(word: str = "") -> int:
    """Take the pictures whose name has the word; 1 if any could not be taken, else 0."""
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        home = Path(scratch)
        with _served(home, RAG_LLM="offline") as address:
            taken, missing = _shoot(browser, address, READY, word)
        troubles: list[tuple[dict[str, tuple[str, State]], Behaviour]] = [
            (SLOW, Hang()),
            (BROKEN, Status(500)),
        ]
        for states, trouble in troubles:
            with serve() as server:
                server.choose = lambda body, trouble=trouble: trouble
                with _served(
                    home, RAG_LLM="openai", OPENAI_BASE_URL=server.url, OPENAI_API_KEY="none"
                ) as address:
                    more, unreached = _shoot(browser, address, states, word)
            taken, missing = taken + more, missing + unreached
        browser.close()
    print(f"{taken} pictures in {OUT.name}/; {len(missing)} could not be taken", *missing, sep="\n")  # noqa: T201
    return 1 if missing or not taken else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
