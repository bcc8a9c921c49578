"""Exports of a comparison: a report that stands alone, a spreadsheet's rows, TREC runs, and the JSON behind them."""

import csv
import io
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rag_core
from rag_core.evaluation.run_folder import read_run
from rag_core.explain.flow import stage_title
from rag_core.lab.lab import Lab
from rag_core.runtime.services import Services
from rag_core.sessions.html_report import report
from rag_core.sessions.saved import parse_session, passages_csv, session_json, session_text, trec_runs
from rag_core.values.message import NOTICE
from rag_core.values.sources import Source
from rag_core.values.trace import Trace
from rag_core.values.types import State

QUESTION = "Where do cats sleep?"
WHEN = datetime(2026, 5, 4, 13, 30, tzinfo=UTC)


@pytest.fixture
def traces(full: Services) -> list[Trace]:
    specs = ("bm25", ("hybrid_rrf", {"mmr_lambda": 0.3}), "hybrid_rrf")
    return [rag_core.build(one).run(QUESTION, full) for one in specs]


def asked(trace: Trace, question: str) -> Trace:
    """The trace of another question, for what depends on the question alone."""
    return replace(trace, question=question)


def with_text(trace: Trace, text: str) -> Trace:
    """The trace, its first passage with another title and text."""
    (ranking,) = trace.final.rankings
    first, *others = ranking.hits
    changed = replace(first, passage=replace(first.passage, title=text, heading="", text=text))
    state: State = replace(trace.final, rankings=(replace(ranking, hits=(changed, *others)),))
    return replace(trace, steps=(*trace.steps[:-1], replace(trace.steps[-1], after=state)))


class Page(HTMLParser):
    """Tags, attributes, links and text of a page."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.events: list[str] = []
        self.words: list[str] = []
        self.feed(source)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "src", "srcset", "action", "data", "poster"):
                self.addresses.append(value)
            if name.startswith("on"):
                self.events.append(name)

    def handle_data(self, data) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def html_of(traces: list[Trace], failures: tuple[str, ...] = ()) -> str:
    return report(parse_session(session_json(traces)), WHEN, failures)


class TestReport:
    def test_it_says_everything_the_comparison_showed(self, traces):
        page = Page(html_of(traces, ("HyDE: the server did not answer.",)))
        text = page.text
        assert NOTICE in text
        assert "4 May 2026, 13:30 UTC" in text
        assert "HyDE: the server did not answer." in text
        assert "changed: λ 0.3" in text
        for trace in traces:
            assert trace.answer
            for hit in trace.ranking:
                assert hit.passage.full_title in text
            for step in trace.steps:
                assert stage_title(step.stage) in text
            assert all(one.quote in text for one in trace.answer.citations)
        places = [f"s{number}" for number in (1, 2, 3)]
        assert [one for one in page.ids if "-p" not in one] == places  # the answers side by side
        assert [one for one in page.ids if one.endswith("-path")] == [f"{one}-path" for one in places]

    def test_it_begins_with_what_differs_and_names_no_part_of_the_engine(self):
        def saved(strategy: str, told: str, title: str, **answer: object) -> dict[str, object]:
            return {
                "question": QUESTION, "strategy": strategy, "controls": {}, "fingerprint": "", "queries": [],
                "contexts": [{"id": f"{title}:0", "title": title, "score": 1, "score_scale": "rrf", "label": "High"}],
                "answer": {"text": told, "abstained": False, "citations": [{"n": 1, "context_id": "a", "quote": ""}], **answer},
                "metrics": {"total_cost": 0}, "engine": {"llm": "gpt", "index": "ward, 3 passages", "embedding": "mini+x@1"},
            }  # fmt: skip

        session = [
            saved("bm25", "It is done at 28 weeks. [1]", "Bleeding"),
            saved("hyde", "It is done at 34 weeks. [1]", "Birth"),
            saved("multi_query", "It is done at 34 weeks. [1]", "Birth"),
            saved("rag_msr", "No answer.", "Diet", abstained=True),
        ]
        text = Page(report(parse_session({"traces": session}), WHEN)).text
        told = (
            "What differs B and C give the same answer. Only A quotes “Bleeding”. Only B and C quote “Birth”. "
            "Only A names 28 weeks. Only B and C name 34 weeks. D declines. A BM25"
        )
        assert text[text.index("What differs") :][: len(told)] == told
        assert text.index("It is done at 28 weeks") < text.index("No answer") < text.index("Stages, time and cost")
        assert "What differs" not in Page(report(parse_session(session[0]), WHEN)).text
        for part in ("Bleeding:0", "rrf", "mini+x@1", "3 passages"):
            assert part not in text

    def test_in_spanish_it_says_everything_of_its_own_in_spanish(self, traces):
        source = Source("NICE", "Sleep", 2015, jurisdiction="UK")
        session = session_json(traces)
        session["traces"][0]["contexts"][0]["sources"] = [asdict(source)]
        written = report(parse_session(session), WHEN, language="es")
        assert '<html lang="es">' in written
        text = Page(written).text
        said = (
            "4 de mayo de 2026, 13:30", "Palabras clave (BM25)", "Cómo se llegó aquí", "pregunta · peso 1",
            "NICE, Sleep, 2015 (Reino Unido)", "compruebe si hay guías más recientes", "Etapas, tiempo y coste",
        )  # fmt: skip
        assert [one for one in said if one not in text] == []
        english = ("How it got here", "Passages", "Queries", "Quoted", "Documents", "changed", "Stage")
        assert [one for one in english if one in text] == []

    def test_every_link_leads_to_a_place_in_it(self, traces):
        page = Page(html_of(traces))
        cited = [one for one in page.addresses if "-p" in one]
        assert cited
        assert {one.removeprefix("#") for one in page.addresses} <= set(page.ids)
        assert len(set(page.ids)) == len(page.ids)

    def test_an_urgent_question_says_first_what_to_do_and_whom_to_call(self, traces):
        urgent = asked(traces[0], "I am bleeding heavily at 30 weeks, what should I do?")
        page = Page(html_of([replace(urgent, engine={**urgent.engine, "country": "GB"})]))
        assert "999" in page.text
        assert "guidance for United Kingdom leads" in page.text
        assert page.text.index("999") < page.text.index("Passages")
        assert "999" not in Page(html_of([asked(traces[0], QUESTION)])).text

    @given(st.text(min_size=1, max_size=40))
    def test_foreign_text_is_only_text(self, text):
        saved = {
            "question": f"{text}<script>alert(1)</script>", "strategy": f"{text}<b>", "controls": {}, "fingerprint": "",
            "queries": [{"text": f"<img src=x onerror=y>{text}", "origin": "question", "weight": 1}],
            "contexts": [{"id": "a\"'>", "title": f"<iframe src=//x>{text}", "text": f"{text}<svg onload=z>", "score": 1,
                          "score_scale": "bm25", "label": None, "source": "<link href=//x>"}],
            "answer": {"text": f"{text}</p><script> [1] [99999999999]", "abstained": False,
                       "citations": [{"n": 1, "context_id": "a", "quote": "<style>"}]},
            "metrics": {"total_cost": None}, "engine": {"llm": "<base href=//x>"}, "warnings": ["</section><object>"],
        }  # fmt: skip
        page = Page(report(parse_session(saved), WHEN, ["<embed>"]))
        assert not {"script", "img", "iframe", "svg", "link", "base", "object", "embed"} & set(page.tags)
        assert page.tags.count("style") == 1
        assert page.events == []
        assert all(one.startswith("#s") for one in page.addresses)

    def test_an_unknown_price_is_not_nothing(self, traces):
        data = session_json(traces[:1])
        data["traces"][0]["metrics"]["total_cost"] = None
        assert "n/a" in report(parse_session(data), WHEN)


class TestTables:
    def test_one_row_per_strategy_and_passage(self, traces):
        written = passages_csv(parse_session(session_json(traces)))
        assert written.startswith("\ufeff")
        rows = list(csv.DictReader(io.StringIO(written[1:])))
        assert [(row["label"], row["rank"], row["passage"]) for row in rows] == [
            (label, str(rank), hit.id)
            for label, trace in zip(["bm25", "hybrid_rrf_1", "hybrid_rrf_2"], traces, strict=True)
            for rank, hit in enumerate(trace.ranking, start=1)
        ]
        assert {row["notice"] for row in rows} == {NOTICE}
        assert {row["cited"] for row in rows} == {"yes", "no"}

    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", '=HYPERLINK("http://x")', "\t=1", "\r=1"])
    def test_no_cell_is_a_formula(self, traces, text):
        written = passages_csv(parse_session(session_json([with_text(traces[0], text)])))
        rows = list(csv.reader(io.StringIO(written[1:], newline="")))
        for row in rows[1:]:
            assert not [cell for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]

    def test_a_run_file_ranks_the_passages_in_our_order(self, traces, tmp_path):
        found = trec_runs(parse_session(session_json(traces)))
        assert list(found) == ["bm25", "hybrid_rrf_1", "hybrid_rrf_2"]
        for trace, (label, text) in zip(traces, found.items(), strict=True):
            path = tmp_path / "run.trec"
            path.write_text(text)
            assert read_run(path) == {"q1": [hit.id for hit in trace.ranking]}
            assert {line.split()[5] for line in text.splitlines()} == {label}

    def test_white_space_in_an_id_does_not_break_the_columns(self, traces):
        data = session_json(traces[:1])
        data["traces"][0]["contexts"][0]["id"] = "my file.txt:0\u2028"
        (text,) = trec_runs(parse_session(data)).values()
        assert all(len(line.split()) == 6 for line in text.splitlines())


def test_the_json_is_what_the_command_line_prints(rag, ready, traces, monkeypatch):
    monkeypatch.setattr(Lab, "compare", lambda *given, **named: traces[:2])
    printed = rag("compare", QUESTION, "--strategies", "bm25,hybrid_rrf", "--json")
    assert printed.out == session_text(traces[:2])


class TestCommand:
    @pytest.fixture
    def saved(self, traces: list[Trace], tmp_path: Path) -> Path:
        path = tmp_path / "session.json"
        path.write_text(session_text(traces))
        return path

    def test_the_files_are_written_beside_the_session(self, rag, saved):
        ran = rag("export", str(saved), "--html", "--csv", "--trec")
        assert (ran.code, ran.err) == (0, "")
        names = ["session.html", "session.csv", *(f"session.{one}.trec" for one in ("bm25", "hybrid_rrf_1", "hybrid_rrf_2"))]  # fmt: skip
        assert ran.out.split() == [str(saved.with_name(name)) for name in names]
        assert saved.with_name("session.html").read_text().startswith("<!DOCTYPE html>")

    def test_they_go_into_another_folder(self, rag, saved, tmp_path):
        assert rag("export", str(saved), "--csv", "--into", str(tmp_path / "new")).code == 0
        assert [one.name for one in (tmp_path / "new").iterdir()] == ["session.csv"]

    def test_wrong_usage_and_wrong_files_are_one_line(self, rag, saved, tmp_path):
        assert rag("export", str(saved)).code == 2
        (tmp_path / "file").write_text("{}")
        ran = rag("export", str(tmp_path / "file"), "--html")
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "is not a saved session" in ran.err
        ran = rag("export", str(saved), "--csv", "--into", str(tmp_path / "file"))
        assert (ran.code, ran.err.count("\n")) == (1, 1)
        assert "cannot be written" in ran.err

    def test_a_label_cannot_leave_the_folder(self, rag, saved, tmp_path):
        data = json.loads(saved.read_text())
        data["traces"][0]["label"] = "../../up"
        saved.write_text(json.dumps(data))
        ran = rag("export", str(saved), "--trec", "--into", str(tmp_path / "new"))
        assert ran.code == 0
        assert len(list((tmp_path / "new").iterdir())) == 3
