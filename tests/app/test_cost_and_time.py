"""Cost and time on Compare: the bars, the bill, other prices and a month."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from helpers.browser import CHROMIUM, ENGLISH, Visit
from helpers.controls import every_recipe
from helpers.fakes import QUESTION
from playwright.sync_api import expect

import rag_core
from pages.shared.amounts import money
from pages.shared.bills import bill
from pages.shared.waterfall import REUSED, together, waterfall
from rag_core import Recipe, build, spans
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


def test_the_bill_has_a_line_a_stage_and_adds_them_up(full: Services, prices: PriceList):
    trace = build("multi_query").run(QUESTION, full)
    drawn = bill(trace, prices)
    rows = re.findall(r"<tr.*?</tr>", drawn)[1:]
    assert len(rows) == len(trace.steps) + 1
    assert "Total" in rows[-1]
    assert f"{trace.cost_usd:.2f}" in rows[-1]  # three rewrites and an answer at 0.25
    assert "partly estimated" in rows[-1]  # the fake counts its embeddings here
    assert "told: its price is not known." in drawn


def test_the_bill_names_the_date_of_a_price(full: Services, prices: PriceList):
    trace = build("simple_semantic").run(QUESTION, full)
    paid = rag_core.ModelCall("answer", "gpt-4o", 1_000, 200, 0.0045, "provider")
    dated = replace(trace, steps=(replace(trace.steps[0], calls=(paid,)), trace.steps[1]))
    assert "gpt-4o: $2.50 in, $10.00 out per million tokens, on 2025-06-01." in bill(dated, prices)


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "n/a"), (0.0, "$0"), (0.000123, "$0.000123"), (1.5, "$1.50"), (12_345.6, "$12,346")],
)
def test_dollars_have_the_digits_they_need(dollars: float | None, shown: str):
    assert money(dollars) == shown


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path")
def test_a_visitor_sees_where_time_and_money_went(visit: Visit):
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    page.get_by_text("How it got here").nth(2).click()
    box = page.get_by_test_id("stExpander").filter(has_text="How it got here").nth(2)
    box.get_by_text("Cost and time", exact=True).click()
    expect(box.locator(".rl-bill tbody tr")).to_have_count(6)  # five stages, and the total
    rows = box.locator(".js-plotly-plot .ytick")
    expect(rows.filter(has_text="Keyword search")).to_have_count(1)
    expect(rows.filter(has_text="Embedding search")).to_have_count(1)
    expect(box.locator(".rl-bill .rl-total")).to_contain_text("estimated")

    page.get_by_text("Where did the time go, and what did it cost?").click()
    models = page.get_by_role("region", name="Costs with other models")
    expect(models).to_contain_text("gpt-4o-mini")
    yours = models.get_by_role("row", name="your price")
    typed = page.get_by_label("Your price for input (dollars per million tokens)", exact=True)
    typed.fill("0")
    typed.press("Enter")
    expect(yours).to_contain_text("0.00 / 2.00")
    typed = page.get_by_label("Your price for output (dollars per million tokens)", exact=True)
    typed.fill("0")
    typed.press("Enter")
    expect(yours).to_contain_text("$0")
    expect(models.locator("tbody tr").first).to_contain_text("your price")  # the cheapest stands first

    month = page.locator(".rl-month tbody tr").first
    expect(month).to_contain_text("one question measured")
    before = month.locator("b").inner_text()
    days = page.get_by_label("Questions a day", exact=True)
    days.fill("1000")
    days.press("Enter")
    expect(month.locator("b")).not_to_have_text(before)
    tenfold = float(month.locator("b").inner_text().strip("$").replace(",", ""))
    assert tenfold == pytest.approx(10 * float(before.strip("$").replace(",", "")), rel=0.01)
    visit.assert_clean()
