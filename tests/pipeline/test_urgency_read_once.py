from dataclasses import replace

from rag_core.catalog import build
from rag_core.language.questions import is_maternity
from rag_core.pipeline.stream import collect, stream
from rag_core.testing import sample_services
from rag_core.values.trace import Trace
from rag_core.values.triage import ROUTINE, Triage

QUESTION = "Do cats purr at night?"
URGENT = Triage("emergency", ("a silent cat",), "Call the vet now.")


class Counting:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, question: str, /) -> Triage:
        self.asked.append(question)
        return URGENT


def test_it_is_read_once_however_many_strategies_run():
    reader = Counting()
    services = replace(sample_services(), triage=reader)
    strategies = [build(name) for name in ("bm25", "simple_semantic", "hybrid_rrf")]
    traces = collect(stream(QUESTION, strategies, services))
    assert reader.asked == [QUESTION]
    assert [trace.triage for trace in traces if isinstance(trace, Trace)] == [URGENT] * 3


def test_a_question_that_is_read_in_other_words_is_read_twice():
    class Spelt:
        def read(self, question: str) -> str:
            return question.replace("prr", "purr")

    reader = Counting()
    services = replace(sample_services(), triage=reader, reader=Spelt())
    collect(stream("Do cats prr?", [build(name) for name in ("bm25", "simple_semantic")], services))
    assert reader.asked == ["Do cats prr?", "Do cats purr?"]


def test_without_a_reader_every_question_is_routine():
    trace = build("bm25").run("I am bleeding heavily", sample_services())
    assert trace.triage == ROUTINE
    assert not trace.remarks()


def test_a_subject_that_may_be_maternity_is_taken_for_it():
    for subject in ("", "pregnancy and birth", "Women's health", "cuidados neonatales", "obstetricia"):
        assert is_maternity(subject), subject
    for subject in ("bicycles and their repair", "food and nutrition", "tides"):
        assert not is_maternity(subject), subject
