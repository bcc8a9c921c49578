"""Random use of all pages, bounded and seeded, by two visitors at once: no exception on screen, in the console or in the log.

What is done depends on the seed and on what has been drawn by then, so the same seed leads nearly the same way again.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import time
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path

import pytest
from helpers.browser import ANSWER_MS, ENGLISH, serving
from helpers.source_files import docx, locked_pdf, pdf, write, xlsx
from playwright.sync_api import Browser, BrowserContext, Error, Locator, expect

from pages.frame.addresses import PATHS
from rag_core.lab.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        "RANDOM_CLICKS_SECONDS" not in os.environ, reason="set RANDOM_CLICKS_SECONDS to click at random"
    ),
]
SECONDS = float(os.environ.get("RANDOM_CLICKS_SECONDS", "40"))
SEED = int(os.environ.get("RANDOM_CLICKS_SEED", "16"))
ENOUGH = 500  # acts in which every kind of control is met
ACT_MS = 700
CLICKABLE = (
    "button:not([disabled]), summary, [role=tab], [role=radio], label:has(input[type=checkbox]), "
    "a[href]:not([href^='mailto:'])"
)
BOXES = "textarea, input[type=text]:not([role=combobox]), input:not([type])"
WORDS = (
    "anti-D", "¿Cuáles son los riesgos de la cesárea?", "-1", "", "I am 30 weeks and bleeding heavily", "0.5, 0.2",
    "What is my mother Ana García, 612 345 678, allowed to eat?", "{question}", "<b>bold</b> $x$", "1e400", "x" * 3000,
)  # fmt: skip
KEYS = ("F2", "g", "s", "n", "v", "b", "Escape", "Tab", "Enter", "Space")
QUERIES = (
    "", "?lang=es", "?lang=en", "?lang=xx", "?run=gone", "?s=bm25&s=nonsense&1.k1=99", "?document=none",
    "?corpus=nowhere", "?view=add", "?sweep=gone", "?s=hybrid_rrf&1.mmr_lambda=two",
)  # fmt: skip
FILES: dict[str, bytes | str] = {
    "visits.md": "# Visits\n\nVisiting hours are from 2 to 8.", "beds.txt": "Beds are made at nine.",
    "parking.html": "<h1>Parking</h1><p>The first hour is free.</p>", "pain.pdf": pdf("Paracetamol is offered."),
    "letter.docx": docx("A letter goes to the doctor."), "rooms.xlsx": xlsx(One=[["id", "text"], ["a", "A bath."]]),
    "staff.csv": "name,task\nRosa,midwife\n", "rules.jsonl": '{"_id": "a", "text": "Wash your hands."}\n',
    "locked.pdf": locked_pdf(), "scan.pdf": pdf(), "empty.md": b"", "binary.txt": b"\x89PNG\r\n\x00\xff",
}  # fmt: skip
# of the browser, when a page is left while it loads or asks below its own path where the server is
HARMLESS = re.compile(r"/_stcore/|WebSocket is closed before|net::ERR_ABORTED")


class Visitor:
    """One browser session that does what chance says and notes what went wrong."""

    def __init__(
        self, context: BrowserContext, address: str, chance: random.Random, files: list[Path]
    ) -> None:
        self.address, self.chance, self.files = address, chance, files
        self.done: deque[str] = deque(maxlen=15)
        self.counts: Counter[str] = Counter()
        self.errors: list[str] = []
        context.route(lambda url: not url.startswith((address, "data:", "blob:")), self._outside)
        self.page = context.new_page()
        self.page.set_default_timeout(ACT_MS)
        self.page.set_default_navigation_timeout(60_000)
        self.page.on("pageerror", lambda error: self._note(f"page error: {error}"))
        self.page.on(
            "console",
            lambda line: (
                self._note(f"console: {line.text} {line.location['url']}") if line.type == "error" else None
            ),
        )
        self.acts: dict[str, tuple[int, Callable[[], str]]] = {
            "go": (8, self._go), "travel": (4, self._travel), "click": (45, self._click), "choose": (14, self._choose),
            "slide": (10, self._slide), "type": (9, self._type), "count": (3, self._count), "press": (4, self._press),
            "upload": (3, self._upload), "grid": (3, self._grid), "ask": (4, self._ask),
        }  # fmt: skip

    def act(self) -> None:
        """Do one thing; what was chosen may be gone or covered by now, and that is part of it."""
        names = list(self.acts)
        (name,) = self.chance.choices(names, [weight for weight, _ in self.acts.values()])
        try:
            self.done.append(f"{name} {self.acts[name][1]()}")
            self.counts[name] += 1
        except LookupError:  # there is nothing of this kind
            return
        except Error as error:
            self.done.append(f"{name} missed: {str(error).splitlines()[0][:60]}")
            if "crash" in str(error).lower():
                self.errors.append(f"the tab crashed: {error}")

    def trouble(self) -> list[str]:
        """What went wrong so far."""
        shown = self.page.locator("[data-testid=stException], [role=dialog]:has-text('Bad message format')")
        try:
            return [*self.errors, *shown.all_inner_texts()]
        except Error:  # a page is leaving; the next look sees the new one
            return self.errors

    def _note(self, error: str) -> None:
        if not HARMLESS.search(error):
            self.errors.append(error)

    def _outside(self, route: object) -> None:
        self.errors.append(f"outside: {route.request.url}")  # type: ignore[attr-defined]
        route.abort()  # type: ignore[attr-defined]

    def _one(self, where: str | Locator) -> Locator:
        """One of the visible elements."""
        found = (self.page.locator(where) if isinstance(where, str) else where).filter(visible=True)
        count = found.count()
        if not count:
            raise LookupError(where)
        return found.nth(self.chance.randrange(count))

    def _go(self) -> str:
        self.page.goto(f"{self.address}/{self.chance.choice(PATHS)}{self.chance.choice(QUERIES)}")
        return self.page.url

    def _travel(self) -> str:
        way = self.chance.choice(("go_back", "go_forward", "reload"))
        getattr(self.page, way)(wait_until="commit")
        if not self.page.url.startswith(self.address):
            self.page.goto(self.address)
        return f"{way} to {self.page.url}"

    def _click(self) -> str:
        one = self._one(CLICKABLE)
        name = (one.text_content() or one.get_attribute("aria-label") or "").strip()[:40]
        one.click()
        return name

    def _choose(self) -> str:
        self._one("[role=combobox]").click()
        if self.chance.random() < 0.2:
            self.page.keyboard.type(self.chance.choice(WORDS)[:20])
        option = self._one("[role=option]")
        name = (option.text_content() or "")[:40]
        option.click()
        self.page.keyboard.press("Escape")  # a list of several stays open
        return name

    def _slide(self) -> str:
        slider = self._one(self.page.get_by_role("slider", disabled=False))
        key = self.chance.choice(("ArrowLeft", "ArrowRight", "PageUp", "PageDown", "Home", "End"))
        for _ in range(self.chance.randrange(1, 12)):
            slider.press(key)
        return f"{slider.get_attribute('aria-label')} {key}"

    def _type(self) -> str:
        box, words = self._one(BOXES), self.chance.choice(WORDS)
        box.fill(words)
        box.press(self.chance.choice(("Enter", "Control+Enter", "Tab")))
        return repr(words[:20])

    def _count(self) -> str:
        box, number = self._one("input[type=number]"), self.chance.choice(("0", "7", "-3", "1e9", "2.5", ""))
        box.fill(number)
        box.press("Enter")
        return number

    def _press(self) -> str:
        key = self.chance.choice(KEYS)
        self.page.keyboard.press(key)
        return key

    def _upload(self) -> str:
        found = self.page.locator("input[type=file]")
        if not found.count():
            self.page.goto(f"{self.address}/documents?view=add")
            found.first.wait_for(state="attached", timeout=5_000)
        some = self.chance.sample(self.files, self.chance.randrange(1, len(self.files)))
        found.first.set_input_files(some)
        if self.chance.random() < 0.7:
            name = self.page.get_by_role("combobox", name=re.compile("Name of|Nombre de")).first
            name.fill(self.chance.choice(("ward", "sala-2", "obstetrics", "../x")))
            name.press("Enter")
            self.page.locator("[data-testid=stFormSubmitButton] button").first.click(timeout=2_000)
        return str(len(some))

    def _ask(self) -> str:
        """Ask something that has an answer, and open all that explains it: most controls stand in there."""
        path = self.chance.choice(("", "tune"))
        self.page.goto(f"{self.address}/{path}")
        box = self.page.locator(".st-key-question textarea")
        box.fill(ENGLISH, timeout=10_000)
        self.page.locator(".st-key-run-buttons button").first.click(timeout=5_000)
        self.page.locator(".rl-support").first.wait_for(timeout=20_000)
        for part in self.page.locator("[data-testid=stExpander] summary").all():
            part.click()
        inner = self.page.get_by_text(re.compile("^(Cost and time|Coste y tiempo)$"))
        if inner.count():
            inner.first.click()
        return path

    def _grid(self) -> str:
        grid = self._one("[data-testid=stDataFrame]")
        place = {"x": self.chance.randrange(5, 60), "y": self.chance.randrange(5, 120)}
        grid.click(position=place)
        return str(place)


@pytest.mark.timeout(
    SECONDS + 900
)  # beside the clicks: the index, the start, and the act under way at the end
def test_random_use_meets_no_exception(browser: Browser, lab: Lab, real_home: Path, tmp_path: Path) -> None:
    """RANDOM_CLICKS_SECONDS=600 clicks for ten minutes; RANDOM_CLICKS_SEED takes another way."""
    home = shutil.copytree(real_home, tmp_path / "home")
    chance, log = random.Random(SEED), tmp_path / "log"
    files = sorted(write(tmp_path / "files", FILES).iterdir())
    with serving(log, RAG_HOME=str(home), RAG_LLM="offline") as address:
        contexts = [
            browser.new_context(viewport={"width": 1440, "height": 900}),
            browser.new_context(viewport={"width": 390, "height": 844}, locale="es-ES", has_touch=True),
        ]
        visitors = [Visitor(context, address, chance, files) for context in contexts]
        for visitor in visitors:
            visitor.page.goto(address)
            expect(visitor.page.locator(".rl-dot")).to_be_attached(timeout=ANSWER_MS)
        end, acts = time.monotonic() + SECONDS, 0
        while time.monotonic() < end:
            visitor = chance.choices(visitors, (3, 1))[0]
            visitor.act()
            acts += 1
            if trouble := visitor.trouble():
                pytest.fail(_story(acts, visitors, log, trouble))
        for context in contexts:
            context.close()
        # after all this a newcomer is served as at the start
        page = browser.new_page()
        page.goto(f"{address}/?lang=en")
        page.get_by_label("Question", exact=True).fill(ENGLISH, timeout=ANSWER_MS)
        page.get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".rl-support")).to_have_count(3, timeout=ANSWER_MS)
        page.close()
    text = log.read_text(encoding="utf-8", errors="replace")
    assert not re.search(r"Traceback|Exception|was created with a default value", text), _story(
        acts, visitors, log
    )
    met = sum((visitor.counts for visitor in visitors), Counter())
    if sum(met.values()) >= ENOUGH:
        assert not set(visitors[0].acts) - set(met) - {"count", "grid"}, met  # few pages have these


def _story(acts: int, visitors: list[Visitor], log: Path, trouble: list[str] | None = None) -> str:
    """How to go the same way again, the last things done, what was seen, and the end of the server's log."""
    time.sleep(1)  # for the log's last lines
    plain = re.sub(r"\x1b\[[\d;]*m", "", log.read_text(encoding="utf-8", errors="replace"))
    told = "\n".join(f"{one.page.viewport_size}: {list(one.done)}" for one in visitors)
    return f"RANDOM_CLICKS_SEED={SEED} after {acts} acts\n{told}\n{trouble}\n{plain[-6000:]}"
