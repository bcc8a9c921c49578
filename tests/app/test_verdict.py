"""The line above the columns of Compare that says which answer answers the question, and how the others lost it."""

import re

from helpers.in_process import ask, html, press, text
from streamlit.testing.v1 import AppTest

from rag_core.evaluation import estimates

CONTRACTIONS = "When should I go to the hospital if I have contractions?"  # with a judged answer
IBUPROFEN = "Can I take ibuprofen at 30 weeks?"  # without


def verdict(app: AppTest) -> str:
    """The verdict, and what it rests on."""
    drawn = [one.proto.body for one in app.get("html") if 'class="rl-verdict"' in one.proto.body]
    assert len(drawn) == 1
    return text(drawn[0])


def test_a_judged_question_says_who_answers_and_how_the_others_lost_the_section(drawn):
    app = ask(drawn.run(), CONTRACTIONS)
    assert verdict(app).startswith(
        "A and C answer. B answers in part: it leaves out “Go in when contractions come about every 5 minutes, each of a "
        "minute, for an hour”. Judged"
    )
    assert "B lost it: cut by MMR: too similar to passage" in text(html(app))


def test_the_section_is_followed_through_the_stages_and_a_click_brings_it_back(drawn):
    app = press(ask(drawn.run(), CONTRACTIONS), "How it was lost")
    way = text(html(app))
    assert "BM25 #2 → Dense #6 → Fusion #3 → Cut #3 → MMR ✕ → Answer ✕" in way
    assert "Used at 2." in way
    press(app, "Set Variety step (MMR) to Off and run again")
    assert app.session_state["run"].columns[1].strategy.controls["mmr"] is False
    assert verdict(app).startswith("A, B and C answer. Judged")


def test_any_other_question_has_an_estimate_that_says_how_often_such_were_right(drawn, lab):
    told = verdict(ask(drawn.run(), IBUPROFEN))
    assert re.match(r"[ABC]((, B)? and [BC])? probably answers?\.", told)
    assert "Estimated by the label of the section" in told
    high = estimates(lab.settings.data)["High"]
    assert f"High {high.answered} of {high.of}" in told


def test_columns_that_decline_are_told_once(drawn):
    told = verdict(ask(drawn.run(), "How is polycystic ovary syndrome treated in a teenager?"))
    assert told.startswith("A, B and C decline, rightly: the documents do not cover this. Judged")


def test_a_vote_is_told_beside_the_verdict_and_hidden_names_hide_both(drawn):
    drawn.run()
    press(drawn, "Present")
    press(drawn, "Next question")
    assert 'class="rl-verdict"' not in html(drawn)
    run = drawn.session_state["run"]
    run.best = (run.order[0],)
    press(drawn, "Reveal")
    assert "Voted best here: A." in verdict(drawn)
