import re
import shutil
from urllib.parse import parse_qs, urlsplit

import pytest
from helpers.browser import ANSWER_MS, strategy_boxes
from helpers.in_process import html, press, text
from helpers.source_files import write
from playwright.sync_api import expect
from streamlit.testing.v1 import AppTest

from rag_core.indexing import CorpusStore, read_path
from rag_core.lab.browsing import position_of, search_passages, size_of
from rag_core.lab.corpora import keep_title

WORDS = "anti-D rhesus"


def search(app: AppTest, words: str) -> str:
    """What the page shows after a search."""
    next(one for one in app.text_input if one.label == "Words to search for").set_value(words).run()
    assert not app.exception
    return html(app)


@pytest.fixture
def documents(drawn: AppTest) -> AppTest:
    return drawn.run().switch_page("pages/documents/documents.py").run()


def told(app: AppTest) -> list[str]:
    return [one.value for one in (*app.caption, *app.info)]


def test_spanish_words_find_english_passages_too_and_say_so(documents):
    search(documents, "cesárea")
    assert any(re.search("Searched for in English too: .*caesarean", one) for one in told(documents))
    documents.button_group(key="library.language").set_value("en").run()
    found = html(documents).split('class="rl-cut"')[1:]
    assert found
    assert all("· English · BM25" in text(one.partition("</button>")[0]) for one in found)
    assert re.search("<mark>caesarean</mark>", html(documents), re.IGNORECASE)


def test_words_that_no_passage_has_say_what_to_do(documents):
    search(documents, "xyloquine")
    assert "No passage has any of these words. Try other words, or remove a filter." in told(documents)
    search(documents, "")
    assert any("Guidance cited by this document" in one.value for one in documents.markdown)


def test_what_deletes_a_file_is_of_that_file_alone(start, lab, real_home, tmp_path):
    """A press on a page that is being redrawn for another document must not reach what deletes that one."""
    home = tmp_path / "home"
    shutil.copytree(real_home / "corpora", home / "corpora")
    files = write(
        tmp_path / "files",
        {"visits.md": "# Visits\n\nFrom 2 to 8.", "meals.md": "# Meals\n\nLunch is at noon."},
    )
    CorpusStore(home, "ward", lab.engines.embedder).update(read_path(files))
    keep_title(home, "ward", "Ward 3: leaflets")
    app = start(RAG_HOME=str(home)).run()
    app.query_params["corpus"] = "Ward 3: leaflets"
    app.switch_page("pages/documents/documents.py").run()

    def deletes(words: str) -> str:
        search(app, words)
        (found,) = (one.key for one in app.button if one.label == "Delete it for good")
        assert found
        return found

    assert deletes("visits") != deletes("lunch")
    assert "2 files of your own in 2 passages. On the command line it is called ward." in told(app)
    press(app, "Delete it for good")
    assert "meals.md was deleted." in told(app)
    assert "meals.md was deleted." not in told(app.run())  # said once


@pytest.mark.browser
def test_passages_are_found_by_their_words_open_their_document_and_lead_to_compare(browser, app, lab):
    """On a phone, where list and document stand one above the other, and then on a desk."""
    context = browser.new_context(viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.goto(f"{app}/documents")
    expect(page.locator(".rl-dot")).to_be_visible(timeout=ANSWER_MS)
    hits = search_passages(lab, WORDS).hits
    documents = {hit.passage.doc_id for hit in hits}
    box = page.get_by_role("textbox", name="Words to search for")
    box.fill(WORDS)
    box.press("Enter")
    expect(page.get_by_text(f"{len(hits)} passages found in {len(documents)} documents")).to_be_visible()
    found = page.locator(".st-key-found")
    expect(found.locator(".rl-cut")).to_have_count(20)
    best = found.locator(".rl-cut").first
    expect(best).to_contain_text(f"{hits[0].passage.heading} · English · BM25 {hits[0].score:.2f}")
    expect(best.locator("mark").first).to_have_text(re.compile("anti|rhesus|d", re.IGNORECASE))

    found.get_by_role("button", name=re.compile(r"^2\. ")).click()
    second = hits[1].passage
    opened = page.locator(".rl-opened")
    back = page.get_by_role("button", name="Back to the results")
    expect(opened).to_be_in_viewport(ratio=0.5)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    back.click()
    expect(best).to_be_in_viewport()
    page.set_viewport_size({"width": 1440, "height": 900})
    found.get_by_role("button", name=re.compile(r"^2\. ")).click()
    expect(back).to_be_hidden()
    expect(opened).to_contain_text(second.text.split("\n")[0][:80])
    number, pieces = position_of(second) + 1, size_of(lab, second)
    about = f"{number}. {second.heading} · {pieces} word pieces, {len(second.text)} characters"
    expect(opened).to_contain_text(about)
    expect(opened.locator(".rl-context")).to_contain_text("Context:")
    found.get_by_role("button", name=re.compile("^Show ")).click()
    expect(found.locator(".rl-cut")).to_have_count(min(40, len(hits)))

    page.get_by_role("link", name="Compare with and without contexts").click()
    boxes = strategy_boxes(page)
    expect(boxes).to_have_count(2)
    for place in range(2):
        expect(boxes.nth(place)).to_have_value("Contextual retrieval")
    address = parse_qs(urlsplit(page.url).query)
    assert address["s"] == ["contextual", "contextual"]
    assert {name: value for name, value in address.items() if name.endswith(".enriched")} == {"2.enriched": ["false"]}
    context.close()
