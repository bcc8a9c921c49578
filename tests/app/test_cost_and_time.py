"""How a result came about: its time and money, and the way of each passage."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from helpers.browser import ENGLISH
from helpers.controls import every_recipe
from helpers.fakes import QUESTION
from helpers.in_process import ask, explain, html, text, visitor
from streamlit.testing.v1 import AppTest

import rag_core
from pages.compare import costs
from pages.compare.costs import REUSED, waterfall
from pages.compare.how_it_got_here import LOWEST, MOST, rank_flow
from pages.shared.live import Column
from pages.shared.wording import money
from rag_core import build
from rag_core.explain import fates, flow_columns
from rag_core.explain.bill import bill_of, spans
from rag_core.values.pricing import PriceList
from rag_core.values.types import State


@every_recipe
def test_every_stage_search_and_call_is_a_bar_at_its_time(full, recipe):
    trace = recipe.build().run(QUESTION, full)
    figure = waterfall(trace)
    bars = {row: (start, length) for one in figure.data for row, start, length in zip(one.y, one.base, one.x, strict=True)}  # fmt: skip
    found = spans(trace)
    assert [bars[row] for row in range(len(found))] == [(span.started, span.seconds) for span in found]
    assert len(figure.layout.yaxis.ticktext) == len(found)


def test_what_was_reused_is_striped_and_says_so(full):
    lab = build("hybrid_rrf").run(QUESTION, full)
    over = replace(lab, steps=(replace(lab.steps[0], reused=True, started=None), *lab.steps[1:]))
    stages = waterfall(over).data[0]
    assert stages.marker.pattern.shape == (REUSED, "", "", "", "")
    assert stages.text[0] == "reused"


def test_the_offline_engine_and_its_scorer_have_the_names_that_people_read(lab):
    rows = " ".join(waterfall(lab.run(QUESTION, "ensemble")).layout.yaxis.ticktext)
    assert "Rewriting, offline engine" in rows
    assert "Reranking, offline scorer" in rows


def column(trace: rag_core.Trace) -> Column:
    return Column(build((trace.strategy, trace.controls)), list(trace.steps), trace=trace)


def test_below_an_answer_each_part_has_its_tokens_its_price_and_its_time():
    paid = rag_core.ModelCall("rewrite", "gpt-4o", 400, 100, 0.002, "provider")
    unread = rag_core.ModelCall("answer", "mine", 1_200, 90, None, "tokenizer")
    steps = (
        rag_core.Step("Rewrite", "transform", {}, State.start("q"), 0.5, (paid,)),
        rag_core.Step("Dense", "retrieve", {}, State.start("q"), 0.25),
        rag_core.Step("Generate", "answer", {}, State.start("q"), 1.25, (unread,)),
    )
    trace = rag_core.Trace("q", "multi_query", {}, "0" * 12, steps)
    drawn = str(costs.paid(column(trace)))
    rows = [re.findall(r">([^<>]+)</t[hd]>", "<i>" + row.partition("</i>")[2]) for row in drawn.split("<tr>")[1:]]
    assert rows == [
        ["Rewriting", "400 → 100 tokens", "$0.002000", "0.50 s"],
        ["Retrieval", "–", "–", "0.25 s"],
        ["Answer", "≈ 1,200 → 90 tokens", "n/a", "1.25 s"],
    ]
    # a price is unknown, so the bar is of time: 0.5, 0.25 and 1.25 of 2 s
    assert re.findall(r"rl-of-(\w+)\" style=\"flex-grow: ([\d.]+)", drawn) == [
        ("rewrite", "0.2500"), ("retrieval", "0.1250"), ("answer", "0.6250"),
    ]  # fmt: skip
    assert costs.headline(trace) == "2.00 s · n/a"


def test_the_line_at_the_top_says_what_the_money_went_to_and_what_others_had_paid_for():
    rewritten = rag_core.ModelCall("rewrite", "gpt-4o", 400, 100, 0.002, "provider")
    answered = rag_core.ModelCall("answer", "gpt-4o", 1_200, 90, 0.006, "provider")
    elsewhere = rag_core.ModelCall("embed", "e", 9, 0, 0.5, "provider")
    steps = (
        rag_core.Step("Rewrite", "transform", {}, State.start("q"), 0.5, (rewritten,)),
        rag_core.Step("Dense", "retrieve", {}, State.start("q"), 0.25, (elsewhere,), reused=True),
        rag_core.Step("Generate", "answer", {}, State.start("q"), 1.25, (answered,)),
    )
    trace = rag_core.Trace("q", "multi_query", {}, "0" * 12, steps)
    # 0.002 and 0.006 of 0.008; 0.5 + 1.25 s
    assert costs.headline(trace) == "1.75 s · $0.008000: Rewriting 25%, Answer 75% · reused: Retrieval"
    assert ">reused</td><td>$0</td><td>reused</td>" in costs.paid(column(trace))


@every_recipe
def test_the_parts_have_their_room_before_and_their_figures_after(full, recipe):
    strategy = recipe.build()
    before, after = costs.paid(Column(strategy)), costs.paid(column(strategy.run(QUESTION, full)))
    names = r'"rl-of-(\w+)"></i>'
    assert re.findall(names, before) == re.findall(names, after) == list(bill_of(strategy.run(QUESTION, full)).parts)
    assert before.count(">\u00a0</td>") == 3 * before.count("<tr>")
    assert "\u00a0" not in after


def test_a_model_without_a_price_is_named(full, prices):
    trace = build("multi_query").run(QUESTION, full)
    assert "told: its price is not known." in costs.notes(trace, prices)
    assert "≈: tokens counted here" in costs.notes(trace, prices)  # the fake counts its embeddings here


def test_the_bill_names_the_date_of_a_price_and_its_age_once_it_is_old(full, prices):
    trace = build("simple_semantic").run(QUESTION, full)
    paid = rag_core.ModelCall("answer", "gpt-4o", 1_000, 200, 0.0045, "provider")
    dated = replace(trace, steps=(replace(trace.steps[0], calls=(paid,)), trace.steps[1]))
    months = prices.get("gpt-4o").months_old()
    assert months >= 17  # in November 2026
    old = f"gpt-4o: $2.50 in, $10.00 out per million tokens, on 2025-06-01 ({months} months old: check it)."
    assert old in costs.notes(dated, prices)
    today = PriceList({"gpt-4o": replace(prices.get("gpt-4o"), date=datetime.now(UTC).date())})
    assert "check it" not in costs.notes(dated, today)


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(None, "n/a"), (0.0, "$0"), (0.000123, "$0.000123"), (1.5, "$1.50"), (12_345.6, "$12,346")],
)
def test_dollars_have_the_digits_they_need(dollars, shown):
    assert money(dollars) == shown


def test_a_visitor_sees_where_time_and_money_went(drawn):
    ask(drawn.run(), ENGLISH)
    below = html(drawn).split('class="rl-paid"')[1:]
    assert [text("<" + one.partition("</table>")[0]).count("≈") for one in below] == [
        sum(bool(line.calls) for line in bill_of(trace).parts.values()) for trace in drawn.session_state["run"].traces
    ]  # the offline engine's counts are its own
    assert "≈: tokens counted here" in text(explain(drawn, 2, "Cost and time"))

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


@every_recipe
def test_one_line_a_passage_with_its_rank_in_every_list(full, recipe):
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


def test_each_search_has_a_column_and_the_lists_of_a_later_stage_share_one(full):
    trace = build("rag_msr").run(QUESTION, full)
    assert [column.title for column in flow_columns(trace)] == [
        "Dense · paraphrasing", "Dense · aspect-specific", "Dense · entity-aware", "Reranking", "Cut", "Fusion", "Judge",
        "S_final", "θ", "Cut", "Answer",
    ]  # fmt: skip
    last = fates(trace)[0].ranks(flow_columns(trace))
    assert last[-1] == 1


def test_a_title_cannot_become_a_tag(full):
    trace = build("bm25").run(QUESTION, full)
    first = fates(trace)[0]
    hostile = replace(first, passage=replace(first.passage, title="<img src=x> %{y} $x$", heading=""))
    (line,) = rank_flow([hostile], flow_columns(trace)).data
    assert "<img" not in line.hovertemplate
    assert "%{y}" not in line.hovertemplate


def test_a_visitor_sees_why_passages_were_used_or_lost(drawn):
    drawn.query_params["s"] = ["simple_semantic", "bm25", "hybrid_rrf"]
    ask(drawn.run(), ENGLISH)
    assert len(drawn.get("plotly_chart")) == 0  # nothing is drawn in a closed box
    assert 'class="rl-stages"' in explain(drawn, 2, "Stages")
    explain(drawn, 2, "Rank flow")
    charts = [json.loads(one.proto.spec) for one in drawn.get("plotly_chart")]
    assert len(charts) == 1
    lists = ["1. BM25", "2. Dense", "3. Fusion", "4. Cut", "5. MMR", "6. Answer"]
    assert lists in [chart["data"][0].get("x") for chart in charts]
    fates = explain(drawn, 2, "What became of each passage")
    assert fates.count('class="rl-used"') == 5
    assert "cut by" in fates.partition('class="rl-lost"')[2].partition("</tr>")[0]
    assert "/ (60 + " in explain(drawn, 2, "Scores").partition('class="rl-parts"')[2].partition("</ul>")[0]
    tips = text(explain(drawn, 2, "Tipping points").partition('class="rl-tips"')[2].partition("</dl>")[0])
    assert "Passages used 5" in tips
    assert "→ 6" in tips


def test_why_not_this_one_is_told_for_every_column_and_found_again(drawn):
    ask(drawn.run(), ENGLISH)
    drawn.session_state["why_not"] = True
    choice = drawn.run().selectbox(key="why_not.passage")
    choice.set_value(next(one for one in choice.options if "gestational diabetes" in one)).run()
    told = why_not(drawn)
    assert len(told) == 3
    assert all(one.startswith(("Never retrieved: ", "Used at ", "Cut by ")) for one in told)
    again = visitor()  # as after a reload
    again.query_params["run"] = drawn.query_params["run"]
    assert why_not(again.run()) == told


def why_not(app: AppTest) -> list[str]:
    """What is said of the chosen passage, for each column."""
    assert not app.exception
    said = html(app).partition('<dl class="rl-tips">')[2].partition("</dl>")[0]
    return [text(one.partition("</dd>")[0]) for one in said.split("<dd>")[1:]]
