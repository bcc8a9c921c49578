"""Texts cut into passages: what stays together, and that any text is split in reasonable time and nothing is lost."""

import itertools
import re

import pytest
from helpers.looping import for_each
from helpers.small import WordEmbedder
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.schema import Document as LlamaDocument

from rag_core.documents.documents import Document
from rag_core.documents.limits import MAX_TITLE
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.indexing.cutting import HARD, LONGEST, cut
from rag_core.indexing.passage_parser import LONGEST_WHOLE, PassageParser
from rag_core.values.errors import DataError, Stopped

SIZE = 60  # words


def count(text: str) -> int:
    return len(re.findall(r"\w+", text))


def numbered(lengths: list[tuple[str, list[int]]]) -> tuple[str, list[str], list[str]]:
    """A section of blocks, in which no word occurs twice; its lead-ins, and its lists with what belongs to them."""
    numbers = itertools.count()
    blocks: list[str] = []
    leads: list[str] = []
    lists: list[str] = []

    def words(length: int, end: str = ".") -> str:
        return " ".join(f"Word{next(numbers)}" for _ in range(length)) + end

    for kind, sizes in lengths:
        if kind == "prose":
            blocks.append(" ".join(map(words, sizes)))
            continue
        lead = words(sizes[0], ":")
        items = [f"- {words(size)}" for size in sizes[1:]]
        end = words(4)
        blocks += [lead, "\n".join(items), end]
        leads.append(lead)
        lists.append(" ".join([lead, *items, end]))
    return "\n\n".join(blocks), leads, lists


BLOCK = st.tuples(st.sampled_from(["prose", "list"]), st.lists(st.integers(2, 25), min_size=2, max_size=8))
SECTIONS = st.lists(BLOCK, min_size=1, max_size=6).map(numbered)


@given(SECTIONS)
def test_nothing_is_lost_and_only_a_lead_in_is_repeated(section):
    text, leads, _ = section
    found = [word for part in cut(text, "en", SIZE, count) for word in re.findall(r"\w+", part)]
    assert list(dict.fromkeys(found)) == re.findall(r"\w+", text)
    repeated = {word for word in found if found.count(word) > 1}
    assert repeated <= set(re.findall(r"\w+", " ".join(leads)))


@given(SECTIONS)
@example(numbered([("list", [20, 20, 20])]))
def test_a_list_below_the_limit_is_in_one_part_with_what_leads_in_and_what_concludes(section):
    text, _, lists = section
    parts = [set(re.findall(r"\w+", part)) for part in cut(text, "en", SIZE, count)]
    neighbours = len(lists) > 1  # what concludes one list may lead in the next
    for listed in lists:
        if count(listed) <= HARD * SIZE and not neighbours:
            assert any(set(re.findall(r"\w+", listed)) <= part for part in parts)


@given(SECTIONS)
def test_a_part_is_within_the_size_unless_a_list_is_kept_whole(section):
    text, _, _ = section
    for part in cut(text, "en", SIZE, count):
        assert count(part) <= (HARD * SIZE if "\n- " in f"\n{part}" else SIZE)


@given(SECTIONS)
def test_a_list_that_is_cut_begins_each_part_with_its_lead_in(section):
    assert not any(part.startswith("- ") for part in cut(section[0], "en", SIZE, count))


def sentence(length: int, word: str) -> str:
    return " ".join([word.title(), *[word] * (length - 1)]) + "."


def test_a_section_that_fits_is_not_touched():
    text = f"{sentence(29, 'a')}  {sentence(30, 'b')}\n- c"
    assert cut(text, "en", SIZE, count) == [text]


def test_paragraphs_that_fit_are_never_cut():
    paragraphs = [" ".join(sentence(10, word) for _ in range(4)) for word in ("a", "b", "c")]
    assert cut("\n\n".join(paragraphs), "en", SIZE, count) == paragraphs


def test_a_paragraph_that_does_not_fit_is_cut_evenly_between_sentences():
    parts = cut(" ".join(sentence(10, "a") for _ in range(8)), "en", SIZE, count)
    assert [count(part) for part in parts] == [40, 40]


def test_a_short_end_is_joined_to_what_fits_best():
    first, second, third = (sentence(length, word) for length, word in ((40, "a"), (30, "b"), (10, "c")))
    assert cut(f"{first}\n\n{second}\n\n{third}", "en", SIZE, count) == [first, f"{second}\n\n{third}"]


def test_a_list_past_the_limit_is_cut_between_items_and_its_lead_in_repeated():
    items = [f"- {sentence(20, word)}" for word in "abcdef"]
    listed = "\n".join(items)
    parts = cut(f"Go at once for:\n\n{listed}\n\nSay that you are pregnant.", "en", SIZE, count)
    assert len(parts) == 3
    assert all(part.startswith("Go at once for:\n\n- ") for part in parts)
    assert parts[-1].endswith("Say that you are pregnant.")


def test_an_action_stays_with_the_signs_before_it():
    filler = " ".join(sentence(9, "b") for _ in range(5))
    signs = "Heavy bleeding, fever and severe pain are signs of danger."
    action = "Any of these means that you should go to the hospital at once."
    for before in range(0, 6):
        text = f"{' '.join([sentence(9, 'a')] * before)} {signs} {action} {filler}".strip()
        assert any(signs in part and action in part for part in cut(text, "en", SIZE, count))


def test_an_action_stays_with_the_signs_after_it():
    action, signs = "Call the emergency number at once.", "The reasons are heavy bleeding and chest pain."
    for before in range(0, 8):
        text = f"{' '.join([sentence(9, 'a')] * before)} {action} {signs} {sentence(9, 'b')} {sentence(9, 'b')}"
        assert any(action in part and signs in part for part in cut(text.strip(), "en", SIZE, count))


def test_rows_of_a_table_are_not_cut_from_its_head():
    rows = "\n".join(f"| {sentence(4, word)} | {sentence(4, word)} |" for word in "abcd")
    table = f"| Drug | Dose |\n|---|---|\n{rows}"
    parts = cut(f"{sentence(50, 'x')}\n\n{table}", "en", SIZE, count)
    assert any(table in part for part in parts)


def test_rows_without_signs_around_them_are_cut_apart_and_named():
    rows = [f"{sentence(9, word)} | {sentence(9, word)}" for word in "abcdefgh"]
    parts = cut("\n".join(["Drug | Dose", "--- | ---", *rows]), "en", SIZE, count)
    assert len(parts) > 2
    assert all(part.startswith("Drug | Dose\n--- | ---\n") for part in parts)
    assert [line for part in parts for line in part.split("\n")[2:]] == rows


@pytest.mark.parametrize("rule", ["|---|---|", "| --- | :-: |", "|:--|--:|"])
def test_each_part_of_a_table_begins_with_its_lead_in_and_header(rule):
    head = f"| Drug | Dose |\n{rule}"
    rows = [f"| {sentence(9, word)} | {sentence(9, word)} |" for word in "abcdefgh"]
    table = "\n".join([head, *rows])
    parts = cut(f"For midwives:\n\n{table}\n\nAsk first.", "en", SIZE, count)
    assert len(parts) > 2
    assert all(part.startswith(f"For midwives:\n\n{head}\n| ") for part in parts)
    assert [line for part in parts for line in part.split("\n") if line in rows] == rows


def test_a_second_table_has_its_own_header_and_a_list_below_has_none():
    rows = [f"| {sentence(18, word)} |" for word in "abcdef"]
    items = [f"- {sentence(18, word)}" for word in "xyz"]
    text = "\n".join(["| One |", "| --- |", *rows[:3], "", "| Two |", "| --- |", *rows[3:], "", "Also:", "", *items])
    parts = cut(text, "en", SIZE, count)
    for part in parts:
        lines = part.split("\n")
        for name, own in (("| One |", rows[:3]), ("| Two |", rows[3:])):
            assert (name in lines) == any(row in lines for row in own)
        assert not (lines[0].startswith("|") and any(item in lines for item in items[1:]))


def test_a_header_too_long_to_repeat_is_written_once():
    head = f"| {sentence(60, 'n')} |\n| --- |"
    rows = "\n".join(f"| {sentence(18, word)} |" for word in "abcdef")
    assert "\n\n".join(cut(f"{head}\n{rows}", "en", SIZE, count)).count("---") == 1


TEXTS = {
    "punctuation": "?!" * 3_000,
    "quotes": '."' * 3_000,
    "one word": "a" * 200_000,
    "spaces": f"word{' ' * 5_000}" * 20,
    "commas": ", " * 10_000,
    "no spaces, with stops": "语言模型。" * 4_000,
    "sentences": "This is a sentence about it. " * 10_000,
    "headings": "# a\n" * 2_000 + "words",
    "long heading": f"# {'h' * 500_000}\n\nwords",
    "deep headings": "\n".join(f"{'#' * level} h\n\nwords {level}" for level in range(1, 300)),
}


def split(text: str, *, whole: bool = False, count=lambda text: -(-len(text) // 4)) -> list[LlamaDocument]:
    metadata = {"title": "T", "language": "en", "source": "", "whole": whole}
    document = LlamaDocument(id_="d", text=text, metadata=metadata)
    return PassageParser(count).get_nodes_from_documents([document])


def characters(text: str) -> str:
    return re.sub(r"[\s#›]", "", text)


@for_each("name", TEXTS)
@for_each("count", [lambda text: -(-len(text) // 4), lambda text: len(text.split())])
def test_any_text_becomes_passages_of_limited_size(name, count):
    nodes = split(TEXTS[name], count=count)
    assert all(0 < len(node.text) <= LONGEST for node in nodes)
    assert all(len(node.metadata["heading"]) <= LONGEST for node in nodes)
    if "heading" not in name:
        assert characters("".join(node.text for node in nodes)) == characters(TEXTS[name])


def test_a_table_as_long_as_a_book_has_its_header_in_every_passage():
    rows = [f"| drug {number} | {number} mg at night, with food or with a glass of milk |" for number in range(1_000)]
    nodes = split("\n".join(["# Drugs", "", "| Drug | Dose |", "| --- | --- |", *rows]))
    assert all(node.text.startswith("| Drug | Dose |\n| --- | --- |\n| drug ") for node in nodes)
    assert [line for node in nodes for line in node.text.split("\n") if line in set(rows)] == rows


def test_a_heading_as_long_as_a_book_is_cut():
    (node,) = split(TEXTS["long heading"])
    assert node.text == "words"
    assert len(node.metadata["heading"]) == MAX_TITLE


def test_a_whole_document_is_one_passage_up_to_its_limit():
    assert len(split("words " * 8_000, whole=True)) == 1
    parts = split("words " * 100_000, whole=True)
    assert len(parts) > 1
    assert all(len(node.text) <= LONGEST_WHOLE for node in parts)


@pytest.mark.parametrize("error", [TimeoutError, RecursionError, ValueError])
def test_a_text_that_the_sentence_splitter_gives_up_on_is_cut_by_length(error):
    def count(text: str) -> int:
        if len(text) > 3_000:
            raise error("gave up")
        return len(text) // 4

    nodes = split("words " * 1_000, count=count)
    assert characters("".join(node.text for node in nodes)) == "words" * 1_000
    assert all(len(node.text) <= LONGEST for node in nodes)


def test_a_timeout_of_a_tokenizer_is_not_a_full_disk(tmp_path):
    class Slow(WordEmbedder):
        def count(self, text: str) -> int:
            raise TimeoutError("the tokenizer took too long")

    store = CorpusStore(tmp_path, "animals", Slow())
    long = "Hens lay eggs. " * 100
    with pytest.raises(DataError, match="the tokenizer took too long") as refused:
        store.update(SourceFiles("test", [Document("a", "A", "en", long), Document("b", "B", "en", long)]))
    assert "disk" not in str(refused.value)


def test_splitting_can_be_stopped(tmp_path):
    def stop(what: str, done: int, total: int) -> None:
        if what == "split" and done:
            raise Stopped

    store = CorpusStore(tmp_path, "animals", WordEmbedder())
    documents = [Document(str(number), "H", "en", f"Hens lay {number} eggs.") for number in range(3)]
    with pytest.raises(Stopped):
        store.update(SourceFiles("test", documents), stop)
    assert store.open() is None


def test_hundreds_of_rows_with_the_same_text_are_no_damaged_index(tmp_path):
    store = CorpusStore(tmp_path, "animals", WordEmbedder())
    rows = [Document(f"row {number}", "Row", "en", "Hens lay eggs.") for number in range(700)]
    store.update(SourceFiles("test", [*rows, Document("other", "O", "en", "Goats give milk.")]))
    opened = store.open()
    assert len(opened.passages) == 701
