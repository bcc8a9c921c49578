import pytest

from rag_core import NOTICE, triage

URGENT = "34 weeks, the worst headache of my life and flashing lights"
NO_WISH_TO_LIVE = "Desde que nació mi bebé lloro todo el día y no quiero vivir"


def test_its_json_is_the_value_of_the_library(rag):
    assert rag("triage", URGENT, "--json").json == {"notice": NOTICE, **triage(URGENT).as_json()}


def test_in_words_it_says_what_to_do_and_why(rag):
    out = rag("triage", URGENT).out
    assert out.startswith("emergency\nThis may be an emergency.\n")
    assert "Go to the maternity unit or hospital now" in out
    assert "severe headache or changed vision" in out


def test_the_numbers_are_those_of_the_chosen_country(rag, monkeypatch):
    monkeypatch.setenv("RAG_COUNTRY", "ES")
    out = rag("triage", NO_WISH_TO_LIVE).out
    assert "Línea de crisis: 024." in out
    assert "Emergencias en España: 112." in out


@pytest.mark.parametrize("command", [("query",), ("compare", "--strategies", "bm25,simple_semantic")])
def test_an_answer_to_an_urgent_question_begins_once_with_what_to_do_and_whom_to_call(
    ready, rag, monkeypatch, command
):
    monkeypatch.setenv("RAG_COUNTRY", "ES")
    out = rag(command[0], NO_WISH_TO_LIVE, *command[1:]).out
    assert out.startswith("Puede ser una emergencia.")
    assert out.count("Línea de crisis: 024.") == 1


def test_a_routine_question_does_not_say_that_all_is_well(rag):
    assert "does not mean that there is none" in rag("triage", "How much folic acid do I need?").out


def test_a_country_without_numbers_and_an_empty_question_end_in_one_line(rag, monkeypatch):
    assert rag("triage", "  ").code == 2
    monkeypatch.setenv("RAG_COUNTRY", "XX")
    ran = rag("triage", URGENT)
    assert ran.code == 1
    assert "RAG_COUNTRY" in ran.err
