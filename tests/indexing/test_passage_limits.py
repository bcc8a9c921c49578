"""Whatever a text is made of, it is split in reasonable time into passages of limited size, and nothing is lost."""

import re

import pytest
from helpers.looping import for_each
from helpers.small import WordEmbedder
from llama_index.core.schema import Document as LlamaDocument

from rag_core.documents.documents import Document
from rag_core.documents.limits import MAX_TITLE
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.indexing.cutting import LONGEST
from rag_core.indexing.passage_parser import LONGEST_WHOLE, PassageParser
from rag_core.values.errors import DataError, Stopped

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
    rows = [
        f"| drug {number} | {number} mg at night, with food or with a glass of milk |"
        for number in range(1_000)
    ]
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
