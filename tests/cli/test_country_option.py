import json

import pytest

from rag_core import NOTICE, triage

CORD = "When is the cord clamped after birth?"


@pytest.mark.usefixtures("ready")
class TestCountry:
    def test_the_option_chooses_whose_guidance_leads_and_is_in_the_json(self, rag):
        shown = rag("query", CORD, "--strategy", "simple_semantic", "--country", "us", "--json").json
        assert shown["country"] == shown["engine"]["country"] == "US"
        (remark,) = [one["text"] for one in shown["answer"]["remarks"] if one["kind"] == "differs"]
        assert remark.endswith("For the country you chose (US), ACOG 2020 applies.")

    def test_the_setting_is_its_default_and_empty_is_none(self, rag, monkeypatch):
        monkeypatch.setenv("RAG_COUNTRY", "gb")
        asked = ("compare", CORD, "--strategies", "bm25", "--json")
        assert rag(*asked).json["traces"][0]["country"] == "GB"
        assert rag(*asked, "--country", "").json["traces"][0]["country"] is None

    def test_a_saved_session_is_run_again_for_its_own_country(self, rag, tmp_path):
        saved = tmp_path / "session.json"
        saved.write_text(rag("query", CORD, "--strategy", "simple_semantic", "--country", "US", "--json").out)
        assert rag("replay", str(saved), "--strict").code == 0
        changed = json.loads(saved.read_text())
        changed["country"] = "GB"
        saved.write_text(json.dumps(changed))
        out = rag("replay", str(saved)).out
        assert "engine: country was US, is GB." in out
        assert "answer: It was: " in out

    def test_a_passage_says_whose_it_is_who_differs_and_how_old_it_is(self, rag):
        out = " ".join(rag("query", CORD, "--strategy", "simple_semantic").out.split())
        assert "WHO 2014 (International) and NICE 2023 (UK) say one thing, ACOG 2020 (US) another." in out
        assert "years old: check for newer guidance." in " ".join(
            rag("query", "Who is offered a swab for group B streptococcus?", "--strategy", "bm25").out.split()
        )


@pytest.mark.parametrize("command", [("query", CORD), ("triage", CORD), ("compare", CORD, "--strategies", "bm25")])
def test_an_unknown_country_is_wrong_usage_that_lists_the_others(rag, command):
    ran = rag(*command, "--country", "XX")
    assert ran.code == 2
    assert "GB, IE, US" in ran.err


class TestNotice:
    @pytest.mark.usefixtures("ready")
    @pytest.mark.parametrize(
        "command",
        [("query", CORD, "--strategy", "bm25"), ("compare", CORD, "--strategies", "bm25"), ("triage", CORD)],
    )
    def test_answers_as_json_and_as_text(self, rag, command):
        assert rag(*command, "--json").json["notice"] == NOTICE
        assert NOTICE in " ".join(rag(*command).out.split())

    def test_measured_results_and_every_file_of_a_run_that_has_a_place_for_it(self, rag, beir, tmp_path):
        run = tmp_path / "run"
        asked = ("--data", str(beir), "--strategies", "bm25,dense=simple_semantic")
        assert rag("eval", *asked, "--run-dir", str(run), "--json").json["notice"] == NOTICE
        for name in ("results.json", "manifest.json"):
            assert json.loads((run / name).read_text("utf-8"))["notice"] == NOTICE, name
        assert NOTICE in rag("results", str(run / "results.json"), "--markdown").out
        swept = rag("sweep", "--data", str(beir), "--strategy", "bm25", "--vary", "k1=1,2", "--json")
        assert swept.json["notice"] == NOTICE


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
def test_an_answer_to_an_urgent_question_begins_once_with_what_to_do_and_whom_to_call(ready, rag, monkeypatch, command):
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
