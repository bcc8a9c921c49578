"""Who reads a question as typed, and who with its spelling corrected."""

from dataclasses import replace

from rag_core.prompts.prompt import ANSWER, Sources
from rag_core.runtime.context import Context
from rag_core.stages import Bm25, Dense, Retrieve
from rag_core.testing import ScriptedLlm, sample_services
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
