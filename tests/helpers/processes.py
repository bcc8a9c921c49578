"""Work done in a process of its own, damage to an index, and the check that it is whole."""

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusIndex, CorpusStore, SourceFiles
from rag_core.lab.engines import Engines
from rag_core.language.thesaurus import Thesaurus
from rag_core.testing import ScriptedLlm
from rag_core.values.labels import LabelRules
from rag_core.values.pricing import PriceList

from .fakes import Unfitted, WordReranker
from .small import ROOT, WordEmbedder

processes = multiprocessing.get_context("forkserver")  # children of a clean process, never of pytest's threads
processes.set_forkserver_preload(
    [
        "rag_core.lab.lab", "rag_core.evaluation", "rag_core.indexing.writing", "chromadb.api.rust",
        "Stemmer", "pytest",
        "tests.helpers.preloaded",  # named from the root: that process lacks pytest's module path
    ]
)  # fmt: skip


def word_engines(**own: Any) -> Engines:
    """The engines of a lab, without a model; some of them a test's own."""
    engines = Engines(
        PriceList({}),
        LabelRules({}),
        WordEmbedder(),
        Unfitted(),
        WordReranker(),
        Thesaurus(()),
        {"answer": ScriptedLlm()},
    )
    return replace(engines, **own)


def open_store(home: Path, corpus: str = "animals") -> CorpusStore:
    return CorpusStore(home, corpus, WordEmbedder())


def remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def garble(path: Path) -> None:
    """Other bytes in the file, or in every file of the folder."""
    for file in [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]:
        file.write_bytes(random.Random(1).randbytes(file.stat().st_size))


def held_by_each_part(index: CorpusIndex) -> list[set[str]]:
    """The documents in the manifest, among the passages, and in the vector index."""
    vector, _ = WordEmbedder().embed(["anything"])
    dense = {hit.passage.doc_id for hit in index.dense(vector[0], 10_000)}
    return [set(index.manifest.documents), {passage.doc_id for passage in index.passages.values()}, dense]


def run(target: Callable[..., None], *arguments: Any) -> tuple[int | None, Any]:
    """Run a function in another process: its exit code, and what it sent."""
    receiver, sender = processes.Pipe(duplex=False)
    process = processes.Process(target=target, args=(sender, *arguments))
    process.start()
    sender.close()
    try:
        sent = receiver.recv()
    except EOFError:
        sent = None
    process.join()
    return process.exitcode, sent


def killed_after(lines: int, program: str, *arguments: str) -> list[str]:
    """What a program printed that was killed once it had printed so many lines."""
    command = [sys.executable, "-c", program, *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, text=True)
    printed = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL)
    printed += process.stdout.readlines()
    assert process.wait() == -signal.SIGKILL
    return [line.strip() for line in printed]


def _index_until_told(sender: Connection, home: Path, corpus: str, root: str, go: Connection) -> None:
    def progress(what: str, done: int, total: int) -> None:
        if what == "store" and not done:
            sender.send("writing")
            go.recv()

    open_store(home, corpus).update(SourceFiles(root, [Document("h", "Hens", "en", "Hens lay eggs.")]), progress)


class Writer:
    """Another process that is in the middle of indexing one document, until told to finish."""

    def __init__(self, home: Path, corpus: str, root: str) -> None:
        told, sender = processes.Pipe(duplex=False)
        go, self._go = processes.Pipe(duplex=False)
        self._process = processes.Process(target=_index_until_told, args=(sender, home, corpus, root, go))
        self._process.start()
        sender.close()
        go.close()
        assert told.recv() == "writing"

    def finish(self) -> None:
        self._go.send("go on")
        self._process.join()
        assert self._process.exitcode == 0
