import json
from dataclasses import replace

from helpers.browser import ENGLISH
from helpers.controls import every_recipe
from helpers.fakes import QUESTION
from helpers.in_process import ask, explain, html, text, visitor
from streamlit.testing.v1 import AppTest

from pages.compare.how_it_got_here import LOWEST, MOST, rank_flow
from rag_core import build
from rag_core.explain import fates, flow_columns


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
