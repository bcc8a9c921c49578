"""Verdicts on the answers of a comparison, and the section that would have answered."""

from dataclasses import replace

import pytest

from rag_core.documents.benchmark import passage_key, read_builtin
from rag_core.evaluation import column_verdicts, estimates, read_answers, would_answer
from rag_core.evaluation.manifest import BUILTIN_DATA
from rag_core.evaluation.verdicts import assess
from rag_core.evaluation.which_answers import ESTIMATED, JUDGED, first_quoted
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


def test_a_judged_answer_has_the_verdict_of_its_statements(lab):
    judged = read_builtin(lab.settings.data, "dev")
    answers = read_answers(BUILTIN_DATA, judged, lab.settings)
    for one in [*answers.answers.values()][:6]:
        trace = lab.run(one.question.text, "bm25")
        relevant = {
            name for name, grade in answers.extend(judged).qrels.get(one.question.id, {}).items() if grade
        }
        found = assess(one, trace, relevant)
        (verdict,) = column_verdicts([trace], lab.settings)
        assert (verdict.basis, verdict.kind) == ("judged", JUDGED[found.verdict])
        assert verdict.lacks == (found.missing[0] if found.missing else "")


@pytest.mark.parametrize("label", ESTIMATED)
def test_any_other_answer_is_estimated_by_the_label_of_what_it_begins_with(lab, label):
    trace = labelled(lab.run(OTHER, "bm25"), label)
    (verdict,) = column_verdicts([trace], lab.settings)
    assert (verdict.basis, verdict.kind) == ("estimated", ESTIMATED[label])
    assert verdict.begins == trace.ranking.hits[trace.answer.citations[0].n - 1].passage


def test_nothing_is_said_of_labels_by_rank_nor_without_an_answer(lab):
    trace = lab.run(OTHER, "bm25")
    assert column_verdicts([labelled(trace, "High", "rank"), None], lab.settings) == (None, None)


def test_the_section_that_answers_is_what_the_best_begins_with_or_what_the_judgement_names(lab):
    high, low = (labelled(lab.run(OTHER, name), label) for name, label in (("bm25", "High"), ("hyde", "Low")))
    found = column_verdicts([low, high], lab.settings)
    section = would_answer([low, high], found, lab.passages, lab.settings)
    assert section is not None
    assert found[1] is not None
    assert section == found[1].begins
    assert would_answer([low], found[:1], lab.passages, lab.settings) is None

    judged = read_answers(BUILTIN_DATA, read_builtin(lab.settings.data, "dev"), lab.settings)
    assert judged is not None
    one = next(one for one in judged.answers.values() if one.must and one.must[0].passages)
    section = would_answer([lab.run(one.question.text, "bm25")], [None], lab.passages, lab.settings)
    assert passage_key(section.id) in one.must[0].passages


def test_the_estimates_are_counts(lab):
    for one in estimates(lab.settings.data).values():
        assert 0 <= one.answered <= one.of
