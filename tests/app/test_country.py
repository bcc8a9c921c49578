import re

from helpers.in_process import ask, html, text
from streamlit.testing.v1 import AppTest

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
