"""Who reads a question as typed, and who with its spelling corrected."""

import time
from dataclasses import replace

from helpers.fakes import CountingIndex

from rag_core.prompts.prompt import ANSWER, Sources
from rag_core.runtime.context import Context
from rag_core.stages import Bm25, Dense, Retrieve
from rag_core.testing import ScriptedLlm, sample_services
from rag_core.values.triage import ROUTINE, Triage
from rag_core.values.types import Query, State


class _Stabel:
    """Knows one misspelt word."""

    def read(self, question: str) -> str:
        return question.replace("stabel", "stable")


def test_both_searches_find_what_is_meant_and_note_how_they_read_it():
    services = replace(sample_services(), reader=_Stabel())
    for retriever in (Bm25(k=2), Dense(k=2)):
        ctx, right = Context(services), Context(sample_services())
        found = retriever.search(Query("stabel"), ctx)
        assert [hit.id for hit in found] == [hit.id for hit in retriever.search(Query("stable"), right)]
        assert ctx.meter.readings == {"stabel": "stable"}
        assert right.meter.readings == {}


def test_an_urgent_question_is_searched_for_with_its_signs_and_answered_as_asked():
    fit = Triage("emergency", ("a fit",), "Call now.")
    services = replace(sample_services(), triage=lambda text: fit if "jerking" in text else ROUTINE, reader=_Stabel())
    for retriever in (Bm25(k=2), Dense(k=2)):
        ctx = Context(services)
        retriever.search(Query("jerking, not stabel"), ctx)
        retriever.search(Query("stable"), ctx)
        assert ctx.meter.readings == {"jerking, not stabel": "jerking, not stable a fit"}
        assert ctx.as_read("jerking, not stabel") == "jerking, not stable"


def test_searches_that_run_at_the_same_time_read_a_question_once():
    read: list[str] = []

    class Slow:
        """Takes long enough for every search to ask."""

        def read(self, question: str) -> str:
            read.append(question)
            time.sleep(0.1)
            return question

    ctx = Context(replace(sample_services(), reader=Slow(), workers=2))
    Retrieve((Bm25(k=2), Dense(k=2)))(State.start("stable"), ctx)
    assert read == ["stable"]


def test_a_search_that_waits_for_an_embedding_begins_first_and_stands_where_it_was():
    services = sample_services()
    index = CountingIndex(services.index)
    ctx = Context(replace(services, index=index, workers=1))
    after = Retrieve((Bm25(k=2), Dense(k=2)))(State.start("stable"), ctx)
    assert index.asked == ["dense", "lexical"]
    assert [ranking.retriever for ranking in after.rankings] == ["bm25", "dense"]


def test_the_question_itself_stays_as_typed():
    ctx = Context(replace(sample_services(), reader=_Stabel()))
    after = Retrieve((Bm25(k=2),))(State.start("stabel"), ctx)
    assert after.question.text == after.rankings[0].query.text == "stabel"


def test_a_language_model_gets_the_question_as_typed_and_the_offline_engine_as_read():
    for offline, seen in ((False, "stabel"), (True, "stable")):
        llm = ScriptedLlm()
        llm.offline = offline
        ctx = Context(replace(sample_services(llm=llm), reader=_Stabel()))
        ctx.reply(
            ANSWER.fill(
                question="stabel",
                sources=Sources(ctx.services.index.lexical("cats", 1, 1.5, 0.75)),
                urgency="",
            )
        )
        assert [prompt.fields["question"] for prompt in llm.prompts] == [seen]
