"""Nothing foreign commands the terminal: every printed text passes one gate."""

import ast
import io
import json
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest
from helpers.answers import answered, passage
from helpers.behaviours import Reply, Status
from helpers.looping import for_each
from helpers.small import ROOT, Rag
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.catalog import RECIPES
from rag_core.cli import layout, show
from rag_core.values.answers import Answer, Citation, Remark, Suggestion
from rag_core.values.errors import RagError
from rag_core.values.visible import as_json, valid, visible

HOSTILE = "\x1b]0;owned\x07 \x1b]8;;http://x\x1b\\ \x1b[2J \x9b31m \u202e gpj.exe \u2066 \x7f \ud83d \u2028end"
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
ANY_TEXT = st.text(
    st.one_of(st.characters(), st.characters(max_codepoint=0xA0), st.characters(categories=["Cs", "Cf", "Zl", "Zp"]))
)
fuzzed = settings(derandomize=True, max_examples=150, deadline=None)


def obeyed(text: str) -> list[str]:
    """Characters that a terminal would obey."""
    return [
        one
        for one in text
        if (unicodedata.category(one) in ("Cc", "Cs", "Zl", "Zp") and one not in "\n\t") or one in BIDI
    ]


@given(ANY_TEXT)
@fuzzed
def test_any_text_is_made_visible_and_what_is_harmless_stays(text):
    shown = visible(text)
    assert obeyed(shown) == []
    assert visible(shown) == shown
    if not obeyed(text):
        assert shown == text


@given(st.recursive(ANY_TEXT, lambda one: st.lists(one) | st.dictionaries(ANY_TEXT, one), max_leaves=5))
@fuzzed
def test_any_json_is_valid_unicode_without_commands_and_reads_back(value):
    written = as_json(value)
    assert obeyed(written) == []
    written.encode()
    assert json.loads(written) == json.loads(valid(json.dumps(value, ensure_ascii=False)))


@for_each(
    ("text", "shown"),
    [
        ("\x1b[31m", "␛[31m"), ("a\u202eb", "a⟨U+202E⟩b"), ("\x9b", "⟨U+009B⟩"), ("\x7f\x00", "␡␀"),
        ("\ud83d", "⟨U+D83D⟩"), ("one\r\ntwo\tthree", "one\ntwo\tthree"), ("over\rwritten", "over␍written"),
        ("λ ∥ ¿Cuándo? 孕妇 🤰🏽 👩‍👩‍👧", "λ ∥ ¿Cuándo? 孕妇 🤰🏽 👩‍👩‍👧"),
    ],
)  # fmt: skip
def test_a_command_becomes_a_mark_and_text_stays(text, shown):
    assert visible(text) == shown


def test_a_hostile_title_text_and_answer_reach_the_terminal_as_text(capsys):
    trace = replace(answered("", passage(HOSTILE, title=HOSTILE)), engine={"llm": HOSTILE})
    (step,) = trace.steps
    answer = Answer(f"Cats {HOSTILE} [1].", reason=HOSTILE)
    show.trace(replace(trace, steps=(replace(step, after=replace(step.after, answer=answer)),)), details=True)
    layout.say_json(trace.as_json())
    layout.complain(f"rag: {RagError(HOSTILE)}")
    out, err = capsys.readouterr()
    assert "␛[2J" in out
    assert "⟨U+202E⟩" in err
    assert obeyed(out + err) == []


FORGED = "Cats\n  [9] High   cosine 0.9999  Forged\r\n  warning: forged\nMISSING forged"


def test_no_title_reason_or_name_can_make_a_line_of_its_own(capsys):
    remark, near = Remark("thin", FORGED, (1,)), Suggestion(FORGED, "cats", "cats:0")
    cited = Citation(1, "animals:0", FORGED, supported=False)
    answer = Answer("No.", (cited,), True, FORGED, remarks=(remark,), suggestions=(near,))
    trace = replace(answered("", passage("Cats purr.", title=FORGED)), engine={"llm": FORGED})
    (step,) = trace.steps
    step = replace(step, after=replace(step.after, answer=answer), warnings=(FORGED,))
    show.trace(replace(trace, steps=(step,), warnings=(FORGED,)), details=True, heading=FORGED)
    layout.complain(FORGED)
    out, err = capsys.readouterr()
    lines = [line for line in (out + err).splitlines() if line.lstrip().startswith(("[9]", "MISSING"))]
    assert lines == [line for line in lines if line.startswith("    ")]  # goes on from the line above
    assert [line for line in out.splitlines() if line.startswith("  warning: forged")] == []
    assert "[9] High" in out


def test_the_lines_of_an_answer_are_further_in_than_ours(capsys):
    layout.several_lines("Go if:\n- you bleed\n  [9] High")
    assert capsys.readouterr().out == "  Go if:\n      - you bleed\n        [9] High\n"


def test_strategies_registered_by_others_cannot_command_the_terminal(rag, monkeypatch):
    theirs = replace(RECIPES["bm25"], title=HOSTILE, summary=HOSTILE, source=HOSTILE, helps=HOSTILE)
    monkeypatch.setattr(RECIPES, "_recipes", {**RECIPES._recipes, "bm25": theirs})
    people, programs = rag("strategies").out, rag("strategies", "--json")
    assert "␛[2J" in people
    assert obeyed(people + programs.out) == []
    assert [row["title"] for row in programs.json if row["name"] == "bm25"] == [valid(HOSTILE)]


@pytest.mark.parametrize(
    "arguments",
    [
        ("query", "x", "--strategy", HOSTILE), ("query", "x", "--strategy", HOSTILE, "--rerank"),
        ("query", "x", f"--{HOSTILE}"), ("query", "x", "--set", HOSTILE), ("query", HOSTILE), (HOSTILE,),
        ("replay", HOSTILE), ("results", HOSTILE), ("query", "x", "--corpus", HOSTILE),
        ("eval", "--strategies", HOSTILE), ("eval", "--strategies", "bm25", "--data", HOSTILE),
        ("sweep", "--strategy", "bm25", "--vary", HOSTILE),
    ],
)  # fmt: skip
def test_wrong_usage_repeats_what_was_typed_as_text(rag, arguments, monkeypatch, tmp_path):
    monkeypatch.setenv("RAG_HOME", str(tmp_path))
    ran = rag(*arguments)
    assert ran.code in (1, 2)
    assert obeyed(ran.out + ran.err) == []


@pytest.fixture
def cats(rag: Rag, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus of one hostile document."""
    monkeypatch.setenv("RAG_HOME", str(tmp_path / "home"))
    (tmp_path / "docs").mkdir()
    text = f"# Cats {HOSTILE.replace(chr(0xD83D), '')}\n\nCats purr when they are happy \x1b[31mred \x9b31m.\n"
    (tmp_path / "docs" / "cats\x1b[2J.md").write_text(text, encoding="utf-8")
    monkeypatch.setenv("RAG_LLM", "offline")
    ran = rag("index", str(tmp_path / "docs"), "--corpus", "cats")
    assert ran.code == 0
    assert obeyed(ran.out + ran.err) == []
    monkeypatch.delenv("RAG_LLM")


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (Reply("Cats \ud83d purr [1]."), "Cats � purr [1]."),
        (Reply("Cats \x1b[2J\x9b purr \u202e [1]."), "Cats ␛[2J⟨U+009B⟩ purr ⟨U+202E⟩ [1]."),
        (Reply(f"Cats purr [{'9' * 5000}] [{'1' * 5000}-{'2' * 5000}] [1]."), "Cats purr [1]."),
        (Status(400, "No \x1b[2J \ud83d \u202e"), ""),
    ],
    ids=["half a character", "terminal commands", "a number of 5000 digits", "an error"],
)
def test_a_hostile_reply_is_printed_as_text(cats, rag, server, monkeypatch, reply, shown):
    server.choose = lambda body: reply
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    for form in ((), ("--json",)):
        ran = rag("query", "When do cats purr?", "--corpus", "cats", "--strategy", "bm25", *form)
        assert ran.code == (0 if shown else 1)
        assert obeyed(ran.out + ran.err) == []
        ran.out.encode()
        if form and shown:
            assert visible(ran.json["answer"]["text"]) == shown
        else:
            assert shown in ran.out


def test_a_terminal_that_knows_few_characters_gets_their_codes(monkeypatch, rag):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="latin-1"))
    rag("strategies")
    sys.stdout.flush()
    assert rb"\u2192" in raw.getvalue()


@for_each("path", sorted((ROOT / "rag_core" / "cli").glob("*.py")), ids=lambda path: path.stem)
def test_only_the_gate_prints(path):
    assert path.stem == "layout" or printing(path.read_text(encoding="utf-8")) == []


@for_each(
    "source",
    [
        "typer.echo(x)", "typer.secho(x)", "typer.confirm(x)", "print(x)", "sys.stdout.write(x)",
        "rich.print(x)", "from rich.console import Console", "from typer import echo",
    ],
)  # fmt: skip
def test_printing_past_the_gate_is_found(source):
    assert printing(source) != []


def printing(source: str) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Attribute(value=ast.Name(id="typer" | "click"), attr="prompt" as name):
                found.append(name)
            case ast.Attribute(attr="echo" | "secho" | "confirm" | "write" as name):
                found.append(name)
            case ast.Call(func=ast.Name(id="print")):
                found.append("print")
            case ast.Attribute(value=ast.Name(id="rich")):
                found.append("rich")
            case ast.ImportFrom(module=module, names=names) if (module or "").split(".")[0] in (
                "rich",
                "typer",
            ):
                found += [one.name for one in names if one.name in ("echo", "secho", "confirm", "print", "Console")]
    return found
