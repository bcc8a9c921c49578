"""Labs opened by two processes at once, and warmed up before the first question."""

from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from helpers.processes import processes, word_engines
from helpers.provider_lab import provider_lab
from helpers.small import python

from rag_core.documents.documents import BUILTIN
from rag_core.lab.opening import open_lab, warm_up
from rag_core.values.settings import Settings

LEAFLET = "---\nid: visits\ntitle: Visits\nlanguage: en\n---\n\nVisiting hours on the ward are from 2 to 8.\n"


def open_and_tell(sender: Connection, go: Connection, home: Path, data: Path, writes: str) -> None:
    """Open the lab, and stop at the first `writes` until told: with the index's lock, or when it is waited for."""
    met = False

    def progress(what: str, done: int, total: int) -> None:
        nonlocal met
        if what == writes and not met:
            met = True
            sender.send(what)
            go.recv()

    lab = open_lab(settings=Settings(home=home, data=data), engines=word_engines(), progress=progress, wait=True)
    enriched = lab.enriched
    sender.send((sorted(lab.index.manifest.documents), sorted(enriched.manifest.documents), lab.warnings))


class Opening:
    def __init__(self, home: Path, data: Path, stops_at: str) -> None:
        self._told, sender = processes.Pipe(duplex=False)
        go, self._go = processes.Pipe(duplex=False)
        self.process = processes.Process(target=open_and_tell, args=(sender, go, home, data, stops_at), daemon=True)
        self.process.start()
        sender.close()
        go.close()

    def hear(self) -> object:
        return self._told.recv()

    def go_on(self) -> None:
        self._go.send("go on")


@pytest.mark.parametrize("kept_waiting_by", ["store", "enrich"])
def test_the_second_waits_for_the_first_and_both_have_both_indexes(tmp_path, kept_waiting_by):
    data, home = tmp_path / "data", tmp_path / "home"
    (data / "corpus").mkdir(parents=True)
    (data / "corpus" / "visits.md").write_text(LEAFLET)
    first = Opening(home, data, kept_waiting_by)
    assert first.hear() == kept_waiting_by
    second = Opening(home, data, "waiting for another process to write the index")
    assert second.hear() == "waiting for another process to write the index"
    first.go_on()
    second.go_on()
    for one in (first, second):
        assert one.hear() == (["visits.md"], ["visits.md"], [])
        one.process.join()
    assert BUILTIN in {path.name for path in (home / "corpora").iterdir()}


PROGRAM = """
import sys
from rag_core import RECIPES, open_lab
from rag_core.lab.browsing import indexed_documents
from rag_core.lab.opening import warm_up
from rag_core.models import tokenizer
lab = open_lab()
for language in ("en", "es"):
    warm_up(lab, language)
loaded = set(sys.modules)
trace = lab.run("¿Me puedo teñir el pelo con mechas a las 20 semanas?", "hybrid_rrf")
assert trace.answer.text
print(sorted(name.split(".")[0] for name in set(sys.modules) - loaded), tokenizer._encoding.cache_info().misses)
names = list(RECIPES)
traces = lab.compare("When is anti-D given?", names)
print([trace.strategy for trace in traces] == names, all(trace.answer.text for trace in traces))
assert indexed_documents(lab.index)  # the page shows them below an answer
heavy = {"torch", "transformers", "sentence_transformers", "chromadb", "llama_index.core", "nltk", "scipy"}
print(sorted(heavy & sys.modules.keys()))
"""


def test_the_first_question_after_it_loads_no_library_and_no_strategy_torch_or_llamaindex(lab, real_home):
    ran = python("-c", PROGRAM, RAG_HOME=str(real_home), RAG_LLM="offline")
    assert ran.out.splitlines() == ["[] 1", "True True", "[]"], ran.err


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_lab_with_a_provider_sends_it_nothing(server, store, embedder, index, labels, language):
    warm_up(provider_lab(server, store, embedder, labels, openai_api_key="sk-0123456789abcdef"), language)
    assert server.requests == []
