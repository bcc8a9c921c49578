"""What Compare says of a question and of an address; the page is drawn without a browser."""

import pytest
from helpers.browser import ENGLISH
from helpers.in_process import ask, html, press

import rag_core
from pages.shared.controls import DEFAULT_COLUMNS, SHOWN_COLUMNS


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
    assert [
        column.count('<details class="rl-passage ') for column in html(drawn).split('class="rl-passages"')[1:]
    ] == [5, 4]
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
