import re

from helpers.in_process import ask, html, press, text
from streamlit.testing.v1 import AppTest

TWINS = "¿Pasadas cuántas horas del parto ya no se recomienda iniciar el ácido tranexámico?"
ALIKE = "EPDS cut-off"  # every strategy quotes the one section that has it
MANY = "How can a pregnant mother of a toddler lower her risk of catching cytomegalovirus?"
OFFER = "Replace C by a strategy that answers differently"


def strips(app: AppTest) -> list[str]:
    drawn = [one.proto.body for one in app.get("html") if 'class="rl-apart"' in one.proto.body]
    return [text(body.partition("<p>")[2].partition("</p>")[0]) for body in drawn]


def heads(app: AppTest) -> list[str]:
    """The status lines of the columns, as words."""
    return [text(one) for one in re.findall(r'<div class="rl-status">.*?</div>', html(app))]


def test_columns_with_one_answer_say_so_and_one_is_replaced_by_a_strategy_that_differs(drawn):
    drawn.query_params["s"] = ["bm25", "simple_semantic", "ensemble"]
    ask(drawn.run(), TWINS)
    assert strips(drawn) == ["B and C give the same answer. A, B and C quote the same sections."]
    said = [one.proto.body for one in drawn.get("html") if 'class="rl-said"' in one.proto.body]
    assert [re.search(r"The same [^<]*", one) is not None for one in said] == [False, True, True]
    assert '<p class="rl-twin">The same in B and C</p>' in said[1]
    folded = said[2].partition('<details class="rl-fold"><summary>The same as in B</summary>')[2]
    assert 'class="rl-answer' in folded
    before = drawn.session_state["run"]
    press(drawn, OFFER)
    after = drawn.session_state["run"]
    assert after.id != before.id
    assert after.question == TWINS
    assert [one.strategy for one in after.columns[:2]] == [one.strategy for one in before.columns[:2]]
    assert after.wait(60)
    drawn.run()
    answers = [trace.answer.written for trace in after.traces]
    assert len(set(answers)) == 3
    assert "rl-fold" not in html(drawn)
    assert OFFER not in [one.label for one in drawn.button]


def test_where_no_other_strategy_answers_differently_none_is_offered(drawn):
    ask(drawn.run(), ALIKE)
    assert strips(drawn) == ["A, B and C give the same answer."]
    assert "What differs" not in html(drawn)  # nothing to open
    assert drawn.session_state["run"].others == {2: None}  # looked for once
    assert OFFER not in [one.label for one in drawn.button]


def test_of_many_figures_three_are_named_and_the_others_counted(drawn):
    drawn.query_params["s"] = ["simple_semantic", "bm25", "ensemble"]
    ask(drawn.run(), MANY)
    (strip,) = strips(drawn)
    (whole,) = [one.proto.body for one in drawn.get("html") if 'class="rl-together"' in one.proto.body]
    assert '<li class="rl-some"><b class="rl-by">B</b>' in whole
    assert "Only B names 50 %, 4 days, 14 days and 1 more." in strip  # it names 3 weeks too
    assert "…" not in strip


def test_time_and_cost_stand_at_the_head_unless_names_are_hidden(drawn):
    ask(drawn.run(), ALIKE)
    assert all(re.search(r"\d (ms|s) · \$0", head) for head in heads(drawn))
    drawn.session_state["presenting"] = True
    drawn.run()
    assert heads(drawn) == []
    assert OFFER not in [one.label for one in drawn.button]


def test_the_table_begins_with_what_a_column_did_not_find(drawn):
    ask(drawn.run(), "¿Cuáles son los riesgos de la cesárea?")
    table = re.search(r'<table class="rl-table rl-found">.*?</table>', html(drawn))
    assert table
    rows = [
        re.findall(r'<td class="rl-rank[^>]*>(.*?)</td>', row) for row in table[0].split("<tr class=")[1:]
    ]
    missing = ["–" in map(text, row) for row in rows]
    assert missing == sorted(missing, reverse=True)
    assert any(missing)
    lost = re.findall(r'data-press="([^"]+)" aria-label="How C lost', table[0])
    assert len(lost) == sum("–" in text(row[2]) for row in rows) > 0
    drawn.button(key=lost[0]).click().run()
    assert not drawn.exception
    way = text(html(drawn)).rpartition("C · ")[2]
    assert "Never retrieved: BM25: rank 9" in way
    ranks = [sum(text(row[place]) != "–" for row in rows) for place in range(3)]
    assert ranks == [len(trace.ranking) for trace in drawn.session_state["run"].traces]
