"""Questions for an exam that a language model drafts: the bill before, paid once, never known ones."""

from pathlib import Path

import pytest
from helpers.behaviours import Hang, Reply, Status
from helpers.leaflets import ASKED, LEAFLETS, drafted, index_leaflets
from helpers.openai_server import OpenAIServer
from helpers.source_files import write

import rag_core
from rag_core.documents.asked import asked_folder, read_asked
from rag_core.lab.lab import Lab
from rag_core.sessions.exam.drafting import drafts, undrafted, write_drafts
from rag_core.values.errors import MissingResource, Stopped


@pytest.fixture
def server(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> OpenAIServer:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    server.choose = drafted
    return server


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rag) -> Path:
    return index_leaflets(tmp_path, monkeypatch, rag)


def opened() -> Lab:
    return rag_core.open_lab("leaflets")


def offered(lab: Lab) -> set[str]:
    return {one.text for one, _ in drafts(lab, 3).offered}


def unannounced(bill: object) -> None:
    pytest.fail("there is nothing to pay for")


def test_drafts_cost_what_was_agreed_to_and_are_paid_for_once(home, server):
    def refuse(bill: object) -> None:
        raise Stopped

    lab, bills = opened(), []
    with pytest.raises(Stopped):
        write_drafts(lab, 3, refuse)
    assert (server.requests, drafts(lab, 3).left) == ([], 3)

    written = write_drafts(lab, 3, bills.append)
    # gpt-3.5-turbo: 0.50 and 1.50 dollars a million; three times 1,000 in and 100 out = 3 * (0.0005 + 0.00015)
    assert sum(call.cost_usd or 0 for call in written.calls) == pytest.approx(0.00195)
    assert [bill.calls for bill in bills] == [len(server.requests)] == [3]
    assert (offered(lab), undrafted(written)) == ({*ASKED.values()}, "")
    assert {one.origin for one, _ in drafts(lab, 3).offered} == {"model"}
    assert read_asked(asked_folder(home, "leaflets")) == []  # the corpus does not know them
    write_drafts(lab, 3, unannounced)
    assert len(server.requests) == 3


def test_a_server_that_is_silent_is_paid_no_more_calls_than_were_agreed_to(home, server, monkeypatch):
    monkeypatch.setenv("RAG_TIMEOUT", "0.5")
    lab, bills, server.choose = opened(), [], lambda body: Hang()
    written = write_drafts(lab, 3, bills.append)
    assert [bill.calls for bill in bills] == [len(server.requests)] == [len(written.calls)] == [3]  # none twice
    assert "3 of 3 sections have no question: " in undrafted(written)
    assert "timed out" in undrafted(written)
    server.choose = drafted
    server.script += [Status(500)] * 3  # which nobody pays for, so that they are sent again
    assert len(write_drafts(opened(), 3, bills.append).calls) == 3
    assert (len(server.requests), bills[-1].calls) == (3 + 6, 3)


def test_what_the_corpus_knows_as_asked_is_not_offered(home, server, rag, tmp_path):
    known = f"passage\tlanguage\tquestion\nfines.md\ten\t{ASKED['late']}\n"
    files = write(tmp_path / "files", {**LEAFLETS, "asked.tsv": known})
    assert rag("index", str(files), "--corpus", "leaflets").code == 0
    lab = opened()
    write_drafts(lab, 3, lambda bill: None)
    assert (offered(lab), drafts(lab, 3).refused) == ({ASKED["card"], ASKED["room"]}, 1)


def test_a_section_of_which_nothing_is_drafted_is_told_and_drafted_the_next_time(home, server):
    lab, server.choose = opened(), lambda body: Reply("I cannot.") if "late" in str(body) else drafted(body)
    assert undrafted(write_drafts(lab, 3, lambda bill: None)) == (
        "1 of 3 sections have no question: gpt-3.5-turbo wrote no question."
    )
    server.choose = drafted
    write_drafts(lab, 3, lambda bill: None)
    assert (len(server.requests), offered(lab)) == (4, {*ASKED.values()})


def test_without_a_model_it_says_what_to_do(home):
    with pytest.raises(MissingResource) as failed:
        write_drafts(opened(), 3, unannounced)
    assert failed.value.next_step == "Set OPENAI_API_KEY or OPENAI_BASE_URL, or write the questions."


def test_a_forgotten_document_takes_its_drafts_along(home, server, rag, tmp_path):
    write_drafts(opened(), 3, lambda bill: None)
    ran = rag("forget", str(tmp_path / "files" / "fines.md"), "--yes")
    assert ran.code == 0, ran.err
    assert offered(opened()) == {ASKED["card"], ASKED["room"]}
