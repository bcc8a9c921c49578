import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from zipfile import ZipFile

import pytest
from helpers.ports import free_port
from helpers.small import ROOT

PRODUCT = ("rag_core", "pages", "data", ".streamlit")
BESIDE = ("app.py", "pyproject.toml", "README.md", "LICENSE")
SERVED_S = 120
MAINTAINERS = {"dev.jsonl", "fit.jsonl", "train.jsonl"}  # what fits the data

Python = Callable[..., str]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: a build writes beside what it builds."""
    made = tmp_path_factory.mktemp("wheel")
    copy = made / "source"
    for name in PRODUCT:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in BESIDE:
        shutil.copy(ROOT / name, copy / name)
    build = ["-m", "pip", "wheel", "--quiet", "--no-index", "--no-build-isolation", "--no-deps"]
    subprocess.run([sys.executable, *build, "-w", str(made), str(copy)], check=True)
    (built,) = made.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site-packages")
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def elsewhere(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A folder that is no repository, and the environment in which `rag_core` is the unpacked one."""
    folder = tmp_path_factory.mktemp("elsewhere")
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("RAG_", "OPENAI_"))}
    return folder, {**ours, "PYTHONPATH": str(unpacked), "RAG_LLM": "offline"}


@pytest.fixture(scope="module")
def python(elsewhere: tuple[Path, dict[str, str]]) -> Python:
    def run(*arguments: str) -> str:
        folder, environment = elsewhere
        ran = subprocess.run(
            [sys.executable, "-P", *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run


def test_it_holds_all_code_and_all_data_but_what_only_maintainers_read(unpacked):
    def files(folder: Path) -> set[str]:
        found = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
        return {path.as_posix() for path in found if "__pycache__" not in path.parts}

    package = unpacked / "rag_core"
    code = {name for name in files(package) if not name.startswith(("_app/", "_data/"))}
    assert code == files(ROOT / "rag_core")
    assert files(package / "_app" / "pages") == files(ROOT / "pages")
    assert (package / "_app" / ".streamlit" / "config.toml").is_file()
    left_out = files(ROOT / "data") - files(package / "_data")
    assert files(package / "_data") <= files(ROOT / "data")
    others = {name for name in left_out if Path(name).name not in MAINTAINERS}
    assert {name for name in others if not name.startswith("images/")} == {"README.md", "RESULTS.md"}


def test_it_answers_indexes_and_measures(python, unpacked, elsewhere):
    assert Path(python("-c", "import rag_core; print(rag_core.__file__)").strip()).is_relative_to(unpacked)
    rag = ("-m", "rag_core")
    answer = json.loads(python(*rag, "query", "When is anti-D given?", "--json"))
    assert "anti-D" in answer["answer"]["text"]
    notes = elsewhere[0] / "notes"
    notes.mkdir()
    (notes / "visits.md").write_text("# Visits\n\nVisiting hours are from two to four.\n", encoding="utf-8")
    assert json.loads(python(*rag, "index", str(notes), "--corpus", "ward", "--json"))["added"]
    found = json.loads(python(*rag, "query", "visiting hours", "--corpus", "ward", "--strategy", "bm25", "--json"))
    assert [one["title"] for one in found["contexts"]] == ["Visits"]
    measured = json.loads(python(*rag, "eval", "--strategies", "bm25", "--json"))
    stored = json.loads((ROOT / "data" / "results.json").read_text(encoding="utf-8"))
    of = [run["strategies"]["bm25"]["metrics"]["ndcg@10"]["mean"] for run in (measured, stored)]
    assert of[0] == pytest.approx(of[1])


def test_it_serves_the_app(python, unpacked, elsewhere):
    folder, environment = elsewhere
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "rag_core", "app", "--port", str(port)],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    told = ""
    try:
        deadline = time.monotonic() + SERVED_S
        while told != "ready":
            assert process.poll() is None, process.stdout and process.stdout.read()
            assert time.monotonic() < deadline, told
            time.sleep(0.2)
            with (
                suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer,
            ):
                told = answer.read().decode()
        rebound = urllib.request.Request(f"http://127.0.0.1:{port}/", headers={"Host": "rebound.example"})
        with pytest.raises(urllib.error.HTTPError, match="400"):  # as .streamlit/config.toml says
            urllib.request.urlopen(rebound, timeout=5)
    finally:
        process.terminate()
        process.communicate(timeout=20)
    page = (
        "import sys; from streamlit.testing.v1 import AppTest; from rag_core.values.places import APP;"
        "sys.path.insert(0, str(APP.parent)); app = AppTest.from_file(str(APP), default_timeout=120).run();"
        "import pages.frame.visit; print(pages.frame.visit.__file__, len(app.exception), len(app.text_area))"
    )
    file, failed, boxes = python("-c", page).split()
    assert Path(file).is_relative_to(unpacked)
    assert int(failed) == 0
    assert int(boxes) >= 1
