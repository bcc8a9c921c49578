"""Whom a question is about."""

from __future__ import annotations

import pytest
from helpers.looping import for_each

from rag_core.language.maternity import about_others, asks_apart, names_maternity


@for_each(
    ("question", "maternity", "others"),
    [
        ("Acid comes up my throat every night, big bump now", True, False),
        ("Backache at 31 weeks", True, False),
        ("My boyfriend scares me since I got pregnant", True, False),
        ("Can my husband come to the birth?", True, False),
        ("Where can my husband park?", False, False),
        ("Desde que nació mi guagua no duermo", True, False),
        ("infecion de orina enbarasada", True, False),
        ("TXA PPH timing", False, False),
        ("¿Qué seguro de coche necesito?", False, False),
        ("How is gout treated in older men?", False, True),
        ("Is teething gel safe for a nine-month-old?", False, True),
        ("How often should I have a smear from age 30?", False, True),
        ("¿Cada cuánto hay que revisar la próstata?", False, True),
    ],
)
def test_a_question_is_about_maternity_or_others_or_neither(
    question: str, maternity: bool, others: bool
) -> None:
    assert names_maternity(question) is maternity
    assert about_others(question) is others


@pytest.mark.parametrize(
    ("question", "tells"),
    [
        ("How much does a doula cost?", "A doula costs 900 euros."),
        ("Who invented the epidural?", "The epidural was invented in 1921."),
        ("¿Qué marca de sacaleches compro?", "Cualquier marca sirve."),
        ("Do I need a passport for my newborn?", "Every baby has its own passport."),
    ],
)
def test_what_guidance_seldom_tells(question: str, tells: str):
    assert asks_apart(question, ["The midwife visits."])
    assert not asks_apart(question, ["The midwife visits.", tells])


def test_other_questions_ask_for_nothing_apart():
    assert not asks_apart("How much iron do I need?", [])
