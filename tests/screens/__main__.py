"""`make screenshots`: every page in its states, in three widths, light and dark, in every language, into `screenshots/`.

python -m screens [PATTERN]: only those in whose name the regular expression is found, such as "compare" or
"(tune|documents).*-es-dark". Of each state there is the first screen and, with "-whole" in its name, the page to its end.

A state that cannot be reached does not stop the others: the last lines count the pictures and name what is missing,
and the exit code is 1 if anything is.
"""

import itertools
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from helpers.behaviours import Behaviour, Hang, Status
from helpers.browser import CHROMIUM, serving
from helpers.openai_server import serve
from helpers.small import ROOT
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from .states import ANSWER_MS, BROKEN, OUTSIDE, SLOW, UNREADY, States, files_to_add, ready, small_set

OUT = ROOT / "screenshots"
SIZES = {1440: 900, 1024: 768, 390: 844}
TALLEST = 8_000
THEMES, LANGUAGES = ("light", "dark"), ("en-GB", "es-ES")
SETTLED_MS = 700  # charts and fonts settle; a picture has no state to wait for


@contextmanager
def _served(home: Path, **environment: str) -> Iterator[str]:
    with serving(RAG_HOME=str(home), **environment) as address:
        yield address


@contextmanager
def _provider(trouble: Behaviour, home: Path, *, host: str = "127.0.0.1") -> Iterator[str]:
    """The app with a language model that does nothing but this."""
    with serve() as server:
        server.choose = lambda body: trouble
        url = server.url.replace("127.0.0.1", host)
        with _served(home, RAG_LLM="openai", OPENAI_BASE_URL=url, OPENAI_API_KEY="none") as address:
            yield address


def _shoot(browser: Browser, address: str, states: States, pattern: str) -> tuple[int, list[str]]:
    """How many pictures were taken, and a line for each state that could not be reached."""
    taken, missing = 0, []
    for (name, (path, reach)), locale, theme in itertools.product(states.items(), LANGUAGES, THEMES):
        stem = f"{name}-{locale[:2]}-{theme}"
        files = {
            width: OUT / f"{stem}-{width}.png" for width in SIZES if re.search(pattern, f"{stem}-{width}")
        }  # a pattern may choose widths too
        if not files:
            continue
        context = browser.new_context(
            viewport={"width": 1440, "height": SIZES[1440]}, locale=locale, color_scheme=theme
        )
        for file in files.values():
            file.unlink(missing_ok=True)  # an earlier run's picture is not this state
        try:
            page = context.new_page()
            page.goto(f"{address}/{path}")
            expect(page.locator(".rl-dot, .rl-engine.rl-bad").first).to_be_attached(timeout=ANSWER_MS)
            expect(page.locator("[data-testid=stHeading], .st-key-ask").first).to_be_attached(timeout=ANSWER_MS)
            reach(page, locale)
            expect(page.get_by_test_id("stSkeleton")).to_have_count(0, timeout=ANSWER_MS)
            for width, file in files.items():
                taken += _picture(page, width, file)
        except (AssertionError, Error) as error:
            missing.append(f"{stem}: {str(error).splitlines()[0]}")
        finally:
            context.close()
    return taken, missing


def _picture(page: Page, width: int, file: Path) -> int:
    """The first screen, and the whole page if there is more of it; how many pictures that made."""
    page.set_viewport_size({"width": width, "height": SIZES[width]})
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=file)
    print(file.relative_to(ROOT), flush=True)  # noqa: T201
    height = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight") + 60
    whole = file.with_stem(f"{file.stem}-whole")
    whole.unlink(missing_ok=True)
    if height <= SIZES[width] + 60:
        return 1
    page.set_viewport_size({"width": width, "height": min(height, TALLEST)})
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=whole)
    return 2


def main(pattern: str = "") -> int:
    """Take the pictures in whose name the pattern is found; 1 if any could not be taken, else 0."""
    OUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        home = Path(scratch, "home")
        animals = small_set(Path(scratch, "animals"))
        offline = ready(animals, files_to_add(Path(scratch, "leaflets")))
        measured = f"{animals},{animals / 'missing'}"
        served = [
            (offline, lambda: _served(home, RAG_LLM="offline", RAG_BENCHMARKS=measured)),
            (SLOW, lambda: _provider(Hang(), home)),
            (BROKEN, lambda: _provider(Status(500), home)),
            (OUTSIDE, lambda: _provider(Hang(), home, host="0.0.0.0")),  # no loopback address
            (UNREADY, lambda: _served(home, RAG_LLM="nonsense")),
        ]
        taken, missing = 0, []
        for states, server in served:
            if not any(_chosen(name, pattern) for name in states):
                continue
            with server() as address:
                more, unreached = _shoot(browser, address, states, pattern)
            taken, missing = taken + more, missing + unreached
        browser.close()
    print(f"{taken} pictures in {OUT.name}/; {len(missing)} states could not be reached", *missing, sep="\n")  # noqa: T201
    return 1 if missing or not taken else 0


def _chosen(name: str, pattern: str) -> bool:
    """Whether the pattern is found in the name of any picture of this state."""
    names = itertools.product(LANGUAGES, THEMES, SIZES)
    return any(re.search(pattern, f"{name}-{locale[:2]}-{theme}-{width}") for locale, theme, width in names)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
