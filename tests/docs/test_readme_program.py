import importlib.metadata
import re
from pathlib import Path

import pytest
from helpers.small import ROOT

import rag_core
from rag_core.values import errors
from rag_core.values.answers import Answer
from rag_core.values.message import NOTICE

README = (ROOT / "README.md").read_text(encoding="utf-8")


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
    drawn = trace._repr_html_()
    assert all(hit.passage.title in drawn for hit in trace.ranking)
    assert NOTICE in drawn


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
