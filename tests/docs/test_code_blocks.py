"""Every Python block of README and docs runs, from top to bottom of its page, as a reader would type it."""

import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import entry_points

import pytest
import typer
from helpers.small import ROOT
from llama_index.vector_stores.chroma import ChromaVectorStore

import rag_core
from rag_core.cli.app import app
from rag_core.evaluation import once
from rag_core.indexing.chroma import FOLDER
from rag_core.testing import check_stage, check_strategy

EXAMPLES = ROOT / "docs" / "examples"
FILE = re.compile(r"# (\w+\.py)\n")  # a program of its own, by the first line of its block
PROGRAMS = {"open_collection.py", "plain_chroma.py", "ward_rag.py"}  # run by tests of their own
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


WRITTEN = [page for page in PAGES if blocks(page)]


def commands(page: str) -> list[str]:
    shown = re.findall(r"```bash\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    return re.findall(r"^rag .*", "".join(shown), re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)])
def test_the_commands_of_a_page_are_read_as_typed(page):
    """Commands, options and strategies there are; what they do is tested in tests/cli."""
    rag = typer.main.get_command(app)
    for line in commands(page):
        _, *words = shlex.split(line, comments=True)
        with rag.make_context("rag", words) as context:
            name, command, rest = rag.resolve_command(context, words)
            with command.make_context(name, rest, parent=context) as read:
                listed = read.params.get("strategies") or read.params.get("strategy") or "bm25"
        for one in listed.split(","):
            rag_core.set_up(one.rpartition("=")[2])


@pytest.fixture
def home(lab, real_home, tmp_path, monkeypatch):
    """A state folder with the built-in index, for examples that write to it."""
    for name in ("vectors", "corpora"):
        shutil.copytree(real_home / name, tmp_path / ".rag" / name)
    monkeypatch.setenv("RAG_HOME", str(tmp_path / ".rag"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def few(monkeypatch):
    """Of the hundreds of judged questions, five: each is asked as all are."""
    every = once.read_judged
    monkeypatch.setattr(once, "read_judged", lambda *given: replace(read := every(*given), questions=read.measured[:5]))


@pytest.mark.parametrize("page", WRITTEN)
@pytest.mark.usefixtures("home", "few")
def test_the_blocks_of_a_page_run(page):
    # what a page's first sentence may take for granted
    names: dict[str, object] = {"rag_core": rag_core, "lab": rag_core.open_lab()}
    for block in blocks(page):
        if (program := FILE.match(block)) and program[1] in PROGRAMS:
            continue
        exec(compile(block, page, "exec"), names)


@pytest.mark.usefixtures("home", "few")
def test_the_notebook_runs_from_top_to_bottom():
    cells = json.loads((ROOT / "docs" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), cell["id"], "exec"), names)
    assert repr(names["swept"]).startswith("<Sweep of 4 settings of bm25")


@pytest.fixture
def no_more_strategies():
    """Take out what an example registers."""
    known = set(rag_core.RECIPES)
    yield
    for name in set(rag_core.RECIPES) - known:
        rag_core.unregister(name)


@pytest.mark.parametrize("program", sorted((EXAMPLES / "jobs").glob("*.py")), ids=lambda path: path.stem)
@pytest.mark.usefixtures("home", "few", "no_more_strategies")
def test_the_program_of_a_job_runs_and_is_short(program, capsys):
    runpy.run_path(str(program), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert len(program.read_text("utf-8").splitlines()) <= 25


def test_the_example_package_installs_and_brings_its_strategy(tmp_path, monkeypatch):
    source = shutil.copytree(EXAMPLES / "ward_rag", tmp_path / "source")  # a build writes beside what it builds
    install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-build-isolation",
        "--no-deps",
        "--target",
    ]
    subprocess.run([sys.executable, *install, str(tmp_path / "site"), str(source)], check=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    (entry,) = [one for one in entry_points(group="rag_core.strategies") if one.module == "ward_rag"]
    strategy = entry.load()
    module = sys.modules[entry.module]
    monkeypatch.delitem(sys.modules, entry.module)
    check_stage(module.EveryOther())
    check_strategy(strategy)
    (shown,) = [block for block in blocks("docs/strategies.md") if block.startswith("# ward_rag.py")]
    assert shown.partition("\n")[2] == (EXAMPLES / "ward_rag" / "ward_rag.py").read_text("utf-8").partition("\n\n")[2]


def test_the_examples_are_typed(tmp_path):
    check = [
        "-m",
        "mypy",
        "--strict",
        "--cache-dir",
        str(tmp_path),
        *map(str, sorted(EXAMPLES.rglob("*.py"))),
    ]
    ran = subprocess.run([sys.executable, *check], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


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
        assert isinstance(lab.vector_store(enriched=enriched), ChromaVectorStore)
        retriever = lab.vector_index(enriched=enriched).as_retriever(similarity_top_k=5)
        found = [one.node.node_id for one in retriever.retrieve(question)]
        assert found == [hit.id for hit in index.dense(vector, 5)]
