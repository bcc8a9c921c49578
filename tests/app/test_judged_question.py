"""What Compare says of a question that the lab measures with."""

from __future__ import annotations

import re

from helpers.in_process import ask, html, text
from streamlit.testing.v1 import AppTest

from rag_core.documents.benchmark import read_builtin
from rag_core.evaluation import quality_of
from rag_core.lab.lab import Lab

TOLD = "measuring questions"


def test_its_metrics_stand_below_the_columns_as_the_command_line_has_them(drawn: AppTest, lab: Lab) -> None:
    question = read_builtin(lab.settings.data, "dev").measured[0].text
    app = ask(drawn.run(), question)
    (line,) = re.findall(rf'<p class="rl-note">[^<]*{TOLD}.*?</p>', html(app))
    for column in app.session_state["run"].columns:
        quality = quality_of(column.trace, lab.settings)
        assert quality is not None
        recall, precision, mrr, ndcg = quality.values()
        k = len(column.trace.ranking)
        assert (
            f"Recall@{k} {recall:.2f}, Precision@{k} {precision:.2f}, MRR@{k} {mrr:.2f}, nDCG@{k} {ndcg:.2f}"
            in text(line)
        )
    assert TOLD not in html(ask(app, f"{question} And why?"))
