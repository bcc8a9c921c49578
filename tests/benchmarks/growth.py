"""How indexing, start and query grow from 1,000 to 100,000 passages. Run by hand, from the repository:

    PYTHONPATH=.:tests python tests/benchmarks/growth.py              measures and writes growth.json
    PYTHONPATH=.:tests python tests/benchmarks/growth.py --draw       draws growth.png from it

The pipeline and the store are the product's, the text is synthetic: documents of ten sections of 60 words drawn by
Zipf's law. A passage's vector is the mean of random vectors of its words, so that embedding takes no time; what the
bundled model would add is its throughput, which `make bench` measures, times the passages. Each step is a process of
its own. The server is `chroma run` on loopback, with the same vectors and the index settings of the product.
"""

from __future__ import annotations

import gc
import json
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from helpers.small import ToyEmbedder

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.indexing.writing import EF_SEARCH
from rag_core.values.types import Vectors

HERE = Path(__file__).resolve().parent
MEASURED, DRAWN = HERE / "growth.json", HERE / "growth.png"
SIZES = (1_000, 10_000, 100_000)
SECTIONS, WORDS, VOCABULARY, DIMENSIONS = 10, 60, 30_000, 384
QUESTIONS, BATCH = 50, 5_000


class WordVectors(ToyEmbedder):
    """An embedder in the place of the model: the mean of its words' random vectors, at next to no cost."""

    name = weights = key = "word-vectors"

    def __init__(self) -> None:
        super().__init__()
        words = np.random.default_rng(1).standard_normal((VOCABULARY, DIMENSIONS))
        rarity = np.log(2 + np.arange(VOCABULARY))  # rare words say more
        self._words = (words * rarity[:, None]).astype(np.float32)

    def vectors(self, ids: Sequence[str]) -> Vectors:
        rows = []
        for text in ids:
            words = [int(word[1:]) for word in text.split() if word[0] == "w" and word[1:].isdecimal()]
            rows.append(self._words[words or [0]].mean(axis=0))
        vectors = np.array(rows, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def texts(count: int, words: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    drawn = random.choice(VOCABULARY, (count, words), p=shares / shares.sum())
    return [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]


def documents(passages: int) -> list[Document]:
    sections = texts(passages, WORDS, 0)
    return [
        Document(
            f"doc-{number:06d}",
            f"Document {number}",
            "en",
            "\n\n".join(
                f"## Part {place}\n\n{sections[number * SECTIONS + place]}" for place in range(SECTIONS)
            ),
        )
        for number in range(passages // SECTIONS)
    ]


def measured(call: Callable[[], object]) -> dict[str, float]:
    """Seconds by the clock and on the processors, and the process's MB in memory afterwards."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    gc.collect()
    return {"seconds": wall, "processor": processor, "memory": memory("self")}


def memory(pid: int | str) -> float:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def median_ms(call: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds of a question, by the clock and on the processors."""
    took = []
    for question in questions:
        wall, processor = time.perf_counter(), time.process_time()
        call(question)
        took.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)))
    wall_ms, processor_ms = zip(*took[5:], strict=True)
    return {"ms": statistics.median(wall_ms), "processor_ms": statistics.median(processor_ms)}


def index(home: Path, passages: int) -> dict[str, Any]:
    read = documents(passages)
    before = memory("self")
    found: dict[str, Any] = measured(lambda: CorpusStore(home, "growth", WordVectors()).update(SourceFiles("growth", read)))  # fmt: skip
    found["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before
    found["disk"] = sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) / 1e6
    return found


def query(home: Path, passages: int) -> dict[str, Any]:
    embedder = WordVectors()
    before = memory("self")
    opened: list[Any] = []
    start = measured(lambda: opened.append(CorpusStore(home, "growth", embedder).open()))
    index = opened[0]
    assert len(index.passages) == passages
    asked = texts(QUESTIONS + 5, 6, 2)
    vectors = {one: embedder.embed([one])[0][0] for one in asked}
    exact = (
        index.vectors(list(index.passages)) if passages <= 30_000 else None
    )  # Chroma reads no more at once
    found: dict[str, Any] = {"start": start | {"memory": start["memory"] - before}}
    found["dense"] = median_ms(lambda one: index.dense(vectors[one], 10), asked)
    found["bm25"] = median_ms(lambda one: index.lexical(one, 50, 1.5, 0.75), asked)
    if exact is not None:
        names, hits = list(index.passages), 0
        for one in asked:
            best = {names[row] for row in np.argsort(-(exact @ vectors[one]))[:10]}
            hits += len(best & {hit.id for hit in index.dense(vectors[one], 10)})
        found["recall@10"] = hits / (10 * len(asked))
    found["memory"] = memory("self") - before
    return found


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, int]]:
    """`chroma run` on a free port: its process id and port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    code = "import sys; from chromadb.cli.cli import app; sys.exit(app())"
    command = [
        sys.executable,
        "-c",
        code,
        "run",
        "--path",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                time.sleep(0.1)
        yield process.pid, port
    finally:
        process.terminate()
        process.wait(timeout=60)


def processor_of(pid: int) -> float:
    """Seconds that a process has had of the processors."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def serve(home: Path, passages: int) -> dict[str, Any]:
    import chromadb

    embedder = WordVectors()
    sections = texts(passages, WORDS, 0)
    asked = texts(QUESTIONS + 5, 6, 2)
    configuration: Any = {"hnsw": {"space": "cosine", "ef_construction": 200, "ef_search": EF_SEARCH}}
    with server(home / "server") as (pid, port):
        client = chromadb.HttpClient(host="127.0.0.1", port=port)
        collection = client.create_collection("growth", configuration=configuration, embedding_function=None)

        def add() -> None:
            for start in range(0, passages, BATCH):
                part = sections[start : start + BATCH]
                ids = [str(start + place) for place in range(len(part))]
                collection.add(ids=ids, documents=part, embeddings=embedder.embed(part)[0])  # type: ignore[arg-type]

        found: dict[str, Any] = {"index": measured(add)}
        found["index"]["processor"] += processor_of(pid)
        found["dense"] = median_ms(
            lambda one: collection.query(
                query_embeddings=embedder.embed([one])[0], n_results=10, include=["distances"]
            ),  # type: ignore[arg-type]
            asked,
        )
        found["memory"] = memory(pid)
    begun = time.perf_counter()
    with server(home / "server") as (_, port):
        again = chromadb.HttpClient(host="127.0.0.1", port=port).get_collection(
            "growth", embedding_function=None
        )
        again.query(query_embeddings=embedder.embed(asked[:1])[0], n_results=10)  # type: ignore[arg-type]
        found["start"] = {"seconds": time.perf_counter() - begun}
    return found


STEPS = {"index": index, "query": query, "server": serve}


def measure(sizes: Sequence[int]) -> None:
    rows = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.is_file() else {}
    for passages in sizes:
        with tempfile.TemporaryDirectory() as home:
            for step in STEPS:
                command = [sys.executable, __file__, "--step", step, home, str(passages)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                rows.setdefault(str(passages), {})[step] = json.loads(done.stdout.splitlines()[-1])
                print(passages, step, done.stdout.splitlines()[-1], flush=True)
                MEASURED.write_text(json.dumps(rows, indent=1), encoding="utf-8")


def draw() -> None:
    """Four charts on doubly logarithmic axes, pictured by chromium."""
    import plotly.graph_objects as go
    from helpers.browser import CHROMIUM
    from playwright.sync_api import sync_playwright
    from plotly.subplots import make_subplots

    rows = {int(size): row for size, row in json.loads(MEASURED.read_text(encoding="utf-8")).items()}
    charts: dict[str, dict[str, Callable[[Any], float]]] = {
        "indexing, seconds of processor (no embedding)": {
            "embedded": lambda row: row["index"]["processor"],
            "Chroma server": lambda row: row["server"]["index"]["processor"],
        },
        "start to first search, seconds": {
            "embedded": lambda row: row["query"]["start"]["seconds"],
            "Chroma server": lambda row: row["server"]["start"]["seconds"],
        },
        "a query, milliseconds": {
            "embedded": lambda row: row["query"]["dense"]["ms"],
            "Chroma server": lambda row: row["server"]["dense"]["ms"],
            "BM25": lambda row: row["query"]["bm25"]["ms"],
        },
        "memory while serving, MB": {
            "embedded": lambda row: row["query"]["memory"],
            "Chroma server": lambda row: row["server"]["memory"],
        },
    }
    colours = {"embedded": "#1f77b4", "Chroma server": "#d95f02", "BM25": "#2a7f3f"}
    figure = make_subplots(rows=2, cols=2, subplot_titles=list(charts))
    for place, lines in enumerate(charts.values()):
        for name, value in lines.items():
            sizes = [size for size, row in sorted(rows.items()) if set(STEPS) <= row.keys()]
            figure.add_trace(
                go.Scatter(x=sizes, y=[value(rows[size]) for size in sizes], name=name, mode="lines+markers", line_color=colours[name], showlegend=place == 2),
                row=place // 2 + 1, col=place % 2 + 1,
            )  # fmt: skip
    figure.update_xaxes(
        type="log", title="passages", tickvals=SIZES, ticktext=[f"{size:,}" for size in SIZES]
    )
    figure.update_yaxes(type="log", rangemode="tozero")
    figure.update_layout(
        template="plotly_white", width=1000, height=760, legend={"orientation": "h", "y": -0.12}
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1020, "height": 780})
        page.set_default_timeout(300_000)
        page.set_content(figure.to_html(include_plotlyjs=True))
        page.wait_for_selector(".legend")
        page.screenshot(path=DRAWN)
        browser.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--step", step, home, passages]:
            print(json.dumps(STEPS[step](Path(home), int(passages))))
        case ["--draw"]:
            draw()
        case given:
            measure([int(size) for size in given] or SIZES)
