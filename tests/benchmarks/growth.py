"""How indexing, start and query grow from 1,000 to 1,000,000 passages. Run by hand, from the repository:

    PYTHONPATH=.:tests python tests/benchmarks/growth.py              measures and writes growth.json
    PYTHONPATH=.:tests python tests/benchmarks/growth.py 20000        measures that size alone
    PYTHONPATH=.:tests python tests/benchmarks/growth.py --embedded   leaves the servers out
    PYTHONPATH=.:tests python tests/benchmarks/growth.py --draw       draws growth.png from it

The pipeline and the store are the product's, the text is synthetic: documents of ten sections of 120 words drawn by
Zipf's law. A text's vector is a random one of length 1, the worst case for an approximate index, so that embedding takes
no time; what the bundled model would add is its throughput, which `make bench` measures, times the passages. Each step
is a process of its own. The servers are `chroma run` and Milvus Lite on loopback, as RAG_VECTORS names them.
"""

import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from helpers.chroma_server import chroma_server, milvus_server
from helpers.small import ToyEmbedder
from pydantic import SecretStr

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusStore, SourceFiles, stores_of
from rag_core.indexing.stores import STORES, Stores
from rag_core.values.settings import Settings
from rag_core.values.types import Vectors

HERE = Path(__file__).resolve().parent
MEASURED, DRAWN = HERE / "growth.json", HERE / "growth.png"
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SERVED = 100_000  # passages up to this number are also written to a server, which slows as they grow: 178 s for these
SECTIONS, WORDS, VOCABULARY, DIMENSIONS = 10, 120, 30_000, 384
QUESTIONS = 50


class RandomVectors(ToyEmbedder):
    """An embedder in the place of the model, at next to no cost: the same random direction for the same text."""

    name = weights = key = "random-vectors"

    def vectors(self, ids: Sequence[str]) -> Vectors:
        seeds = (zlib.crc32(text.encode()) for text in ids)
        drawn = [np.random.default_rng(seed).standard_normal(DIMENSIONS, np.float32) for seed in seeds]
        vectors = np.array(drawn, np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def texts(count: int, words: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    shares = 1 / np.arange(1, VOCABULARY + 1)
    found: list[str] = []
    for start in range(0, count, 10_000):  # a million at once would take gigabytes
        drawn = random.choice(VOCABULARY, (min(10_000, count - start), words), p=shares / shares.sum())
        found += [" ".join(f"w{word}" for word in row) for row in drawn.tolist()]
    return found


def documents(passages: int) -> list[Document]:
    sections = texts(passages, WORDS, 0)
    return [
        Document(
            f"doc-{number:06d}",
            f"Document {number}",
            "en",
            "\n\n".join(f"## Part {place}\n\n{sections[number * SECTIONS + place]}" for place in range(SECTIONS)),
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


def peak() -> float:
    """The most MB that this process has had in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def megabytes(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def median_ms(call: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """Milliseconds of a question, by the clock and on the processors."""
    took = []
    for question in questions:
        wall, processor = time.perf_counter(), time.process_time()
        call(question)
        took.append((1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)))
    wall_ms, processor_ms = zip(*took[5:], strict=True)
    return {"ms": statistics.median(wall_ms), "processor_ms": statistics.median(processor_ms)}


def index(home: Path, passages: int, stores: Stores = STORES) -> dict[str, Any]:
    read = documents(passages)
    before = peak()
    store = CorpusStore(home, "growth", RandomVectors(), stores=stores)
    found: dict[str, Any] = measured(lambda: store.update(SourceFiles("growth", read)))
    found["memory"] = peak() - before
    found["disk"] = {"generation": megabytes(next(home.rglob("gen-*"))), "with the cache": megabytes(home)}
    return found


def query(home: Path, passages: int, stores: Stores = STORES) -> dict[str, Any]:
    embedder = RandomVectors()
    before = memory("self")
    opened: list[Any] = []
    start = measured(lambda: opened.append(CorpusStore(home, "growth", embedder, stores=stores).open()))
    index = opened[0]
    assert len(index.passages) == passages
    asked = texts(QUESTIONS + 5, 6, 2)
    vectors = {one: embedder.embed([one])[0][0] for one in asked}
    found: dict[str, Any] = {"start": start | {"memory": start["memory"] - before}}
    found["bm25"] = median_ms(lambda one: index.lexical(one, 50, 1.5, 0.75), asked)
    found["bm25"]["memory"] = memory("self") - before
    found["dense"] = median_ms(lambda one: index.dense(vectors[one], 10), asked)
    found["memory"], found["peak"] = memory("self") - before, peak()
    names, hits = list(index.passages), 0
    exact = embedder.vectors([index.passages[name].indexed_text for name in names])
    for one in asked:
        best = {names[row] for row in np.argsort(-(exact @ vectors[one]))[:10]}
        hits += len(best & {hit.id for hit in index.dense(vectors[one], 10)})
    found["recall@10"] = hits / (10 * len(asked))
    return found


def processor_of(pid: int) -> float:
    """Seconds that a process has had of the processors."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def serve(home: Path, passages: int, name: str) -> dict[str, Any]:
    """Index and search with a server."""
    run, scheme = SERVERS[name]
    with run(home / name) as (pid, port):
        stores = stores_of(Settings(vectors=SecretStr(f"{scheme}://127.0.0.1:{port}")))
        found: dict[str, Any] = {"index": index(home / "served", passages, stores)}
        found["index"]["processor"] += processor_of(pid)
        found |= query(home / "served", passages, stores)
        found["memory of the server"] = memory(pid)
    return found


SERVERS = {"server": (chroma_server, "http"), "milvus": (milvus_server, "milvus+http")}
STEPS: dict[str, Callable[[Path, int], dict[str, Any]]] = {
    "index": index,
    "query": query,
    **{step: partial(serve, name=step) for step in SERVERS},
}


def measure(sizes: Sequence[int], steps: Sequence[str]) -> None:
    rows = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.is_file() else {}
    for passages in sizes:
        with tempfile.TemporaryDirectory() as home:
            for step in steps:
                if step in SERVERS and passages > SERVED:
                    continue
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
            "Milvus Lite": lambda row: row["milvus"]["index"]["processor"],
        },
        "start to first search, seconds": {
            "embedded": lambda row: row["query"]["start"]["seconds"],
            "Chroma server": lambda row: row["server"]["start"]["seconds"],
            "Milvus Lite": lambda row: row["milvus"]["start"]["seconds"],
        },
        "a query, milliseconds": {
            "embedded": lambda row: row["query"]["dense"]["ms"],
            "Chroma server": lambda row: row["server"]["dense"]["ms"],
            "Milvus Lite": lambda row: row["milvus"]["dense"]["ms"],
            "BM25": lambda row: row["query"]["bm25"]["ms"],
        },
        "memory while serving, MB": {
            "embedded": lambda row: row["query"]["memory"],
            "Chroma server": lambda row: row["server"]["memory of the server"],
            "Milvus Lite": lambda row: row["milvus"]["memory of the server"],
        },
    }
    colours = {"embedded": "#1f77b4", "Chroma server": "#d95f02", "Milvus Lite": "#7b3294", "BM25": "#2a7f3f"}
    figure = make_subplots(rows=2, cols=2, subplot_titles=list(charts))
    for place, lines in enumerate(charts.values()):
        for name, value in lines.items():
            step = {"Chroma server": "server", "Milvus Lite": "milvus"}.get(name, "query")
            sizes = [size for size, row in sorted(rows.items()) if step in row]
            figure.add_trace(
                go.Scatter(x=sizes, y=[value(rows[size]) for size in sizes], name=name, mode="lines+markers", line_color=colours[name], showlegend=place == 2),
                row=place // 2 + 1, col=place % 2 + 1,
            )  # fmt: skip
    figure.update_xaxes(type="log", title="passages", tickvals=SIZES, ticktext=[f"{size:,}" for size in SIZES])
    figure.update_yaxes(type="log", rangemode="tozero")
    figure.update_layout(template="plotly_white", width=1000, height=760, legend={"orientation": "h", "y": -0.12})
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
            sizes = [int(size) for size in given if size != "--embedded"]
            measure(sizes or SIZES, [step for step in STEPS if step not in SERVERS or "--embedded" not in given])
