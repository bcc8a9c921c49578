"""Indexing 5,000 passages beside the embedding of their texts alone, and indexing them again: goals 10 and 15.

500 Markdown files of ten sections each, of sentences drawn from the built-in documents. The other side embeds the
same texts in one request, which the model reads in batches of similar length. Sides take turns.
"""

import re
import time
from pathlib import Path

import numpy as np
import pytest
from helpers.results import ratios

import rag_core
from rag_core.documents.documents import read_collection
from rag_core.indexing import CorpusStore, read_path
from rag_core.lab.engines import load_engines
from rag_core.lab.opening import embed_sentences
from rag_core.values.settings import Settings

DATA = Path(__file__).resolve().parents[2] / "data"
DOCUMENTS, SECTIONS, WORDS = 500, 10, 45
TURNS = 2


def write_documents(folder: Path, turn: int) -> None:
    """Other texts in every turn, so that none is in a cache."""
    random = np.random.default_rng(turn)
    english = " ".join(one.text for one in read_collection(DATA / "corpus") if one.language == "en")
    pool = [" ".join(found.split()) for found in re.findall(r"[A-Z][^.#*|]{40,200}\.", english)]
    folder.mkdir()
    for number in range(DOCUMENTS):
        lines = [f"# Leaflet {number}"]
        for section in range(SECTIONS):
            text = ""
            while len(text.split()) < WORDS:
                text += f" {pool[random.integers(len(pool))]}"
            lines += [f"## Part {section}", text.strip()]
        (folder / f"leaflet-{number:03d}.md").write_text("\n\n".join(lines), encoding="utf-8")


@pytest.mark.timeout(3600)
def test_indexing_takes_little_longer_than_embedding(tmp_path, results):
    whole: list[tuple[float, float]] = []  # by the clock, and on the processors
    alone: list[tuple[float, float]] = []
    readings: list[float] = []

    def now() -> tuple[float, float]:
        return time.perf_counter(), time.process_time()

    def since(start: tuple[float, float]) -> tuple[float, float]:
        wall, processor = now()
        return wall - start[0], processor - start[1]

    for turn in range(TURNS):
        folder = tmp_path / f"leaflets-{turn}"
        write_documents(folder, turn)
        settings = Settings(home=tmp_path / f"home-{turn}", llm="offline")
        engines = load_engines(settings)
        store = CorpusStore(settings.home, "leaflets", engines.embedder)
        start = now()
        report = store.update(read_path(folder, trusted=True))
        whole.append(since(start))
        index = store.open()
        assert report.passages == report.embedded >= 0.99 * DOCUMENTS * SECTIONS  # the shortest are joined
        texts = [passage.indexed_text for passage in index.passages.values()]
        start = now()
        engines.embedder.embed(texts, "passage", ["en"] * len(texts))
        alone.append(since(start))
        start = now()
        embed_sentences(index, engines, lambda *_: None)
        readings.append(since(start)[0])
    words = sum(len(text.split()) for text in texts) / len(texts)
    count = f"{len(texts):,} passages of {words:.0f} words"
    results.note(f"indexing {count}", "s", [wall for wall, _ in whole])
    results.note(f"embedding {count}", "s", [wall for wall, _ in alone])
    results.note("indexing, to embedding, on the processors", "×", ratios([p for _, p in whole], [p for _, p in alone]))  # fmt: skip
    results.note(f"readings of the scorer for {len(texts):,} passages", "s", readings)
    throughput = ratios([wall for wall, _ in alone], [wall for wall, _ in whole])
    results.goal(10, f"indexing {DOCUMENTS * SECTIONS:,} passages", "embedding alone: share of its throughput", throughput, 0.9, at_least=True)  # fmt: skip
    both = [wall + more for (wall, _), more in zip(whole, readings, strict=True)]
    results.goal(15, "indexing with the scorer's readings", "embedding alone", ratios(both, [wall for wall, _ in alone]), 1.3)  # fmt: skip

    # `rag_core.index` is all of `rag index` but the start of its process
    start = now()
    again = rag_core.index(folder, "leaflets", settings=settings)
    results.goal(10, f"indexing {DOCUMENTS} unchanged files again", "", [since(start)[0]], 3, "s")
    results.goal(10, "passages embedded when nothing changed", "", [again.embedded], 0, "passages")
    changed = folder / "leaflet-007.md"
    changed.write_text(changed.read_text(encoding="utf-8").replace(". ", ", indeed. "), encoding="utf-8")
    start = now()
    third = rag_core.index(folder, "leaflets", settings=settings)
    results.note("indexing 500 files, one of them changed", "s", [since(start)[0]])
    assert third.changed == ["leaflet-007.md"]
    results.goal(10, f"passages embedded when a file of {SECTIONS} changed", "", [third.embedded], SECTIONS, "passages")
