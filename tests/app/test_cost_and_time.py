"""Cost and time on Compare: the bars, the bill, other prices and a month."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from helpers.browser import ENGLISH
from helpers.controls import every_recipe
from helpers.fakes import QUESTION
from helpers.in_process import ask, explain, html, text
from streamlit.testing.v1 import AppTest

import rag_core
from pages.compare.bills import bill
from pages.compare.waterfall import REUSED, together, waterfall
from pages.shared.amounts import money
from rag_core import Lab, Recipe, build
from rag_core.explain.bill import spans
from rag_core.runtime.services import Services
from rag_core.values.pricing import PriceList


@every_recipe
def test_every_stage_search_and_call_is_a_bar_at_its_time(full: Services, recipe: Recipe):
    trace = recipe.build().run(QUESTION, full)
    figure = waterfall(trace)
    bars = {row: (start, length) for one in figure.data for row, start, length in zip(one.y, one.base, one.x, strict=True)}  # fmt: skip
    found = spans(trace)
    assert [bars[row] for row in range(len(found))] == [(span.started, span.seconds) for span in found]
    assert len(figure.layout.yaxis.ticktext) == len(found)


def test_what_was_reused_is_striped_and_says_so(full: Services):
    lab = build("hybrid_rrf").run(QUESTION, full)
    over = replace(lab, steps=(replace(lab.steps[0], reused=True, started=None), *lab.steps[1:]))
    stages = waterfall(over).data[0]
    assert stages.marker.pattern.shape == (REUSED, "", "", "", "")
    assert stages.text[0] == "reused"
    assert [bar.marker.pattern.shape for bar in together([over]).data] == [REUSED, "", "", "", ""]


def test_the_offline_engine_and_its_scorer_have_the_names_that_people_read(lab: Lab):
    rows = " ".join(waterfall(lab.run(QUESTION, "ensemble")).layout.yaxis.ticktext)
    assert "Rewriting, offline engine" in rows
    assert "Reranking, offline scorer" in rows


def test_the_bill_has_a_line_a_stage_and_adds_them_up(full: Services, prices: PriceList):
    trace = build("multi_query").run(QUESTION, full)
    drawn = bill(trace, prices)
    rows = re.findall(r"<tr.*?</tr>", drawn)[1:]
    assert len(rows) == len(trace.steps) + 1
    assert "Total" in rows[-1]
    assert f"{trace.cost_usd:.2f}" in rows[-1]  # three rewrites and an answer at 0.25
    assert "partly estimated" in rows[-1]  # the fake counts its embeddings here
    assert "told: its price is not known." in drawn


def test_the_bill_names_the_date_of_a_price_and_its_age_once_it_is_old(full: Services, prices: PriceList):
    trace = build("simple_semantic").run(QUESTION, full)
    paid = rag_core.ModelCall("answer", "gpt-4o", 1_000, 200, 0.0045, "provider")
    dated = replace(trace, steps=(replace(trace.steps[0], calls=(paid,)), trace.steps[1]))
    months = prices.get("gpt-4o").months_old()
    assert months >= 17  # in November 2026
    old = f"gpt-4o: $2.50 in, $10.00 out per million tokens, on 2025-06-01 ({months} months old: check it)."
    assert old in bill(dated, prices)
    today = PriceList({"gpt-4o": replace(prices.get("gpt-4o"), date=datetime.now(UTC).date())})
    assert "check it" not in bill(dated, today)


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "n/a"), (0.0, "$0"), (0.000123, "$0.000123"), (1.5, "$1.50"), (12_345.6, "$12,346")],
)
def test_dollars_have_the_digits_they_need(dollars: float | None, shown: str):
    assert money(dollars) == shown


def test_a_visitor_sees_where_time_and_money_went(drawn: AppTest):
    ask(drawn.run(), ENGLISH)
    rows = explain(drawn, 2, "Cost and time").partition('rl-bill"')[2].partition("</table>")[0]
    assert rows.count("<tr") == 1 + 8 + 1  # the head, the eight stages of the ensemble, and the total
    assert "estimated" in rows.rpartition("<tr")[2]

    models = costs_with_other_models(drawn)
    assert any(row.startswith("gpt-4o-mini") for row in models)
    drawn.number_input(key="cost.input").set_value(0.0).run()
    assert any("0.00 / 2.00" in row for row in costs_with_other_models(drawn) if row.startswith("your price"))
    drawn.number_input(key="cost.output").set_value(0.0).run()
    cheapest = costs_with_other_models(drawn)[0]
    assert cheapest.startswith("your price")
    assert "$0" in cheapest

    before = a_month(drawn)
    drawn.number_input(key="cost.per_day").set_value(1000).run()
    assert a_month(drawn) == pytest.approx(10 * before, rel=0.01)


def costs_with_other_models(app: AppTest) -> list[str]:
    """The rows of the table, the cheapest first."""
    return table_after(html(app), "Costs with other models")


def a_month(app: AppTest) -> float:
    """The dollars in the first row of "What a month would cost"."""
    first = table_after(html(app), "rl-month")[0]
    return float(re.search(r"\$([\d,.]+)one question measured", first)[1].replace(",", ""))


def table_after(shown: str, mark: str) -> list[str]:
    body = shown.partition(mark)[2].partition("<tbody>")[2].partition("</tbody>")[0]
    return [text("<tr" + row) for row in body.split("<tr")[1:]]
