"""`rag exam make --draft`: a language model drafts questions; its bill is agreed to before, then each question."""

from pathlib import Path

import pytest
from helpers.leaflets import ASKED, LEAFLETS, drafted, index_leaflets
from helpers.openai_server import OpenAIServer
from helpers.small import Terminal
from helpers.source_files import write

from rag_core.sessions.exam.drafting import MOST_DRAFTS
from rag_core.sessions.exam.exam import ExamQuestion
from rag_core.sessions.exam.store import Exams
from rag_core.values.settings import Settings

MAKE = ("exam", "make", "--corpus", "leaflets", "--draft", "3")


@pytest.fixture
def server(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.choose = drafted
    return server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rag) -> Path:
    return index_leaflets(tmp_path, monkeypatch, rag)


def types(monkeypatch: pytest.MonkeyPatch, keys: str) -> None:
    monkeypatch.setattr("sys.stdin", Terminal(keys))


def questions(home: Path) -> list[list[ExamQuestion]]:
    kept = Exams.opened(Settings(home=home))
    assert kept
    return [[*kept.judgements(one.code).questions] for one in kept.all()]


def test_nothing_is_sent_before_the_bill_is_agreed_to_and_each_draft_is_agreed_to(home, server, rag, monkeypatch):
    types(monkeypatch, "n\n")
    refused = rag(*MAKE)
    assert refused.code == 1
    assert "Drafting questions costs at most about $" in refused.err
    assert "Nothing was run. Write the questions." in " ".join(refused.err.split())
    assert (server.requests, questions(home)) == ([], [])

    types(monkeypatch, "y\ny\nperhaps\nn\ny\n")  # to the bill, then to each
    ran = rag(*MAKE)
    assert ran.code == 0, ran.err
    # gpt-3.5-turbo: 0.50 and 1.50 dollars a million; three times 1,000 in and 100 out = 3 * (0.0005 + 0.00015) = 0.00195
    assert "Spent so far: $0.001950 for 3 calls." in ran.out
    assert "2 questions about leaflets." in ran.out
    (made,) = questions(home)
    assert [one.origin for one in made] == ["model", "model"]
    assert {one.text for one in made} < {*ASKED.values()}


def test_drafts_stand_beside_written_questions_and_are_paid_for_once(home, server, rag, tmp_path, monkeypatch):
    known = f"passage\tlanguage\tquestion\nfines.md\ten\t{ASKED['late']}\n"
    files = write(tmp_path / "files", {**LEAFLETS, "asked.tsv": known})
    assert rag("index", str(files), "--corpus", "leaflets").code == 0
    types(monkeypatch, "q\n")
    stopped = rag(*MAKE, "--yes")
    assert stopped.code != 0
    assert "found by these questions or nearly the same already: 1." in " ".join(stopped.out.split())
    assert questions(home) == []
    own = write(tmp_path / "own", {"questions.txt": "May I bring food?\n"}) / "questions.txt"
    types(monkeypatch, "y\ny\n")  # there is nothing left to pay for
    ran = rag("exam", "make", str(own), *MAKE[2:])
    assert ran.code == 0, ran.err
    assert "Spent" not in ran.out
    assert len(server.requests) == 3
    (made,) = questions(home)
    assert {(one.text, one.origin) for one in made} == {
        ("May I bring food?", "written"), (ASKED["card"], "model"), (ASKED["room"], "model"),
    }  # fmt: skip


def test_without_a_terminal_a_model_or_a_question_it_says_what_to_do(home, rag, monkeypatch):
    def refused(*command: str) -> str:
        ran = rag(*command)
        assert ran.code == 1
        return " ".join(ran.err.split())

    assert "You agree to each draft by a key. Run it in a terminal, or write the questions." in refused(*MAKE)
    types(monkeypatch, "")
    assert "Set OPENAI_API_KEY or OPENAI_BASE_URL, or write the questions." in refused(*MAKE)
    assert "There are no questions." in refused(*MAKE[:4])
    assert rag(*MAKE[:4], "--draft", str(MOST_DRAFTS + 1)).code == 2
