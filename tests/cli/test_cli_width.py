from pathlib import Path

import pytest
from rich.cells import cell_len

from rag_core.lab import builtin

COMMANDS = (
    "strategies", "query", "compare", "index", "eval", "sweep", "answers", "results", "replay", "doctor",
)  # fmt: skip
ANTI_D = "When is anti-D given?"


SLOW = ("eval", "sweep", "answers", "index", "doctor")  # these take seconds, and fill a longer line no more


def session(beir: Path, folder: Path, saved: Path, stored: Path) -> list[tuple[str, ...]]:
    """The README's commands for people, on data that is quick to measure."""
    data = ("--data", str(beir))
    return [
        ("strategies",),
        ("query", ANTI_D, "--show-details"),
        ("query", ANTI_D, "--strategy", "rag_msr", "--fates"),
        ("query", "孕妇什么时候去医院？🤰 " * 8 + "anti-D", "--strategy", "multi_query", "--show-details"),
        ("query", ANTI_D, "--search-type", "hybrid", "--vector-weight", "0.7", "--bm25-weight", "0.3", "--rerank"),
        ("compare", "¿Cuáles son los riesgos de la cesárea?", "--strategies", "multi_query,contextual,rag_msr"),
        ("compare", ANTI_D, "--strategies", "a=hybrid_rrf,b=hybrid_rrf", "--set", "b.rrf_k=5", "--show-details"),
        ("query", "swollen legs", "--strategy", "multi_query", "--set", "templates=standalone,synonyms,complications"),
        ("index", str(folder), "--corpus", folder.parent.parent.name, "--enrich"),
        ("index", "--check"),
        ("doctor",),
        ("eval", *data, "--strategies", "bm25,simple_semantic,hybrid_rrf"),
        ("eval", *data, "--strategies", "bm25,plain=hybrid_rrf", "--set", "plain.mmr=false", "--baseline", "bm25"),
        ("eval", *data, "--strategies", "rag_msr,raw=rag_msr@raw", "--pair", "rag_msr:raw"),
        ("sweep", *data, "--strategy", "hybrid_rrf", "--vary", "rrf_k=1:100:50", "--vary", "mmr_lambda=0:1:0.5"),
        ("answers", *data, "--strategies", "hybrid_rrf"),
        ("results", str(stored)),
        ("replay", str(saved)),
        ("--help",),
        *((command, "--help") for command in COMMANDS),
    ]  # fmt: skip


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a check of the built-in collection tells: tests/upkeep/test_builtin.py makes one."""
    kinds = {f"a kind of question {number}": number for number in range(20)}
    counts = {"documents": {"en": 212, "es": 213}, "words": 123_456, "kinds": kinds}
    monkeypatch.setattr(builtin, "check", lambda *collection: (counts, []))


@pytest.mark.usefixtures("checked")
@pytest.mark.parametrize("columns", [80, 120])
def test_no_line_is_wider_than_the_terminal(ready, rag, beir, tmp_path, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    folder = (
        tmp_path / "a folder with a name that is a good deal longer than it would have to be" / "leaflets"
    )
    folder.mkdir(parents=True)
    (folder / "visiting hours.md").write_text("# Visiting hours\n\nVisitors are welcome from two to eight.")
    (folder / f"{'scan' * 20}.pdf").write_bytes(b"no pdf")
    (folder / f"{'photo' * 20}.jpg").write_bytes(b"no text")
    saved, stored = tmp_path / "saved.json", tmp_path / "stored.json"
    saved.write_text(rag("query", ANTI_D, "--json").out.replace("anti-D", "anti-d"))
    stored.write_text(rag("eval", "--data", str(beir), "--strategies", "bm25,hyde", "--json").out)
    widest = 0
    for command in session(beir, folder, saved, stored):
        if columns > 80 and command[0] in SLOW and "--help" not in command:
            continue
        with monkeypatch.context() as own:
            if command == ("doctor",):
                own.setenv("RAG_HOME", str(ready))  # what it describes is the index of all tests
            ran = rag(*command)
        assert (ran.code, ran.err) == (0, ""), command
        for line in ran.out.splitlines():
            assert cell_len(line) <= columns, (command, line)
            widest = max(widest, cell_len(line))
    assert widest > columns - 5
