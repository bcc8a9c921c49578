"""The programs of docs/llamaindex.md run, and find what the lab finds."""

import re
import shutil
import subprocess
import sys

import pytest
from helpers.small import ROOT
from llama_index.vector_stores.chroma import ChromaVectorStore

from rag_core.indexing.chroma import FOLDER

GUIDE = (ROOT / "docs" / "llamaindex.md").read_text(encoding="utf-8")
QUESTION = "When is anti-D given?"


@pytest.mark.parametrize("program", ["open_collection.py", "plain_chroma.py"])
def test_a_program_without_the_lab_opens_the_collection(lab, tmp_path, program):
    (code,) = re.findall(rf"```python\n(# {program}\n.*?)```", GUIDE, re.DOTALL)
    assert "rag_core" not in code
    (tmp_path / program).write_text(code, encoding="utf-8")
    folder = shutil.copytree(lab.index.generation / FOLDER, tmp_path / FOLDER)
    command = [sys.executable, str(tmp_path / program), str(folder), QUESTION]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    (vector,), _ = lab.engines.embedder.embed([QUESTION])
    found = [line.split("\t") for line in ran.stdout.splitlines()]
    filtered = lab.among({"language": "en"} if "where=" in code else {})
    hits = filtered.services().index.dense(vector, 3)
    assert found == [[f"{hit.score:.3f}", hit.id, hit.passage.title] for hit in hits]


def test_the_lab_gives_both_indexes_as_llamaindex_reads_them(lab):
    question = "¿Cuándo se da la anti-D?"  # in Spanish, so that the gloss counts
    (vector,), _ = lab.engines.embedder.embed([question])
    for enriched, index in ((False, lab.index), (True, lab.enriched)):
        assert index is not None
        assert isinstance(lab.vector_store(enriched=enriched), ChromaVectorStore)
        retriever = lab.vector_index(enriched=enriched).as_retriever(similarity_top_k=5)
        found = [one.node.node_id for one in retriever.retrieve(question)]
        assert found == [hit.id for hit in index.dense(vector, 5)]
