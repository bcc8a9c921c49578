"""What Compare says, drawn without a browser: of a question, an address, a country, an emergency, and what differs."""

import re
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs

import pytest
from helpers.behaviours import Reply
from helpers.browser import ENGLISH
from helpers.in_process import ask, html, press, text
from streamlit.testing.v1 import AppTest

import rag_core
from pages.drawing.fragments import dial
from pages.shared.controls import DEFAULT_COLUMNS, SHOWN_COLUMNS
from rag_core.documents.benchmark import read_builtin
from rag_core.evaluation import quality_of
from rag_core.values.profile import Profile


def test_a_question_that_cannot_be_asked_is_told_in_one_line_and_the_results_stay(drawn):
    ask(drawn.run(), ENGLISH)
    shown = html(drawn)
    assert shown.count('class="rl-passages"') == 3
    for question, complaint in (("   ", "The question is empty."), ("🤰🍼", "no letter or digit")):
        ask(drawn, question)
        assert [complaint in error.value for error in drawn.error] == [True]
        assert html(drawn) == shown
        assert drawn.text_area(key="question").value == question


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Quels vaccins sont conseillés avant un voyage au Japon ?", "French"),
        ("متى أذهب إلى المستشفى", "Arabic"),
    ],
)
def test_a_question_in_another_language_has_its_notice_and_no_spanish_refusal(drawn, question, language):
    ask(drawn.run(), question)
    assert [f"This question seems to be in {language}." in one.value for one in drawn.warning] == [True]
    said = html(drawn)
    assert said.count(" data-said") == 3
    assert "evidencia" not in said
    assert "Ninguna" not in said


def test_what_was_read_in_place_of_the_question_stands_above_each_answer(drawn):
    drawn.query_params["s"] = ["simple_semantic", "bm25", "ensemble"]
    ask(drawn.run(), "gestasional diabetis wat can i eat")
    columns = html(drawn).split('class="rl-rewrites"')[1:]
    read = ["Read as: gestational diabetes what can i eat" in one for one in columns]
    assert read == [True, True, True]


def test_the_first_screen_offers_the_other_sources_and_ours_each_a_press_away(drawn):
    drawn.run()
    offered = [rag_core.RECIPES[name].title for name in ("contextual", "rag_msr", "ensemble")]
    assert [one.label for one in drawn.button if str(one.key).startswith("more.")] == offered
    press(drawn, "RAG-MSR")
    boxes = [one.value for one in drawn.selectbox if str(one.key).startswith("strategy.")]
    assert boxes == ["multi_query", "hybrid_rrf", "bm25", "rag_msr"]
    press(drawn, "Contextual retrieval")  # there is no room for a fifth
    boxes = [one.value for one in drawn.selectbox if str(one.key).startswith("strategy.")]
    assert boxes == ["multi_query", "hybrid_rrf", "bm25", "contextual"]
    assert "RAG-MSR" in [one.label for one in drawn.button]
    ask(drawn, ENGLISH)
    assert len(drawn.session_state["run"].columns) == 4
    assert not [one for one in drawn.button if str(one.key).startswith("more.")]


def test_an_address_sets_the_strategies_and_their_controls(drawn):
    address = {"s": ["bm25", "hybrid_rrf"], "2.k_final": "4", "country": "GB"}
    for name, values in {**address, "run": "gone"}.items():  # as after the history was deleted
        drawn.query_params[name] = values
    drawn.run()
    assert ["no longer stored on this server" in one.value for one in drawn.info] == [True]
    assert not drawn.warning
    assert drawn.selectbox(key="country").value == "GB"
    assert [drawn.selectbox(key=f"strategy.{place}").value for place in range(2)] == ["bm25", "hybrid_rrf"]
    ask(drawn, "When is anti-D given?")
    assert [column.count('<details class="rl-passage ') for column in html(drawn).split('class="rl-passages"')[1:]] == [
        5,
        4,
    ]
    assert {name: drawn.query_params[name] for name in drawn.query_params} == address | {
        "run": drawn.session_state["run"].id
    }


def test_an_address_without_strategies_opens_the_columns_of_an_empty_one(drawn):
    drawn.query_params["country"] = "GB"
    drawn.run()
    shown = [drawn.selectbox(key=f"strategy.{place}").value for place in range(SHOWN_COLUMNS)]
    assert shown == list(DEFAULT_COLUMNS[:SHOWN_COLUMNS])


def test_what_an_address_gets_wrong_is_named_and_replaced(drawn):
    for name, values in {"s": ["magic", "bm25"], "2.k1": "99", "2.colour": "red", "country": "XX"}.items():
        drawn.query_params[name] = values
    drawn.run()
    told = [one.value for one in drawn.warning]
    assert len(told) == 4
    for part in ("'magic'", "k1 must be", "'colour'", "'XX'"):
        assert any(part in one for one in told), part
    assert all(one.startswith("In the address of this page: ") for one in told)
    assert [one.key for one in drawn.selectbox if str(one.key).startswith("strategy.")] == [
        "strategy.0",
        "strategy.1",
    ]
    ask(drawn, ENGLISH)
    assert not drawn.warning


def test_the_offline_engine_says_why_a_prompt_cannot_be_edited(drawn):
    drawn.run()
    drawn.button(key="settings.0").click().run()
    message = next(one for one in drawn.text_area if one.label == "User message")
    assert message.disabled
    assert any("The offline engine reads a prompt's name and fields" in one.value for one in drawn.caption)


TWINS = ENGLISH
ALIKE = "EPDS cut-off"  # every strategy quotes the one section that has it
MANY = "How is toxoplasmosis treated when it is caught during pregnancy?"
OFFER = "Replace C by a strategy that answers differently"


def strips(app: AppTest) -> list[str]:
    drawn = [one.proto.body for one in app.get("html") if 'class="rl-apart"' in one.proto.body]
    return [text(body.partition("<p>")[2].partition("</p>")[0]) for body in drawn]


def heads(app: AppTest) -> list[str]:
    """The status lines of the columns, as words."""
    return [text(one) for one in re.findall(r'<div class="rl-status">.*?</div>', html(app))]


def test_columns_with_one_answer_say_so_and_one_is_replaced_by_a_strategy_that_differs(drawn):
    drawn.query_params["s"] = ["hybrid_rrf", "bm25", "multi_query"]
    ask(drawn.run(), TWINS)
    (strip,) = strips(drawn)
    assert strip.startswith("B and C give the same answer. Only A quotes “Contractions: when to go")
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
    assert "Only B names 15 in 100, 25 in 100, 60 in 100 and 2 more." in strip
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
    rows = [re.findall(r'<td class="rl-rank[^>]*>(.*?)</td>', row) for row in table[0].split("<tr class=")[1:]]
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


CORD = "When is the cord clamped after birth?"


def first_answer(app: AppTest) -> str:
    return html(app).partition('class="rl-said')[2].partition('class="rl-passages"')[0]


def test_a_passage_shows_whose_it_is_how_old_and_what_differs(drawn):
    ask(drawn.run(), "Who is offered a swab for group B streptococcus?")
    cards = html(drawn).split('<details class="rl-passage')[1:]
    summary, _, body = next(one for one in cards if "guidance differs" in one).partition("</summary>")
    assert "ACOG 2020 (US) · RCOG 2017 (UK)" in text(summary)  # before it is opened
    assert re.search(r"\d+ years old", summary)
    assert "Guidance differs: ACOG 2020 (US) says one thing, RCOG 2017 (UK) another." in text(body)
    assert "Newest source from 2020" in text(body)


def test_the_chosen_country_leads(drawn):
    ask(drawn.run(), CORD)
    assert "NICE 2023 (UK) say one thing, ACOG 2020 (US) another." in text(first_answer(drawn))
    assert "For the country you chose" not in first_answer(drawn)
    drawn.selectbox(key="country").set_value("US").run()
    assert html(drawn).count('class="rl-changed"') == 3
    assert "911 (United States)" in text(html(drawn))
    ask(drawn, CORD)
    assert "For the country you chose (US), ACOG 2020 applies." in text(first_answer(drawn))
    assert 'class="rl-changed"' not in html(drawn)
    answer = first_answer(drawn).partition(" data-said>")[2]
    assert "<b>ACOG advises a delay" in answer
    assert drawn.query_params["country"] in ("US", ["US"])


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


BREATHING = "I am struggling to breathe at rest, 30 weeks"


def test_a_model_that_buries_the_action_is_outlined_and_counted(start, server):
    server.choose = lambda body: Reply("Breathlessness is common [1]. Call the emergency number now [1].")
    app = ask(start(OPENAI_BASE_URL=server.url).run(), BREATHING)
    shown = html(app)
    assert shown.count("rl-buried") == 3
    assert shown.count("This answer does not begin with what to do now.") == 3
    assert "<b>A, B and C</b> do not begin with what to do now." in shown


def test_documents_about_another_subject_have_no_notice_above_the_results(drawn, monkeypatch):
    monkeypatch.setattr("pages.shared.corpora.profile", lambda name: Profile("bicycles"))
    ask(drawn.run(), BREATHING)
    assert "Results for:" in html(drawn)
    assert "rl-urgent" not in html(drawn)


def test_the_banner_asks_for_the_country_and_then_has_a_number_to_call(drawn):
    ask(drawn.run(), BREATHING)
    assert "tel:" not in html(drawn)
    drawn.selectbox(key="country.urgent").set_value("ES").run()
    banner = html(drawn).partition('class="rl-urgent')[2].partition("</div>")[0]
    assert 'Emergency number in Spain: <a href="tel:112">112</a>.' in banner
    assert drawn.selectbox(key="country").value == "ES"
    assert "country.urgent" not in [one.key for one in drawn.selectbox]


@pytest.mark.parametrize(
    ("said", "called"),
    [
        ("116 123 (Samaritans) / 111, option 2 (NHS)", ["116123", "111"]),
        ("1800 737 732 (1800RESPECT)", ["1800737732"]),
        ("1-833-852-6262", ["18338526262"]),
        ("*4141", ["*4141"]),
    ],
)
def test_every_phone_number_is_a_link_that_calls_it(said, called):
    drawn = dial(said)
    assert re.findall(r'href="tel:([^"]*)"', drawn) == called
    assert text(drawn) == said


def test_the_banner_goes_with_an_urgent_question_to_the_document(drawn):
    drawn.session_state["country"] = "GB"
    ask(drawn.run(), BREATHING)
    address = unescape(html(drawn).partition('href="documents?')[2].partition('"')[0])
    for name, values in parse_qs(address).items():
        drawn.query_params[name] = values
    drawn.switch_page("pages/documents/documents.py").run()
    assert not drawn.exception
    banner = html(drawn).partition('class="rl-urgent')[2].partition("</div>")[0]
    assert "tel:999" in banner
    assert BREATHING not in text(html(drawn))
