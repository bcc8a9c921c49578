"""The rank flow as a chart, and the explanations under a result in a real browser."""

from __future__ import annotations

from dataclasses import replace

import pytest
from helpers.browser import ANSWER_MS, CHROMIUM, ENGLISH, Visit, choose_passage
from helpers.controls import every_recipe
from helpers.fakes import QUESTION
from playwright.sync_api import expect

from pages.shared.rank_flow import LOWEST, MOST, rank_flow
from rag_core import Recipe, build, fates, flow_columns
from rag_core.runtime.services import Services


@every_recipe
def test_one_line_a_passage_with_its_rank_in_every_list(full: Services, recipe: Recipe):
    trace = recipe.build().run(QUESTION, full)
    found, columns = fates(trace), flow_columns(trace)
    figure = rank_flow(found, columns)
    assert len(figure.data) == min(len(found), MOST)
    for fate, line in zip(found, reversed(figure.data), strict=False):
        ranks = fate.ranks(columns)
        assert list(line.y) == [None if rank is None else min(rank, LOWEST + 1) for rank in ranks]
        assert len(line.x) == len(columns)
        thick = line.line.width == 3
        assert thick == fate.used, "told by width and number as well as by colour"
        assert [text for text in line.text or () if text] == ([str(fate.rank)] if fate.used else [])
        assert ("x" in line.marker.symbol) == (not fate.used)


def test_each_search_has_a_column_and_the_lists_of_a_later_stage_share_one(full: Services):
    trace = build("rag_msr").run(QUESTION, full)
    assert [column.title for column in flow_columns(trace)] == [
        "Dense · paraphrasing", "Dense · aspect-specific", "Dense · entity-aware", "Reranking", "Cut", "Fusion", "Judge",
        "S_final", "θ", "Cut", "Answer",
    ]  # fmt: skip
    last = fates(trace)[0].ranks(flow_columns(trace))
    assert last[-1] == 1


def test_a_title_cannot_become_a_tag(full: Services):
    trace = build("bm25").run(QUESTION, full)
    first = fates(trace)[0]
    hostile = replace(first, passage=replace(first.passage, title="<img src=x> %{y} $x$", heading=""))
    (line,) = rank_flow([hostile], flow_columns(trace)).data
    assert "<img" not in line.hovertemplate
    assert "%{y}" not in line.hovertemplate


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not on the path")
def test_a_visitor_sees_why_passages_were_used_or_lost(visit: Visit):
    visit.pick(ENGLISH)
    visit.run()
    visit.wait_until_done()
    page = visit.page
    expect(page.locator(".js-plotly-plot")).to_have_count(2)  # nothing is drawn in a closed box
    page.get_by_text("How it got here").nth(2).click()
    box = page.get_by_test_id("stExpander").filter(has_text="How it got here").nth(2)
    expect(box.get_by_text("Dense", exact=False).first).to_be_visible()  # the stages come first
    box.get_by_text("Rank flow", exact=True).click()
    expect(box.locator(".js-plotly-plot")).to_be_visible()
    expect(box.locator(".js-plotly-plot .xtick")).to_have_text(
        ["1. BM25", "2. Dense", "3. Fusion", "4. Cut", "5. MMR", "6. Answer"]
    )

    box.get_by_text("Fates", exact=True).click()
    expect(box.locator("tr.rl-used")).to_have_count(5)
    expect(box.locator("tr.rl-lost").first).to_contain_text("cut by")
    box.get_by_text("Scores", exact=True).click()
    expect(box.locator(".rl-parts").first).to_contain_text("/ (60 + ")
    box.get_by_text("Tipping points", exact=True).click()
    expect(box.locator(".rl-tips")).to_contain_text("Passages used 5")
    expect(box.locator(".rl-tips")).to_contain_text("→ 6")

    page.get_by_text("Why not this one?").click()
    choose_passage(page, "Testing for gestational diabetes")
    why = page.get_by_test_id("stExpander").filter(has_text="Why not this one?").locator(".rl-tips dd")
    expect(why).to_have_count(3)
    for sentence in why.all_inner_texts():
        assert sentence.startswith(("Never retrieved: ", "Used at ", "Cut by "))
    told = why.all_inner_texts()
    page.reload()
    expect(why).to_have_text(told, timeout=ANSWER_MS)  # and is open again
    visit.assert_clean()
