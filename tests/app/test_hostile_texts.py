"""Hostile names, titles, texts, ids, replies and errors on every page: shown as they are, and nothing is fetched."""

import html
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from helpers.behaviours import Reply, Status
from helpers.beir import beir_folder
from helpers.browser import ANSWER_MS, Watched, serving, tab, wait_for_models
from helpers.hostile_suite import NOTHING_HELD, SHOWN
from helpers.openai_server import OpenAIServer, role_of, serve
from helpers.source_files import without_corpus
from playwright.sync_api import Locator, Page, expect

from pages.drawing.untrusted import JOINER
from rag_core.language.questions import check_question
from rag_core.values.visible import visible, without_invisible

pytestmark = pytest.mark.browser
TRICKS = (
    "![i]({0})", "![i][r] [r]: {0}", "[![i]({0})]({0})", "![i](<{0}>)", "<img src={0}>", "<img src='{0}'/>",
    "<svg><image href='{0}'/></svg>", "<script src={0}></script>", "<link rel=stylesheet href={0}>",
    "<style>@import url({0});</style>", "<b style='background:url({0})'>x</b>", "<iframe src={0}></iframe>",
    "<video poster={0}></video>", "<object data={0}></object>", "<input type=image src={0}>",
    "<a href='javascript:fetch(`{0}`)'>x</a>", "[x](javascript:fetch('{0}'))", "[x](data:text/html,<img/src={0}>)",
    "<img src=x onerror=fetch('{0}')>", "</div></p><img src={0}>", "\"><img src={0}>", "&lt;img src={0}&gt;",
    ":red[![i]({0})]", ":material/home: ![i]({0})", "$\\includegraphics{{{0}}}$", "| a |\n|---|\n| ![i]({0}) |",
    "`x` ![i]({0})", "=HYPERLINK(\"{0}\")", "%{{y}}<br><img src={0}>", "\x1b]8;;{0}\x07x \u202e ![i]({0})",
)  # fmt: skip


@pytest.fixture(scope="module")
def beacon() -> Iterator[tuple[str, list[str]]]:
    """A server nothing should call: its address, and the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def tricks(beacon: tuple[str, list[str]]) -> list[str]:
    return [trick.format(f"{beacon[0]}/{place}") for place, trick in enumerate(TRICKS)]


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


def joined(text: str) -> re.Pattern[str]:
    """The text, with or without the joiners that part what Streamlit would replace."""
    return re.compile(f"{JOINER}?".join(map(re.escape, text)))


def written(answer: Locator) -> str:
    """The text of an answer, without what is said of its sentences."""
    said = answer.evaluate(
        "one => { const copy = one.cloneNode(true);"
        " copy.querySelectorAll('[role=tooltip], .rl-mark').forEach(part => part.remove()); return copy.textContent; }"
    )
    return " ".join(str(said).split())


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory, tricks: list[str]) -> Path:
    """A collection whose titles, texts, topics and sources are hostile, one trick a document."""
    made = without_corpus(tmp_path_factory.mktemp("data"))
    for place, trick in enumerate(tricks):
        one = json.dumps(one_line(trick), ensure_ascii=False)
        text = (
            f"---\nid: d{place}\ntitle: {one}\nlanguage: en\ntopic: labour\n"
            f"sources:\n  - {{organisation: {one}, title: {one}, year: 2020}}\n---\n"
            f"# {one_line(trick)}\n\n## Purring {one_line(trick)}\n\nCats purr when they are happy {trick}\n"
        )
        (made / "corpus" / f"d{place}.md").write_text(text, encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory, tricks: list[str]) -> Path:
    """A BEIR folder whose name, ids, titles, texts and questions are hostile."""
    made = tmp_path_factory.mktemp("sets") / "![cats](x) <b>"
    ids = ["".join(trick.split()) for trick in tricks]
    rows = [{"_id": key, "title": trick, "text": f"Cats purr {trick}"} for key, trick in zip(ids, tricks, strict=True)]
    asked = [(f"q{row['_id']}", f"Why do cats purr {row['title']}?", {row["_id"]: 1}) for row in rows[:6]]
    beir_folder(made, asked, rows, ["test"])
    (made / "judgements.toml").write_text(f"judged_by = {json.dumps(one_line(tricks[0]))}\n")
    return made


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with serve() as server:
        yield server


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory, data: Path, questions: Path, provider: OpenAIServer) -> Iterator[str]:
    settings = {
        "OPENAI_BASE_URL": provider.url,
        "OPENAI_API_KEY": "test",
        "RAG_DATA": str(data),
        "RAG_BENCHMARKS": str(questions),
    }
    home, log = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("log") / "app.log"
    with serving(log, RAG_HOME=str(home), **settings, **NOTHING_HELD) as address:
        yield address
    said = log.read_text(encoding="utf-8", errors="replace")
    assert not re.search(r"Traceback|Exception|Error:", said), said[-3000:]


def test_hostile_documents_replies_questions_and_errors_on_compare(browser, app, provider, tricks, beacon):
    watched = Watched(browser, app)
    page = watched.page
    page.goto(f"{app}/?s=bm25&s=hybrid_rrf")
    wait_for_models(page)
    run = page.get_by_role("button", name="Run", exact=True)
    said = " ".join(tricks)

    def choose(body: dict[str, object]) -> Reply | Status:
        return (
            Reply(f"Cats \ud83d {said} [1]. [{'9' * 5000}]")
            if role_of(body) == "answer"
            else Status(400, said.replace("{", "(").replace("}", ")"))
        )

    provider.choose = choose
    page.get_by_label("Question", exact=True).fill(f"Why do cats purr? {tricks[0]} {tricks[4]}")
    run.click()
    expect(page.locator(".rl-answer:not(.rl-live)")).to_have_count(2, timeout=ANSWER_MS)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_disabled(timeout=ANSWER_MS)
    answer = written(page.locator(".rl-answer").first)
    for trick in tricks:
        assert " ".join(html.unescape(one_line(trick)).split()) in answer  # as models mean &lt;
    assert "Cats \ufffd" in answer
    page.locator(".rl-passage summary").first.click()
    page.get_by_role("button", name="Settings").first.click()
    page.keyboard.press("Escape")
    watched.assert_alone(beacon[1])

    for question in SHOWN:
        page.get_by_label("Question", exact=True).fill(question)
        run.click()
        asked = " ".join(visible(check_question(question)).split())
        expect(page.locator(".rl-question").last).to_have_text(f"Results for: {asked}", timeout=ANSWER_MS)
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_disabled(timeout=ANSWER_MS)
        page.locator(".rl-passage summary").first.click()
        watched.assert_alone(beacon[1])

    provider.choose = lambda body: Status(400, said.replace("{", "(").replace("}", ")"))
    page.get_by_label("Question", exact=True).fill("Why do cats purr again?")
    run.click()
    failed = page.locator(".rl-bad").first
    expect(failed).to_contain_text(tricks[0], timeout=ANSWER_MS)
    expect(failed).to_contain_text(tricks[4])
    watched.assert_alone(beacon[1])
    page.context.close()


def choose_folder(page: Page) -> None:
    box = page.get_by_role("combobox", name="Questions")
    expect(box).to_be_visible()
    box.click()
    page.get_by_role("option").nth(1).click()  # the built-in questions come first; its name is hostile


def test_hostile_documents_folders_and_measurements(browser, app, provider, tricks, beacon):
    provider.choose = lambda body: Reply(f"purr {tricks[0]}")
    watched = Watched(browser, app)
    page = watched.page
    page.goto(f"{app}/documents")
    box = page.get_by_role("combobox", name=f"To read ({len(tricks)})")
    main = page.get_by_test_id("stMain")
    for trick in (tricks[place] for place in (0, 4, 27, 29)):
        shown = one_line(trick)
        box.fill(shown, timeout=ANSWER_MS)
        page.get_by_role("option", name=f"{shown} (en)", exact=True).click()
        expect(main.get_by_role("heading", level=3)).to_have_text(joined(shown))
        expect(main.locator("h4")).to_have_text(f"Purring {shown}")
        expect(main.locator(".rl-text")).to_contain_text(one_line(without_invisible(trick)))
        expect(main.get_by_role("listitem").last).to_contain_text(joined(shown))
    watched.assert_alone(beacon[1])

    tab(page, "Evaluate").click()
    choose_folder(page)
    expect(page.get_by_text(one_line(tricks[0])).first).to_be_visible(timeout=ANSWER_MS)  # who judged
    page.get_by_role("button", name="Measure", exact=True).click()
    expect(page.get_by_text("done.")).to_be_visible(timeout=4 * ANSWER_MS)
    watched.assert_alone(beacon[1])
    page.get_by_role("link", name="See the results").click()
    expect(page.locator(".js-plotly-plot").first).to_be_visible(timeout=ANSWER_MS)
    expect(page.get_by_text("![cats](x) <b>").first).to_be_visible(timeout=ANSWER_MS)
    watched.assert_alone(beacon[1])
    page.get_by_role("tab", name="Question by question").click()
    expect(page.get_by_test_id("stDataFrame").last).to_be_visible(timeout=ANSWER_MS)
    watched.assert_alone(beacon[1])
    page.locator(".st-key-evaluate-view").get_by_text("Runs", exact=True).click()
    expect(page.get_by_text("Choose one run to see its results")).to_be_visible(timeout=ANSWER_MS)
    expect(page.get_by_test_id("stDataFrame").first).to_be_visible(timeout=ANSWER_MS)
    watched.assert_alone(beacon[1])
    page.context.close()
