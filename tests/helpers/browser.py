"""The app served for a test, and a visitor of it."""

import math
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from .ports import free_port
from .small import ROOT

# The first is Chromium without its windows, and shows the same pages at less cost.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
ENGLISH = "When should I go to the hospital if I have contractions?"
SPANISH = "¿Cuáles son los riesgos de la cesárea?"
HALVES = "What does a caesarean mean for my next pregnancies, and how likely is it that I could give birth vaginally next time?"
LABELS = {ENGLISH: "When to go in", SPANISH: "Riesgos de la cesárea", HALVES: "After a caesarean: two questions in one"}
PLAIN = "?s=simple_semantic&s=bm25&s=hybrid_rrf"  # columns that ask a model for nothing but the answer
ANSWER_MS = 120_000  # models are loading and the machine may be busy
SERVED_S = 60


TWO_FRAMES = "new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"

# what moved, and how far: every shift's share of the screen times its share of the way, without those within 0.5 s of an
# input (Layout Instability API)
SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => {
  for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifts.push({
    value: one.value,
    at: one.startTime / 1000,
    what: one.sources.map(source => source.node && (source.node.className || source.node.nodeName)).join(' | '),
  });
}).observe({type: 'layout-shift', buffered: true});
"""
GOOD = 0.1  # a cumulative layout shift below it is "good" (web.dev, Core Web Vitals)
APART_S, WINDOW_S = 1.0, 5.0  # what parts the bursts of shifts, of which the largest counts


@contextmanager
def serving(log: Path | None = None, below: str = "", port: int = 0, **environment: str) -> Iterator[str]:
    """The app on a free port; its address.

    Args:
        log: where its output goes.
        port: a free one if 0.
        below: the path that it is served below, such as "/lab".
    """
    port = port or free_port()
    with ExitStack() as files:
        output = files.enter_context(log.open("wb")) if log else subprocess.DEVNULL
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)],
            cwd=ROOT,
            env={**os.environ, "STREAMLIT_SERVER_BASE_URL_PATH": below.strip("/"), **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    address = f"http://127.0.0.1:{port}{below}"
    try:
        deadline = time.monotonic() + SERVED_S
        while not _healthy(address):
            assert process.poll() is None, "the app ended before it was served"
            assert time.monotonic() < deadline, "the app is not served"
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait(timeout=20)


def _healthy(address: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
        return answer.read() == b"ok"
    return False


def strategy_boxes(page: Page) -> Locator:
    """The boxes that choose the strategies of Compare."""
    return page.get_by_role("combobox", name=re.compile(r"Strategy \d"))


def wait_for_models(page: Page) -> None:
    """Wait until the models are loaded or have failed to load: the redraw then may swallow a reply to the browser."""
    expect(page.locator(".rl-engine:not(:has(.rl-spin))")).to_have_count(1, timeout=ANSWER_MS)


def wait_until_drawn(page: Page) -> None:
    """Wait until no script draws the page: a redraw takes away what is typed into what it draws."""
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def errors_of(page: Page) -> list[str]:
    """The errors that the page's scripts log from now on, as they come."""
    errors: list[str] = []

    def note(line: ConsoleMessage) -> None:
        if line.type == "error":
            errors.append(line.text)

    page.on("console", note)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return errors


class Visit:
    """A browser session that notes what the page requests and logs."""

    def __init__(self, browser: Browser, address: str, width: int = 1440, height: int = 1000, script: str = "") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": height})
        self.context.add_init_script(script)
        self.context.set_default_timeout(60_000)  # the machine may be busy
        self.page: Page = self.context.new_page()
        self.requests: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.errors = errors_of(self.page)
        self.page.goto(address)
        expect(self.run_button).to_be_visible(timeout=60_000)
        wait_for_models(self.page)

    @property
    def run_button(self):
        return self.page.get_by_role("button", name="Run", exact=True)

    @property
    def stop_button(self):
        return self.page.get_by_role("button", name="Stop", exact=True)

    def results_for(self, question: str) -> Locator:
        """The line above the results; while the page is redrawn the old one stands beside the new, so count it."""
        return self.page.locator(".rl-question", has_text=f"Results for: {question}").filter(visible=True)

    def pick(self, question: str) -> None:
        demos = self.page.get_by_role("combobox", name="Demo questions")
        demos.fill(LABELS[question])
        self.page.get_by_role("option", name=LABELS[question], exact=True).click()
        expect(self.page.get_by_label("Question", exact=True)).to_have_value(question)

    def settings(self, column: str) -> Locator:
        """The open settings of a column, by its letter."""
        self.page.get_by_role("button", name=f"Settings {column}").click()
        panel = self.page.locator(".st-key-panel")
        expect(panel.get_by_text(f"{column} · ")).to_be_visible()  # not another column's, about to close
        return panel

    def type(self, question: str) -> None:
        self.page.get_by_label("Question", exact=True).fill(question)

    def wait_for_draft(self, question: str) -> None:
        """The browser has kept this question, with the address as it now is."""
        self.page.wait_for_function(
            "question => sessionStorage.getItem('typed') === JSON.stringify({at: location.href, text: question})",
            arg=question,
        )

    def run(self) -> None:
        self.run_button.click()

    def show_columns(self, count: int) -> None:
        self.page.get_by_role("button", name=str(count), exact=True).or_(
            self.page.get_by_role("radio", name=str(count), exact=True)
        ).click()

    def open_stages(self, columns: int = 3) -> Locator:
        for position in range(columns):
            box = self.page.get_by_test_id("stExpander").filter(has_text="How it got here").nth(position)
            box.get_by_text("How it got here").click()
            expect(box.locator(".rl-stages")).to_be_visible()
        return self.page.locator(".rl-stages")

    def wait_until_done(self, columns: int = 3) -> None:
        """Every column shows an answer, an abstention or a failure, warned of or not, and is drawn for the last time.

        Stop is off at the start of the last redraw, which replaces the answers: what is clicked before its end is lost.
        """
        settled = self.page.locator(".rl-answer:not(.rl-live), div.rl-box:not(.rl-answer + .rl-box)")
        expect(settled).to_have_count(columns, timeout=ANSWER_MS)
        expect(self.stop_button).to_be_disabled(timeout=ANSWER_MS)
        wait_until_drawn(self.page)

    def assert_clean(self) -> None:
        outside = [url for url in self.requests if not re.match(r"(https?|wss?)://127\.0\.0\.1|data:|blob:", url)]
        assert outside == []
        assert self.errors == []


class Watched:
    """A page that notes every request that leaves the app, and every dialog that a script opens."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.page: Page = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
        self.outside: list[str] = []
        self.dialogs: list[str] = []
        own = (address, address.replace("http", "ws"), "data:image", "blob:")
        self.page.on(
            "request",
            lambda request: None if request.url.startswith(own) else self.outside.append(request.url),
        )
        self.page.on("dialog", lambda dialog: (self.dialogs.append(dialog.message), dialog.dismiss()))

    def assert_alone(self, asked: Sequence[str] = ()) -> None:
        self.page.evaluate(TWO_FRAMES)  # an image's request leaves after it is drawn
        assert self.outside == []
        assert list(asked) == []
        assert self.dialogs == []
        drawn = self.page.get_by_test_id("stMain").locator("img, iframe, video, object, embed, script, image")
        sources = drawn.evaluate_all(
            "drawn => drawn.map(one => one.src || one.getAttributeNS('http://www.w3.org/1999/xlink', 'href') || one.outerHTML)"
        )
        # but for a heat map's own cells
        assert [one for one in sources if not one.startswith("data:image/png")] == []


def tab(page: Page, name: str) -> Locator:
    """The link to a page in the top navigation."""
    return page.get_by_test_id("stTopNavLink").filter(has_text=name)


def moved_by_run(page: Page) -> float:
    """When what the press of Run itself moves is in its place, in seconds of the page's clock."""
    expect(page.locator(".st-key-demo-9")).to_have_count(0)  # the demo questions are gone
    expect(page.locator(".rl-verdict")).to_be_attached()  # and the room for the verdict is there
    page.evaluate(TWO_FRAMES)
    return float(page.evaluate("performance.now() / 1000"))


def assert_still(page: Page, since: float) -> None:
    """Nothing has jumped since that second of the page's clock; `SHIFTS` is its init script."""
    moved = [one for one in page.evaluate("window.shifts") if one["at"] >= since]
    began = last = -math.inf
    bursts: list[float] = [0]
    for one in moved:
        if one["at"] - last >= APART_S or one["at"] - began >= WINDOW_S:
            bursts.append(0)
            began = one["at"]
        bursts[-1] += one["value"]
        last = one["at"]
    assert max(bursts) < GOOD, moved
