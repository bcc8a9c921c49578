import re
from dataclasses import replace

from helpers.in_process import ask, html, text

from rag_core.documents.benchmark import read_builtin
from rag_core.evaluation import kind_of, quality_of, read_answers, verdict_of
from rag_core.evaluation.manifest import BUILTIN_DATA
from rag_core.evaluation.verdicts import assess

TOLD = "measuring questions"


def test_its_metrics_stand_below_the_columns_as_the_command_line_has_them(drawn, lab):
    question = read_builtin(lab.settings.data, "dev").measured[0].text
    app = ask(drawn.run(), question)
    (line,) = re.findall(rf'<p class="rl-note">[^<]*{TOLD}.*?</p>', html(app))
    for column in app.session_state["run"].columns:
        quality = quality_of(column.trace, lab.settings)
        recall, precision, mrr, ndcg = quality.values()
        k = len(column.trace.ranking)
        assert (
            f"Recall@{k} {recall:.2f}, Precision@{k} {precision:.2f}, MRR@{k} {mrr:.2f}, nDCG@{k} {ndcg:.2f}"
            in text(line)
        )
        taught = replace(column.trace, engine={**column.trace.engine, "taught": "1"})
        assert quality_of(taught, lab.settings) is None  # it may have been this question
    assert TOLD not in html(ask(app, f"{question} And why?"))


def test_an_answer_to_a_question_with_a_judged_answer_has_its_verdict(lab):
    judged = read_builtin(lab.settings.data, "dev")
    answers = read_answers(BUILTIN_DATA, judged, lab.settings)
    assert answers is not None
    one = next(one for one in answers.answers.values() if one.demo and not one.own)
    trace = lab.run(one.question.text, "bm25")
    relevant = {name for name, grade in judged.qrels[one.question.id].items() if grade}
    assert verdict_of(trace, lab.settings) == assess(one, trace, relevant).verdict
    assert kind_of(one.question.text.upper(), lab.settings) == one.question.kind
    other = lab.run("What is the capital of France?", "bm25")
    assert (verdict_of(other, lab.settings), kind_of(other.question, lab.settings)) == (None, "")
