"""Weak evidence is declined before any answer is asked for, whoever would write it."""

import re
from dataclasses import replace

import pytest
from helpers.openai_server import OpenAIServer
from helpers.provider_lab import listed

from rag_core.documents.documents import Document
from rag_core.indexing import CorpusStore, SourceFiles
from rag_core.lab.engines import PaidModels
from rag_core.lab.lab import Lab
from rag_core.values.settings import Settings

OUTSIDE = "What is the capital of Australia?"
INSIDE = "When is anti-D given in pregnancy?"


def answering(lab: Lab, server: OpenAIServer, **changes: object) -> Lab:
    """The real lab, its answers written by the server's model."""
    paid = PaidModels(Settings(openai_base_url=server.url), listed()).of_settings()
    return lab.with_engines(replace(lab.engines, paid={"answer": paid["answer"]}, **changes))  # type: ignore[arg-type]


def asked(server: OpenAIServer) -> list[str]:
    return [request.role for request in server.requests]


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (OUTSIDE, r"The evidence in these passages scores 0\.\d\d; an answer needs at least 0\.\d\d\."),
        (
            "¿Cuál es la capital de Australia y cuántos habitantes tiene?",
            r"La evidencia de estos pasajes alcanza 0\.\d\d; una respuesta necesita al menos 0\.\d\d\.",
        ),
    ],
)
def test_a_language_model_is_not_asked_to_answer_from_weak_evidence(lab, server, question, reason):
    trace = answering(lab, server).run(question, "hybrid_rrf")
    assert trace.answer.abstained
    assert re.fullmatch(reason, trace.answer.reason)
    assert trace.ranking.hits
    assert asked(server) == []


def test_it_is_asked_when_there_is_evidence_or_abstention_is_off(lab, server):
    assert not answering(lab, server).run(INSIDE, "hybrid_rrf").answer.abstained  # type: ignore[union-attr]
    assert asked(server) == ["answer"]
    off = answering(lab, server, thresholds=None)
    assert not off.run(OUTSIDE, "hybrid_rrf").answer.abstained  # type: ignore[union-attr]
    assert asked(server) == ["answer", "answer"]
    assert (off.engine["abstention"], lab.engine["abstention"] != "off") == ("off", True)


@pytest.mark.parametrize(
    ("question", "document"),
    [
        ("mi marido me ahorcó anoche, 20 semanas", "es-violencia-de-pareja:1"),
        ("Tengo miedo de mi marido, estoy embarazada", "es-violencia-de-pareja:5"),
        ("I am afraid of my husband and I am pregnant", "en-intimate-partner-violence:5"),
    ],
)
def test_an_emergency_in_words_that_no_document_has_is_answered_with_what_to_do(lab, question, document):
    answer = lab.run(question, "hybrid_rrf").answer
    assert [citation.context_id.rpartition(":")[0] for citation in answer.citations] == [document]


def test_the_offline_engine_names_score_and_threshold_too(lab):
    answer = lab.run(OUTSIDE, "simple_semantic").answer
    assert (answer.abstained, answer.reason.startswith("The evidence in these passages scores 0.")) == (
        True,
        True,
    )


LEAFLET = Document(
    "leaflet",
    "Ward leaflet",
    "en",
    "Visiting hours are from two to eight in the evening.\n\nThe car park costs three pounds a day.\n\n"
    "Bring your own towels and a dressing gown.",
)
FOLLETO = Document(
    "folleto",
    "Folleto",
    "es",
    "El horario de visitas es de dos a ocho.\n\nEl aparcamiento cuesta tres euros al día.",
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When are visiting hours?", "Visiting hours are from two"),
        ("How much is the car park?", "The car park costs three pounds"),
        ("Do I need to bring towels?", "Bring your own towels"),
        ("visiting hours", "Visiting hours are from two"),
        ("¿Cuánto cuesta el aparcamiento?", "El aparcamiento cuesta tres euros"),
        ("¿Cuál es el horario de visitas?", "El horario de visitas es"),
    ],
)
def test_a_leaflet_of_three_lines_can_answer(lab, tmp_path, question, answer):
    store = CorpusStore(tmp_path, "ward", lab.engines.embedder)
    store.update(SourceFiles("test", [LEAFLET, FOLLETO]))
    trace = Lab(lab.settings, "ward", lab.engines, store).run(question, "hybrid_rrf")
    assert answer in trace.answer.text
    assert not trace.answer.abstained


NOTICES = Document(
    "ward",
    "Maternity unit: information for families",
    "en",
    "## Birth partners\n\nBirth partners can stay day and night. There is a parking space for partners behind the north "
    "entrance; the first night is free.\n\n## Food\n\nBreakfast is served at 8, lunch at 12.30 and supper at 6. Tell us about "
    "allergies when you arrive.\n\n## Phones\n\nMobile phones may be used quietly.",
)


def test_notices_answer_in_other_words_than_the_question_and_only_what_they_say(lab, tmp_path):
    store = CorpusStore(tmp_path, "ward", lab.engines.embedder)
    store.update(SourceFiles("test", [NOTICES]))
    ward = Lab(lab.settings, "ward", lab.engines, store)

    def declines(question: str) -> bool:
        answer = ward.run(question, "hybrid_rrf").answer
        return answer.abstained

    answered = ("Where can my husband park?", "Can my husband spend the night?", "May I use my cell phone?")
    assert [one for one in answered if declines(one)] == []
    beside = (
        "How is pre-eclampsia treated?",
        "Is there wifi?",
        "How long does an epidural last?",
        "When is anti-D given?",
    )
    assert [one for one in beside if not declines(one)] == []
