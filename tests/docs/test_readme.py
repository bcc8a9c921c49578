"""The README: its figures, settings, files and program."""

import importlib.metadata
import json
import re
import tomllib
from pathlib import Path

import pytest
from helpers.looping import for_each
from helpers.small import ROOT

import rag_core
from rag_core import RECIPES
from rag_core.evaluation import manifest
from rag_core.lab import doctor
from rag_core.values import errors
from rag_core.values.answers import Answer
from rag_core.values.message import NOTICE
from rag_core.values.settings import Settings

README = (ROOT / "README.md").read_text(encoding="utf-8")
STORED = json.loads((ROOT / "data" / "results.json").read_text(encoding="utf-8"))
PAGES = [Path("README.md"), *sorted(path.relative_to(ROOT) for path in (ROOT / "docs").glob("*.md"))]
ROWS = re.findall(r"^\| `(\w+)` \| \d \| (\d\.\d{3}) \| (\d\.\d{3}) \| (\d\.\d{3}) \|$", README, re.MULTILINE)


def page(name: str) -> str:
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")


def test_it_fits_on_a_few_screens_and_begins_with_a_picture():
    assert len(README.splitlines()) <= 150
    picture = re.search(r"!\[[^]]+\]\(([^)]+)\)", README)
    assert picture.start() < README.index("## Start")
    assert (ROOT / picture[1]).is_file()


@for_each(("label", "overall", "english", "spanish"), ROWS)
def test_its_figures_are_the_stored_ones(label, overall, english, spanish):
    languages = STORED["groups"]["language"]
    means = [
        STORED["strategies"][label]["metrics"]["ndcg@10"]["mean"],
        *(languages[code]["strategies"][label]["ndcg@10"]["mean"] for code in ("en", "es")),
    ]
    assert [overall, english, spanish] == [f"{mean:.3f}" for mean in means]


def test_its_figures_are_for_every_strategy():
    assert set(RECIPES) <= {row[0] for row in ROWS}


def test_the_house_it_draws_is_the_one_that_is_checked():
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [set(re.split(r" \| ", row)) for row in table["contracts"][0]["layers"]]
    drawing = page("architecture").partition("```")[2].partition("```")[0]
    rooms = [set(line.partition("   ")[0].split()) for line in drawing.strip().splitlines()]
    assert [row for row in rooms if not row & {"app.py"}] == [row for row in layers if row != {"__main__"}]


def test_every_setting_is_explained():
    rows = "".join(line for line in page("settings").splitlines() if line.startswith("| `"))
    names = {name.removeprefix("RAG_").lower() for name in re.findall(r"`([A-Z_]{4,})`", rows)}
    assert names == set(Settings.model_fields)


@pytest.mark.parametrize("written", PAGES, ids=str)
def test_the_files_it_links_are_there(written):
    text = (ROOT / written).read_text(encoding="utf-8")
    linked = {ROOT / written.parent / path for path in re.findall(r"\]\(([\w./]+)\)", text)}
    assert [path for path in linked if not path.is_file()] == []


def test_versions_are_reported_of_installed_packages_only():
    """Without the test extra, a package that only the tests need has no version to report."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {re.split(r"[=<>]", one)[0] for one in project["dependencies"]} | {project["name"]}
    assert {*doctor.PACKAGES, *manifest.PACKAGES} <= needed


def test_the_program_runs_as_printed(lab, real_home, monkeypatch, capsys):
    monkeypatch.setenv("RAG_HOME", str(real_home))
    (program,) = re.findall(r"```python\n(import rag_core\n.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(program, "README.md", "exec"), names)
    assert "anti-D" in capsys.readouterr().out
    assert [trace.strategy for trace in names["both"]] == ["bm25", "hyde"]
    assert set(names["rows"][0]) >= {"user_input", "response", "retrieved_contexts"}


def test_the_package_says_its_version_and_that_it_is_typed():
    assert rag_core.__version__ == importlib.metadata.version("obstetrics-rag-lab")
    assert (Path(rag_core.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize("name", ["ConfigError", "InputError", "MissingResource", "ProviderError"])
def test_errors_to_catch_have_names_at_the_top(name):
    assert getattr(rag_core, name) is getattr(errors, name)


def test_a_trace_and_its_answer_are_one_short_line(lab):
    trace = lab.run("When is anti-D given?", "bm25")
    begin = f"<Trace bm25: 'When is anti-D given?', 5 passages, {trace.seconds:.2f} s, "
    assert repr(trace).startswith(f"{begin}<Answer, {len(trace.answer.citations)} citations: ")
    assert len(repr(trace)) < 300
    assert repr(Answer("Not known.", abstained=True, reason="no passage")) == (
        "<Answer, abstained: no passage: 'Not known.'>"
    )
    assert len(repr(Answer("Not known.", abstained=True, reason="as the model said, " * 50))) < 200
    first, *_ = trace.ranking
    assert repr(trace.ranking).startswith(f"<Ranking for 'When is anti-D given?': {first.id!r} {first.score:.4g}, ")
    assert len(repr(trace.ranking)) < 300
    assert repr(lab) == "<Lab of corpus 'obstetrics'>"
    drawn = trace._repr_html_()
    assert all(hit.passage.title in drawn for hit in trace.ranking)
    assert NOTICE in drawn
    assert drawn.startswith(trace.answer._repr_html_())
    assert '<p style="white-space: pre-wrap"><b>Call</b> &lt;b&gt;</p>' in Answer("**Call** <b>")._repr_html_()


def test_what_a_notebook_draws_escapes_what_was_found(full):
    strategy = rag_core.build("bm25").without_answer()
    trace = strategy.run("<b>cats</b>", full)
    assert "<b>" not in trace._repr_html_()


def test_the_fates_of_a_trace_are_those_of_all_it_found(lab):
    trace = lab.run("When is anti-D given?", "hybrid_rrf")
    found = rag_core.fates(trace)
    assert [one.passage.id for one in found if one.used] == [hit.id for hit in trace.ranking]
    assert len(found) > len(trace.ranking)


def test_a_name_alone_is_one_column(lab):
    (trace,) = lab.compare("When is anti-D given?", "bm25")
    assert trace.strategy == "bm25"
    with pytest.raises(rag_core.ConfigError, match="'bm52'"):
        lab.compare("When is anti-D given?", "bm52")
