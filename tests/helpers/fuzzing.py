"""Files made at random and from damaged good ones, and what must be true of every one of them."""

import json
import zipfile
from io import BytesIO
from pathlib import Path

from hypothesis import strategies as st
from llama_index.core.schema import Document as LlamaDocument

from rag_core.documents.documents import Document, beir_documents, parse_document
from rag_core.documents.limits import MAX_ID, MAX_TITLE, READING
from rag_core.documents.reading.guard import GuardedReader
from rag_core.indexing.cutting import LONGEST
from rag_core.indexing.passage_parser import PassageParser
from rag_core.values.errors import DataError

from .hostile_files import front_matter
from .source_files import docx, pdf, xlsx

GOOD: dict[str, bytes] = {
    "a.md": front_matter().encode(),
    "b.md": b"# Pain relief\n\nGas and air.\n\n## Epidural\n\n- numbs\n- slows\n",
    "c.txt": "El bebé nace. “Rest!” she said... Take 1.5 mg/kg.\n\nNext?!".encode(),
    "d.html": b"<html><head><title>T</title></head><body><h1>H</h1><p>One<b>two</b><ul><li>x<li>y</ul><!-- c -->&eacute;",
    "e.pdf": pdf("Drink enough water.", "Rest when you can."),
    "f.docx": docx("Dear midwife,", "the baby is well."),
    "g.csv": b'id,title,language,text\n7,Iron,en,"Iron, daily"\n,,es,Hierro\n',
    "h.xlsx": xlsx(Drugs=[["id", "text"], ["a", "iron"]], Visits=[["week"], [12]]),
    "i.jsonl": b'{"_id": "1", "title": "T", "text": "one two", "language": "en"}\n{"_id": 2, "text": "three"}\n',
    "j.json": b'[{"id": "1", "contents": "one two"},\n {"_id": 2, "text": "three"}]',
}
_YAML = [
    "- ", "&a ", "*a", "[", "]", "{", "}", ": ", ", ", "\n", "\n  ", "|\n", ">\n", "!!int ", "!!timestamp ",
    "!!binary ", "!!set ", "!!python/none ", "2001-99-99", "0x", "1:99", ".inf", "~", "'", '"', "<<: ", "? ", "#",
    "---\n", "...", "\t", "%YAML 9.9\n", "id: ", "title: ", "language: ", "topic: ", "sources: ", "year: ", "\x00",
]  # fmt: skip
_JSON = ['"', "_id", "text", ":", ",", "{", "}", "[", "]", "\\ud800", "\\", "1", "9" * 5_000, "-", "e", "NaN", "null",
         "true", "\n", " ", "é", "\x00", "[" * 2_000, '{"_id": "1", "text": "']  # fmt: skip

headers = st.lists(st.sampled_from(_YAML) | st.text(max_size=8), max_size=40).map("".join)
json_text = st.lists(st.sampled_from(_JSON) | st.text(max_size=8), max_size=30).map("".join)
_changes = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 30), st.binary(max_size=8), st.integers(1, 50)), max_size=6
)


def _damaged(content: bytes, changes: list[tuple[float, int, bytes, int]]) -> bytes:
    for where, gone, put, times in changes:
        start = int(where * len(content))
        content = content[:start] + put * times + content[start + gone :]
    return content


def _packed(parts: dict[str, bytes]) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return packed.getvalue()


@st.composite
def files(draw: st.DrawFn) -> tuple[str, bytes]:
    """(name, content) of a file of any kind: random, damaged, or an archive of damaged parts."""
    name = draw(st.sampled_from(sorted(GOOD)))
    way = draw(st.sampled_from(["random", "damaged", "parts"]))
    if way == "random":
        return name, draw(st.binary(max_size=300))
    if way == "damaged" or not zipfile.is_zipfile(BytesIO(GOOD[name])):
        return name, _damaged(GOOD[name], draw(_changes))
    with zipfile.ZipFile(BytesIO(GOOD[name])) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    hit = draw(st.sampled_from(sorted(parts)))
    return name, _packed({**parts, hit: _damaged(parts[hit], draw(_changes))})


def check_header(header: str) -> None:
    """A document with this front matter is read within limits, or refused in one sentence."""
    for text in (f"---\n{header}\n---\nBody.", front_matter(header)):
        refused = "a.md"
        try:
            _check_document(parse_document(text, Path("a.md")))
        except DataError as error:
            refused = error.message
        assert "a.md" in refused
        assert len(refused) < 2_000


def check_file(reader: GuardedReader, folder: Path, name: str, content: bytes) -> None:
    """A file is read within limits or has a reason; the process survives, and what was read can be split."""
    path = folder / name
    path.write_bytes(content)
    before = reader.pid
    documents, reason = reader.read(path, name)
    assert len(reason) <= 300
    assert "\n" not in reason
    assert not reason.startswith(("the process that read it", "reading it takes")), reason
    assert before is None or reader.pid == before
    assert sum(len(document.text) for document in documents) <= READING.characters
    for document in documents:
        _check_document(document)
        _check_passages(document)


def check_beir(folder: Path, text: str) -> None:
    """A BEIR corpus is read, or refused naming file and line."""
    (folder / "corpus.jsonl").write_text(text, encoding="utf-8")
    refused = "corpus.jsonl, line "
    try:
        for document in beir_documents(folder):
            _check_document(document)
            json.dumps(document.text, ensure_ascii=False).encode()
    except DataError as error:
        refused = error.message
    assert "corpus.jsonl, line " in refused
    assert len(refused) < 2_000


def _check_document(document: Document) -> None:
    assert len(document.title) <= MAX_TITLE
    assert len(document.id) <= MAX_ID


def _check_passages(document: Document) -> None:
    metadata = {"title": document.title, "language": document.language, "source": "", "whole": False}
    source = LlamaDocument(id_=document.id, text=document.text, metadata=metadata)
    for node in PassageParser(lambda text: -(-len(text) // 4)).get_nodes_from_documents([source]):
        assert 0 < len(node.get_content()) <= LONGEST
