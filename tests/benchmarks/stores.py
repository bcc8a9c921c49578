"""The stores of vectors compared: the same answers of every strategy, and kills at random moments of indexing.

`python tests/benchmarks/stores.py answers` asks the built-in test questions of the mapped store and of every other: embedded
Chroma, a Chroma server on loopback, Milvus Lite as a server and as a file; `... kills` kills twenty writers into each but the
file. Stores named behind it are measured alone. Both print a line per store, and fail at a difference.
"""

import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers.chroma_server import chroma_server, milvus_server
from helpers.kills import documents_of, kill_writer, version_served, writer_moments
from helpers.processes import held_by_each_part
from helpers.small import ROOT, WordEmbedder
from pydantic import SecretStr

from rag_core.catalog import RECIPES
from rag_core.documents.benchmark import read_builtin
from rag_core.indexing import CorpusStore, SourceFiles, stores
from rag_core.lab.lab import Lab
from rag_core.lab.opening import open_lab
from rag_core.values.settings import Settings

FILE = "milvus file"
SERVERS = {stores.SERVER: (chroma_server, "http"), stores.MILVUS: (milvus_server, "milvus+http")}
KILLS = 20
DEEP = 50  # hits of each search that are compared
SEED = 20261127


@contextmanager
def served(name: str, folder: Path) -> Iterator[Settings]:
    """Settings under which a new generation has its vectors in this store."""
    place = {FILE: str(folder / "index.db")}.get(name, name)
    with ExitStack() as running:
        if name in SERVERS:
            run, scheme = SERVERS[name]
            _, port = running.enter_context(run(folder / "server"))
            place = f"{scheme}://127.0.0.1:{port}"
        yield Settings(home=folder / "home", llm="offline", vectors=SecretStr(place))


def answers(*names: str) -> None:
    """Compare each store with the mapped one."""
    questions = read_builtin(ROOT / "data", "test").questions
    strategies = {name: recipe.build().without_answer() for name, recipe in RECIPES.items()}
    with tempfile.TemporaryDirectory() as folder, served(stores.MAPPED, Path(folder, "mapped")) as settings:
        mapped = open_lab(settings=settings)
        for name in names or (stores.CHROMA, stores.SERVER, stores.MILVUS, FILE):
            with served(name, Path(folder, name)) as settings:
                lab = open_lab(settings=settings, engines=mapped.engines)
                assert lab.index.manifest.store == (stores.MILVUS if name == FILE else name)
                largest, others = 0.0, 0
                for question in questions:
                    largest = max(largest, compare_searches(mapped, lab, question.text))
                    for label, strategy in strategies.items():
                        one, other = (strategy.run(question.text, each.services()) for each in (mapped, lab))
                        if [hit.id for hit in one.ranking.hits] != [hit.id for hit in other.ranking.hits]:
                            others += 1
                            print(f"  {label} ranks otherwise: {question.id}", flush=True)
                print(
                    f"{name}: {len(questions)} questions x {len(strategies)} strategies, {others} rankings differ; "
                    f"{DEEP} best of each search: largest difference of a cosine {largest:.1e}, BM25 equal to the last bit",
                    flush=True,
                )
                assert (others, largest < 1e-6) == (0, True)


def compare_searches(one: Lab, other: Lab, question: str) -> float:
    """The largest difference between the cosines of a question's best passages; its BM25 scores must be equal."""
    (vector,), _ = one.engines.embedder.embed([question])
    dense = [{hit.id: hit.score for hit in lab.index.dense(vector, DEEP)} for lab in (one, other)]
    lexical = [[(hit.id, hit.score) for hit in lab.index.lexical(question, DEEP, 1.5, 0.75)] for lab in (one, other)]
    assert lexical[0] == lexical[1]
    assert dense[0].keys() == dense[1].keys()
    return max(abs(score - dense[1][identity]) for identity, score in dense[0].items())


def kills(*names: str) -> None:
    """Kill writers into each store; the index before is served, or the new one once it was put in place."""
    for name in names or (stores.MAPPED, stores.CHROMA, stores.SERVER, stores.MILVUS):
        with tempfile.TemporaryDirectory() as folder, served(name, Path(folder)) as settings:
            home = settings.home
            known = stores.stores_of(settings)
            update(home, known, 0)
            moments = len(writer_moments(home, 1, settings))
            at = sorted(random.Random(SEED).sample(range(moments), KILLS))
            old = 0
            for version, moment in enumerate(at, 2):
                assert kill_writer(home, version, moment, settings) == -signal.SIGKILL
                found = whole_version(home, known)
                assert found in (version - 1, version), (moment, found)
                old += found < version
                update(home, known, version)
                assert whole_version(home, known) == version, moment
            print(
                f"{name}: killed at {at} of {moments} moments; the index before was then served {old} times, the new one "
                f"{KILLS - old} times; each next run finished",
                flush=True,
            )


def update(home: Path, known: stores.Stores, version: int) -> None:
    reading = SourceFiles("test", documents_of(version))
    CorpusStore(home, "animals", WordEmbedder(), stores=known).update(reading)


def whole_version(home: Path, known: stores.Stores) -> int:
    """The version that is served, of which every part must have every document."""
    index = CorpusStore(home, "animals", WordEmbedder(), stores=known).open()
    assert index is not None
    assert held_by_each_part(index) == [{one.id for one in documents_of(0)}] * 3
    return version_served(index)


if __name__ == "__main__":
    {"answers": answers, "kills": kills}[sys.argv[1]](*sys.argv[2:])
