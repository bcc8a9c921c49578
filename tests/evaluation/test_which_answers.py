import json
from dataclasses import replace

import pytest
from helpers.openai_server import OpenAIServer, Reply

from rag_core.documents.benchmark import passage_key, read_builtin
from rag_core.evaluation import (
    bill_of_verdicts,
    column_verdicts,
    estimates,
    kind_of,
    read_answers,
    verdict_of,
    verdicts_by_model,
    would_answer,
)
from rag_core.evaluation.manifest import BUILTIN_DATA
from rag_core.evaluation.verdicts import assess
from rag_core.evaluation.which_answers import JUDGED, first_quoted
from rag_core.lab.lab import Lab
from rag_core.models import load_openai
from rag_core.runtime.context import Context
from rag_core.values.errors import ProviderError
from rag_core.values.settings import Settings
from rag_core.values.trace import Trace

OTHER = "Can I take ibuprofen at 30 weeks?"  # no judged answer


def labelled(trace: Trace, label: str, scorer: str = "offline_scorer") -> Trace:
    """The trace, with this label on the section that its answer begins with."""
    first = first_quoted(trace)
    assert first.relevance is not None
    hits = tuple(
        replace(hit, relevance=replace(first.relevance, label=label, scorer=scorer)) if hit is first else hit
        for hit in trace.ranking
    )
    last = trace.steps[-1]
    ranking = replace(trace.ranking, hits=hits)
    after = replace(last.after, rankings=(ranking,))
    return replace(trace, steps=(*trace.steps[:-1], replace(last, after=after)))


def answering(trace: Trace, **changes: object) -> Trace:
    """The trace, with its answer changed."""
    last, answer = trace.steps[-1], trace.answer
    assert answer is not None
    after = replace(last.after, answer=replace(answer, **changes))
    return replace(trace, steps=(*trace.steps[:-1], replace(last, after=after)))


def test_a_judged_answer_has_the_verdict_of_its_statements(lab):
    judged = read_builtin(lab.settings.data, "dev")
    answers = read_answers(BUILTIN_DATA, judged, lab.settings)
    for one in [*answers.answers.values()][:6]:
        trace = lab.run(one.question.text, "bm25")
        relevant = {name for name, grade in answers.extend(judged).qrels.get(one.question.id, {}).items() if grade}
        found = assess(one, trace, relevant)
        (verdict,) = column_verdicts([trace], lab.settings)
        assert (verdict.basis, verdict.kind) == ("judged", JUDGED[found.verdict])
        assert verdict.lacks == (found.missing[0] if found.missing else "")
        assert verdict_of(trace, lab.settings) == found.verdict
        assert kind_of(one.question.text.upper(), lab.settings) == one.question.kind
    other = lab.run(OTHER, "bm25")
    assert (verdict_of(other, lab.settings), kind_of(other.question, lab.settings)) == (None, "")


@pytest.mark.parametrize(
    ("label", "alone", "shared"),
    [("High", "answers", "answers"), ("Medium", "partly", "answers"), ("Low", "misses", "partly")],
)
def test_any_other_answer_is_estimated_by_the_label_of_what_it_begins_with_and_who_else_does(lab, label, alone, shared):
    trace = labelled(lab.run(OTHER, "bm25"), label)
    (verdict,) = column_verdicts([trace], lab.settings)
    assert (verdict.basis, verdict.kind) == ("estimated", alone)
    assert verdict.begins == trace.ranking.hits[trace.answer.citations[0].n - 1].passage
    assert {one.kind for one in column_verdicts([trace, None, trace], lab.settings) if one} == {shared}


def test_an_answer_to_an_urgent_question_is_told_by_what_it_begins_with(lab):
    trace = lab.run("I'm 33 weeks, my waters went an hour ago and my baby is lying sideways", "bm25")
    assert trace.triage.urgent
    assert first_quoted(trace).relevance.scorer != "rank"
    begun = (
        ("Go to the maternity unit now. [1]", "leads"), ("Waters are pale. [1]", "buries"),
    )  # fmt: skip
    for text, kind in begun:
        (verdict,) = column_verdicts([answering(trace, text=text, notice="")], lab.settings)
        assert (verdict.basis, verdict.kind) == ("urgent", kind)
    noticed = answering(trace, text="Go to the maternity unit now. Waters are pale. [1]", notice="Our notice.")
    (verdict,) = column_verdicts([noticed], lab.settings)
    assert verdict.kind == "by_notice"


def test_nothing_is_said_of_labels_by_rank_nor_without_an_answer(lab):
    trace = lab.run(OTHER, "bm25")
    assert column_verdicts([labelled(trace, "High", "rank"), None], lab.settings) == (None, None)


def test_the_section_that_answers_is_what_the_best_begins_with_or_what_the_judgement_names(lab):
    high, low = (labelled(lab.run(OTHER, name), label) for name, label in (("bm25", "High"), ("hyde", "Low")))
    found = column_verdicts([low, high], lab.settings)
    section = would_answer([low, high], found, lab.passages, lab.settings)
    assert section == found[1].begins
    assert would_answer([low], found[:1], lab.passages, lab.settings) is None

    judged = read_answers(BUILTIN_DATA, read_builtin(lab.settings.data, "dev"), lab.settings)
    one = next(one for one in judged.answers.values() if one.must and one.must[0].passages)
    section = would_answer([lab.run(one.question.text, "bm25")], [None], lab.passages, lab.settings)
    assert passage_key(section.id) in one.must[0].passages


def test_the_estimates_tell_answers_apart(lab):
    first, *others = [one.answered / one.of for one in estimates(lab.settings.data).values()]
    assert first > max(others)


class TestByModel:
    """With a judge on a real server."""

    @pytest.fixture
    def judged(self, lab: Lab, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> Lab:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        judge = load_openai(Settings(timeout=20), "gpt-4o", lab.engines.prices)
        return lab.with_engines(replace(lab.engines, paid={"judge": judge}))

    @pytest.fixture
    def traces(self, lab: Lab) -> list[Trace]:
        """Two answers, the first of which stands in two columns."""
        trace = lab.run(OTHER, "bm25")
        return [trace, answering(trace, text="Ask your midwife."), trace]

    def test_all_are_judged_in_one_call_without_names_and_equal_ones_once(self, judged, server, traces):
        sent: list[str] = []

        def choose(body: dict) -> Reply:
            sent.append(body["messages"][-1]["content"])
            midwife = 1 if sent[0].index("Ask your midwife.") < sent[0].index('<answer n="2">') else 2
            return Reply(
                json.dumps(
                    {
                        str(midwife): {"verdict": "partly", "why": "from which week"},
                        str(3 - midwife): {"verdict": "answers", "why": ""},
                    }
                )
            )

        server.choose = choose
        found, calls = verdicts_by_model(traces, Context(judged.services()))
        assert [(one.kind, one.basis, one.lacks) for one in found if one] == [
            ("answers", "model", ""),
            ("partly", "model", "from which week"),
            ("answers", "model", ""),
        ]
        (prompt,), (call,) = sent, calls
        assert prompt.count("<answer ") == 2
        assert not any(name in prompt for name in ("bm25", "BM25", "strategy"))
        assert call.purpose == "judge"
        bill = bill_of_verdicts(traces, judged.rehearsal())
        assert bill.calls == {"judge": 2}  # a malformed reply is asked for once more
        assert call.cost_usd is not None
        assert bill.cost.known > 0

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            ('{"1": {"verdict": "answers"}}', "answer 2 has no verdict"),
            ('{"1": {"verdict": "good"}, "2": {"verdict": "answers"}}', "answer 1 has no verdict"),
            ('{"1": {"verdict": "harmful", "why": " "}, "2": {"verdict": "answers"}}', 'its "why" is empty'),
        ],
    )
    def test_a_malformed_verdict_is_an_error_and_no_verdict(self, judged, server, traces, reply, reason):
        server.choose = lambda body: Reply(reply)
        with pytest.raises(ProviderError, match=reason) as failed:
            verdicts_by_model(traces, Context(judged.services()))
        assert len(failed.value.calls) == 2

    def test_an_abstention_is_not_sent(self, judged, server, traces):
        abstained = answering(traces[0], abstained=True)
        found, calls = verdicts_by_model([abstained, None], Context(judged.services()))
        assert [one and one.kind for one in found] == ["declines", None]
        assert (calls, server.requests) == ((), [])
