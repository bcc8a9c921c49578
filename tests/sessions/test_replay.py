import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from helpers.behaviours import Status
from helpers.small import Rag

from rag_core import NOTICE
from rag_core.catalog import RECIPES
from rag_core.lab.lab import Lab
from rag_core.sessions.html_report import report
from rag_core.sessions.replaying import replay
from rag_core.sessions.saved import passages_csv, read_session
from rag_core.values.errors import DataError

QUESTION = "Do cats and dogs sleep in one house?"


@pytest.fixture
def saved(rag: Rag, animals: Lab, tmp_path: Path) -> Path:
    """A comparison as the command line saves it."""
    path = tmp_path / "session.json"
    path.write_text(rag("compare", QUESTION, "--strategies", "a=bm25,b=simple_semantic", "--json").out)
    return path


def changed(path: Path, change: Any) -> Path:
    session = json.loads(path.read_text())
    change(session["traces"][0])
    path.write_text(json.dumps(session))
    return path


def test_the_same_again_is_the_same(rag, saved):
    ran = rag("replay", str(saved), "--strict", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json == {
        "notice": NOTICE,
        "question": QUESTION,
        "traces": [
            {"label": "a", "strategy": "bm25", "differences": []},
            {"label": "b", "strategy": "simple_semantic", "differences": []},
        ],
    }
    shown = rag("replay", str(saved))
    assert [line.strip() for line in shown.out.splitlines()] == [
        "a = bm25", "no differences", "b = simple_semantic", "no differences",
    ]  # fmt: skip


def test_a_single_query_can_be_replayed(rag, animals, tmp_path):
    path = tmp_path / "one.json"
    path.write_text(rag("query", QUESTION, "--strategy", "bm25", "--set", "k_final=2", "--json").out)
    (again,) = rag("replay", str(path), "--json").json["traces"]
    assert again == {"label": "bm25", "strategy": "bm25", "differences": []}


def test_each_column_is_run_again_on_its_own_models(rag, animals, tmp_path, server):
    path = tmp_path / "models.json"
    ran = rag("compare", QUESTION, "--strategies", "a=bm25,b=bm25", "--model", "b=gpt-4o-mini", "--json")
    path.write_text(ran.out)
    server.requests.clear()
    assert rag("replay", str(path), "--strict").code == 0
    assert sorted(one.body["model"] for one in server.requests) == ["gpt-4o", "gpt-4o-mini"]
    told = report(read_session(path), datetime(2026, 1, 1, tzinfo=UTC))
    assert "Model: gpt-4o-mini · Documents: animals" in told
    rows = passages_csv(read_session(path)).splitlines()
    assert rows[0].split(",")[3:5] == ["model", "corpus"]
    assert {tuple(row.split(",")[1:5]) for row in rows[1:] if row.startswith(QUESTION)} == {
        ("a", "bm25", "gpt-4o", "animals"),
        ("b", "bm25", "gpt-4o-mini", "animals"),
    }


def first(trace: dict[str, Any]) -> dict[str, Any]:
    return trace["contexts"][0]


@pytest.mark.parametrize(
    ("change", "what", "says"),
    [
        (lambda t: t["engine"].update(llm="gpt-3"), "engine", "llm was gpt-3, is gpt-4o."),
        (lambda t: t.update(fingerprint="0"), "strategy", "have changed"),
        (lambda t: t["contexts"].pop(0), "passages", "New at rank 1: "),
        (lambda t: first(t).update(id="z:0"), "passages", "Gone from rank 1: "),
        (lambda t: first(t).update(score=first(t)["score"] * 1.001), "scores", " was bm25 "),
        (lambda t: first(t).update(label=None), "labels", " was nothing, is "),
        (lambda t: t["queries"][0].update(text="cats"), "queries", "question was 'cats', is 'Do cats"),
        (lambda t: t["queries"][0].update(weight=0.5), "queries", "question weighed 0.5, weighs 1."),
        (lambda t: t["queries"][0].update(weight=1.5), "queries", "question weighed 1.5, weighs 1."),
        (lambda t: t["answer"].update(text="Dogs bark."), "answer", "It was: Dogs bark. It is: Cats purr [1]."),
        # gpt-4o: 2.50 and 10.00 $ a million tokens
        (lambda t: t["metrics"].update(total_cost=0.1), "cost", f"It was $0.100000, is ${1000 * 2.5e-6 + 200 * 1e-5:.6f}."),
        (lambda t: t["metrics"].update(total_cost=None), "cost", "It was n/a (a price is unknown), is $0.0045"),
    ],
)  # fmt: skip
def test_what_differs_is_said_in_words(rag, saved, change, what, says):
    ran = rag("replay", str(changed(saved, change)), "--json")
    assert ran.code == 0
    a, b = ran.json["traces"]
    assert any(one["what"] == what and says in one["says"] for one in a["differences"]), a
    assert b["differences"] == []
    assert rag("replay", str(saved), "--strict").code == 1
    assert f"{what}: " in rag("replay", str(saved)).out


def test_passages_that_changed_places_are_named_with_both_ranks(rag, saved):
    def swap(trace: dict[str, Any]) -> None:
        trace["contexts"][:2] = reversed(trace["contexts"][:2])

    a, _ = rag("replay", str(changed(saved, swap)), "--json").json["traces"]
    moves = [one["says"].partition(":")[0] for one in a["differences"] if one["what"] == "passages"]
    assert moves == ["From rank 1 to 2", "From rank 2 to 1"]


def test_a_difference_of_rounding_is_none(rag, saved):
    path = changed(saved, lambda trace: first(trace).update(score=first(trace)["score"] * (1 + 1e-6)))
    assert rag("replay", str(path), "--strict").code == 0


def test_a_run_that_fails_is_a_difference(rag, saved, server):
    server.choose = lambda body: Status(401)
    a, b = rag("replay", str(saved), "--json").json["traces"]
    for one in (a, b):
        assert [row["what"] for row in one["differences"]] == ["run"]
        assert "the key was refused" in one["differences"][0]["says"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is not JSON"),
        ("[]", "is not a saved session"),
        ("{}", "question: Field required"),
        ('{"traces": []}', "it has no trace"),
        ('{"traces": [{"question": 3}]}', "traces.0.question"),
        ("[" * 100_000, "is not a saved session"),
        (f'{{"question": {"9" * 5_000}}}', "it is not JSON (a number has more than 4,300 digits)"),
        ("\xff", "is not a saved session"),
    ],
)
def test_another_file_is_one_line(rag, tmp_path, text, says):
    path = tmp_path / "file"
    path.write_text(text)
    ran = rag("replay", str(path))
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert says in ran.err
    assert "--json" in ran.err


def test_a_missing_file_is_one_line(rag, tmp_path):
    assert "cannot be read" in rag("replay", str(tmp_path / "none.json")).err


def test_a_strategy_that_is_gone_is_said_so(saved, animals):
    path = changed(saved, lambda trace: trace.update(strategy="magic"))
    with pytest.raises(DataError, match="cannot be run again: There is no strategy 'magic'"):
        replay(read_session(path), animals)


@pytest.mark.parametrize("strategy", list(RECIPES))
def test_every_strategy_is_the_same_again(lab, strategy, tmp_path):
    path = tmp_path / "session.json"
    path.write_text(json.dumps(lab.run("When is anti-D given?", strategy).as_json()))
    (again,) = replay(read_session(path), lab)
    assert again.differences == ()
