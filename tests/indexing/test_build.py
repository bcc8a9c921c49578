import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.looping import for_each
from helpers.small import DOCUMENTS, ROOT, WordEmbedder
from helpers.source_files import write
from llama_index.core.schema import Document as LlamaDocument
from tokenizers import Tokenizer

from rag_core.documents.documents import Document, read_collection
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles, read_path
from rag_core.indexing.passage_parser import PassageParser
from rag_core.indexing.passages import passage_of
from rag_core.language.analysis import sentences
from rag_core.language.spanish import Gloss
from rag_core.language.thesaurus import Thesaurus
from rag_core.models.minilm import minilm_folder
from rag_core.values.errors import DataError
from rag_core.values.types import Passage

BUILTIN = read_collection(ROOT / "data" / "corpus")
Count = Callable[[str], int]


def count_words(text: str) -> int:
    return len(text.split())


@pytest.fixture(scope="module")
def count_pieces() -> Count:
    """Word pieces as MiniLM's own tokenizer file counts them."""
    tokenizer = Tokenizer.from_file(str(minilm_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def cut(document: Document, count: Count = count_words, *, whole: bool = False) -> list[Passage]:
    metadata = {"title": document.title, "language": document.language, "source": "", "whole": whole}
    node = LlamaDocument(id_=document.id, text=document.text, metadata=metadata)
    nodes = PassageParser(count).get_nodes_from_documents([node])
    return [passage_of(node.node_id, node.get_content(), node.metadata) for node in nodes]


@pytest.fixture(scope="module")
def builtin(count_pieces: Count) -> list[list[Passage]]:
    """The passages of each built-in document."""
    return [cut(document, count_pieces) for document in BUILTIN]


def test_a_built_in_passage_is_a_whole_section_and_the_model_reads_all_of_it(builtin, count_pieces):
    data = ROOT / "data"
    gloss = Gloss.read(data / "gloss" / "es.tsv", Thesaurus.read(data / "thesaurus.toml"))
    for document, passages in zip(BUILTIN, builtin, strict=True):
        sections = [text.strip() for text in re.split(r"^#+ .*$", document.text, flags=re.MULTILINE)]
        assert [passage.text for passage in passages] == [text for text in sections if text], document.id
        for passage in passages:
            text = passage.indexed_text
            read = gloss.english(text) if passage.language == "es" else text
            assert count_pieces(read) + 2 <= 256, passage.id


def test_cutting_the_built_in_documents_loses_no_word_and_keeps_their_order(builtin):
    for document, passages in zip(BUILTIN, builtin, strict=True):
        body = "\n".join(line for line in document.text.splitlines() if not line.startswith("#"))
        found = iter(" ".join(passage.text for passage in passages).split())
        assert all(word in found for word in body.split()), document.id


def test_every_section_of_a_built_in_document_is_named_in_its_passages(builtin):
    for document, passages in zip(BUILTIN, builtin, strict=True):
        named = "\n".join(f"{passage.heading}\n{passage.text}" for passage in passages)
        for name in re.findall(r"^#{2,} (.+)$", document.text, re.MULTILINE):
            assert name.strip() in named
        assert not any(passage.heading.startswith(document.title) for passage in passages)


def test_no_built_in_passage_begins_or_ends_inside_a_sentence(builtin):
    for passage in [passage for passages in builtin for passage in passages]:
        assert passage.text.rstrip("*_)\"'»”")[-1] in ".!?:;", passage.text[-40:]
        assert not passage.text[0].islower(), passage.text[:40]


def prose(words: int, word: str = "w") -> str:
    return " ".join([word] * words)


@pytest.mark.parametrize(
    ("first", "second", "lengths"),
    [
        (20, 20, [20 + 1 + 20]),
        (47, 203, [47 + 1 + 203]),
        (47, 204, [47, 204]),
        (48, 1, [48, 1]),
        (1, 249, [1 + 1 + 249]),
        (1, 250, [1, 250]),
    ],
)
def test_a_short_section_takes_in_the_next_while_both_fit_below_title_and_heading(first, second, lengths):
    text = f"# T\n\n## A\n\n{prose(first)}\n\n## B\n\n{prose(second)}"
    passages = cut(Document("x", "T", "en", text))
    assert [count_words(passage.text) for passage in passages] == lengths
    assert [passage.heading for passage in passages] == ["A", "B"][: len(lengths)]


def test_a_joined_section_keeps_its_name_as_a_line_of_the_text():
    text = "# T\n\n## A\n\nfirst\n\n### B\n\nsecond\n\n## C\n\nthird"
    (passage,) = cut(Document("x", "T", "en", text))
    assert passage.heading == "A"
    assert passage.text == "first\n\nB\n\nsecond\n\nC\n\nthird"


@for_each(
    ("text", "headings"),
    [
        (f"# T\n\n{prose(150)}", [""]),
        (prose(150), [""]),
        (f"# T\n\n## A\n\n{prose(150)}", ["A"]),
        (f"# T\n\n## A\n\n### B\n\n{prose(150)}", ["A › B"]),
        (
            f"# T\n\n## A\n\n{prose(150)}\n\n### B\n\n{prose(150)}\n\n## C\n\n{prose(150)}",
            ["A", "A › B", "C"],
        ),
        (f"# Other\n\n## A\n\n{prose(150)}", ["Other › A"]),
        (f"# T\n\n## 5/6 or 1 › 2\n\n{prose(150)}", ["5/6 or 1 › 2"]),
        (f"# T\n\n```\n# code\n```\n\n{prose(150)}", [""]),
    ],
)
def test_a_passage_carries_the_path_of_headings_below_the_title(text, headings):
    assert [passage.heading for passage in cut(Document("x", "T", "en", text))] == headings


def test_a_long_section_is_split_between_sentences_without_overlap():
    spoken = [f"Sentence number {number} has exactly eight words here." for number in range(100)]
    passages = cut(Document("x", "T", "en", f"# T\n\n## A\n\n{' '.join(spoken)}"))
    assert len(passages) == 4
    assert all(count_words(passage.text) == 25 * 8 for passage in passages)
    assert [s for passage in passages for s in sentences(passage.text, "en")] == spoken
    assert {passage.heading for passage in passages} == {"A"}


def test_a_sentence_longer_than_a_passage_is_split_at_words():
    passages = cut(Document("x", "T", "en", prose(450)))
    assert all(count_words(passage.text) <= 252 for passage in passages)
    assert sum(count_words(passage.text) for passage in passages) == 450


@pytest.mark.parametrize("text", ["#1 tip: drink water.", "#5minutes is enough rest.", "# T\n\n#hashtag first"])
def test_a_line_that_only_looks_like_a_heading_is_text(text):
    (passage,) = cut(Document("x", "T", "en", text))
    assert passage.text == text.removeprefix("# T\n\n")


def test_a_whole_document_stays_in_one_passage():
    text = f"# T\n\n## A\n\n{prose(500)}"
    (passage,) = cut(Document("x", "T", "en", text), whole=True)
    assert passage.text == text


def test_an_id_is_the_document_the_position_and_the_hash_of_what_is_indexed():
    text = f"# T\n\n## A\n\n{prose(150)}\n\n## B\n\n{prose(150)}"
    passages = cut(Document("d:1", "T", "en", text))
    for position, (name, passage) in enumerate(zip("AB", passages, strict=True)):
        indexed = f"T › {name}\n{prose(150)}"
        assert passage.id == f"d:1:{position}:{hashlib.sha256(indexed.encode()).hexdigest()[:8]}"
        assert passage.doc_id == "d:1"


def test_only_the_changed_passage_gets_another_id():
    text = f"# T\n\n## A\n\n{prose(150)}\n\n## B\n\n{prose(150)}\n\n## C\n\n{prose(150)}"
    before = cut(Document("x", "T", "en", text))
    after = cut(Document("x", "T", "en", text.replace("## B\n\nw", "## B\n\nv")))
    assert [a.id == b.id for a, b in zip(before, after, strict=True)] == [True, False, True]


FIRST = [Document("a", "Cats", "en", "Cats purr."), Document("b", "Dogs", "en", "Dogs bark at night.")]


def update(store: CorpusStore, documents: list[Document], root: str = "r") -> tuple[object, CorpusIndex]:
    report = store.update(SourceFiles(root, documents))
    index = store.open()
    return report, index


def found(index: CorpusIndex, words: str) -> list[str]:
    return [hit.passage.doc_id for hit in index.lexical(words, 100, 1.5, 0.75)]


def everything(index: CorpusIndex) -> list[str]:
    """Documents the vector index returns when asked for more than it holds."""
    vector, _ = WordEmbedder().embed(["anything"])
    return sorted(hit.passage.doc_id for hit in index.dense(vector[0], 100))


def test_indexing_again_embeds_and_writes_nothing(store, embedder):
    _, before = update(store, FIRST)
    embedder.asked.clear()
    report, after = update(store, list(reversed(FIRST)))
    assert embedder.asked == []
    assert (report.unchanged, report.added, report.changed, report.removed) == (["b", "a"], [], [], [])
    assert (report.passages, report.embedded) == (2, 0)
    assert after.generation == before.generation


def test_only_what_changed_is_embedded(store, embedder):
    update(store, FIRST)
    embedder.asked.clear()
    changed = [replace(FIRST[0], text="Cats meow."), FIRST[1], Document("c", "Fish", "en", "Fish swim.")]
    report, _ = update(store, changed)
    assert sorted(text for texts in embedder.asked for text in texts) == [
        "Cats\nCats meow.",
        "Fish\nFish swim.",
    ]
    assert (report.added, report.changed, report.unchanged, report.removed) == (["c"], ["a"], ["b"], [])
    assert (report.passages, report.embedded) == (3, 2)


def test_removing_every_document_leaves_an_index_that_finds_nothing(store):
    update(store, FIRST)
    report, index = update(store, [])
    assert report.removed == ["a", "b"]
    assert (found(index, "cats"), everything(index)) == ([], [])
    assert index.vectors([]).shape[0] == 0
    assert update(store, FIRST)[0].added == ["a", "b"]


def test_a_new_title_is_a_change_and_a_new_order_is_not(store):
    update(store, FIRST)
    report, index = update(store, [FIRST[1], replace(FIRST[0], title="Felines")])
    assert (report.changed, report.unchanged) == (["a"], ["b"])
    assert found(index, "felines") == ["a"]


def test_documents_with_identical_text_are_both_found_and_embedded_once(store, embedder):
    twins = [replace(FIRST[0], id=name) for name in ("y", "x", "z")]
    report, index = update(store, twins)
    assert embedder.asked == [("Cats\nCats purr.",)]
    assert (report.passages, report.embedded) == (3, 1)
    assert found(index, "purr") == ["x", "y", "z"]
    assert everything(index) == ["x", "y", "z"]
    _, fewer = update(store, twins[:2])
    assert everything(fewer) == ["x", "y"]


def test_each_root_of_a_corpus_is_updated_on_its_own(store):
    update(store, FIRST, "/one")
    report, _ = update(store, [Document("c", "Fish", "en", "Fish swim.")], "/two")
    assert (report.added, report.removed) == (["c"], [])
    report, index = update(store, FIRST[:1], "/one")
    assert report.removed == ["b"]
    assert everything(index) == ["a", "c"]
    report, index = update(store, [], "/two")
    assert report.removed == ["c"]
    assert everything(index) == ["a"]


def test_a_document_of_another_root_is_never_replaced(store):
    update(store, FIRST, "/one")
    with pytest.raises(DataError, match="'a' from another folder"):
        store.update(SourceFiles("/two", [replace(FIRST[0], text="Others.")]))
    index = store.open()
    assert found(index, "purr") == ["a"]


def test_two_documents_of_one_id_are_refused(store):
    update(store, FIRST)
    with pytest.raises(DataError, match="Two documents have the id 'a'"):
        store.update(SourceFiles("test", [*FIRST, replace(FIRST[0], text="Others.")]))
    assert everything(store.open()) == ["a", "b"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "a.txt": "Cats purr.",
        "b.jsonl": '{"_id": "b1", "text": "Dogs bark."}\n{"_id": "b2", "text": "Fish swim."}\n',
    }
    return write(tmp_path / "files", files)


def test_a_file_that_cannot_be_read_this_time_keeps_its_old_version(store, folder):
    store.update(read_path(folder))
    (folder / "a.txt").write_bytes(b"\xff\xfe garbled!")
    report = store.update(read_path(folder))
    assert [file for file, _ in report.failed] == ["a.txt"]
    assert report.removed == []
    index = store.open()
    assert found(index, "purr") == ["a.txt"]
    (folder / "a.txt").unlink()
    assert store.update(read_path(folder)).removed == ["a.txt"]


@pytest.mark.parametrize("last", ["{broken", '{"_id": "b9", "text": ""}', '{"_id": "b1", "text": "Twice."}'])
def test_a_file_with_one_bad_line_can_be_indexed_again(store, folder, last):
    with (folder / "b.jsonl").open("a") as lines:
        lines.write(last)
    assert sorted(store.update(read_path(folder)).added) == ["a.txt", "b1", "b2"]
    report = store.update(read_path(folder))
    assert sorted(report.unchanged) == ["a.txt", "b1", "b2"]
    assert [file for file, _ in report.failed] == ["b.jsonl"]


def test_a_line_that_breaks_later_keeps_the_documents_behind_it(store, folder):
    store.update(read_path(folder))
    (folder / "b.jsonl").write_text('{"_id": "b1", "text": "Dogs howl."}\n{broken\n')
    report = store.update(read_path(folder))
    index = store.open()
    assert (report.changed, report.removed) == (["b1"], [])
    assert (found(index, "howl"), found(index, "swim")) == (["b1"], ["b2"])


def test_a_vector_is_computed_once_for_all_corpora(store, tmp_path, embedder):
    update(store, FIRST)
    embedder.asked.clear()
    other = CorpusStore(tmp_path / "home", "other", embedder)
    assert other.update(SourceFiles("r", FIRST)).embedded == 0
    assert embedder.asked == []


def test_dense_search_ranks_by_the_cosine_of_the_stored_vectors(index):
    question, _ = WordEmbedder().embed(["cats sleep in a house"])
    ids = list(index.passages)
    texts = [index.passages[identity].indexed_text for identity in ids]
    expected = dict(zip(ids, WordEmbedder().embed(texts, "passage")[0] @ question[0], strict=True))
    hits = index.dense(question[0], len(ids))
    assert {hit.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-5)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert np.allclose(index.vectors(ids), WordEmbedder().embed(texts, "passage")[0], atol=1e-6)
    assert len(index.dense(question[0], 2)) == 2
    assert len(hits) == len(DOCUMENTS)
