"""What may be asked, and the query analysis of seed 004: full sentence or keywords, in both languages."""

import pytest
from helpers.looping import for_each
from hypothesis import given
from hypothesis import strategies as st

from rag_core.language.questions import MAX_QUESTION, check_question, form_of, is_maternity
from rag_core.values.errors import InputError


@for_each(
    ("question", "sign"),
    [
        ("When is anti-D given?", "when"),
        ("what helps against nausea", "what"),
        ("tell me about pre-eclampsia in twins", "me"),
        ("I am 34 weeks pregnant and my hands itch", "i"),
        ("Magnesium for leg cramps, is that safe", "is"),
        ("¿Cuándo se administra la anti-D?", "cuándo"),
        ("¿Qué es la preeclampsia?", "qué"),
        ("tengo contracciones cada cinco minutos", "tengo"),
        ("hierro en el embarazo, puedo tomarlo con leche", "puedo"),
    ],
)
def test_a_sentence_is_told_by_the_word_that_shows_it(question, sign):
    assert form_of(question) == ("sentence", f"full sentence: contains “{sign}”")


def test_a_question_mark_alone_makes_a_sentence():
    assert form_of("Cholestasis at 37 weeks?") == ("sentence", "full sentence: has a question mark")


NONE = ", with no question word, pronoun or verb form"


@for_each(
    ("question", "words"),
    [
        ("pre-eclampsia", "1 word"),  # one or two, whatever they are
        ("anti-D?", "1 word"),
        ("Is safe?", "2 words"),
        ("dolor cabeza", "2 words"),
        ("", "0 words"),
        ("gestational diabetes screening 24 weeks", f"5 words{NONE}"),
        ("iron dose anaemia pregnancy", f"4 words{NONE}"),
        ("Placenta praevia, caesarean, timing", f"4 words{NONE}"),
        ("diabetes gestacional cribado semana 24", f"5 words{NONE}"),
        ("dosis de hierro en el embarazo", f"6 words{NONE}"),
    ],
)
def test_few_words_and_those_without_a_sentence_are_keywords_and_counted(question, words):
    assert form_of(question) == ("keywords", f"keywords: {words}")


@given(st.text())
def test_every_text_has_a_form_and_the_reason_begins_with_it(question):
    form, reason = form_of(question)
    assert reason.startswith({"keywords": "keywords: ", "sentence": "full sentence: "}[form])


@given(st.text(alphabet="abc dé¿?", max_size=40))
def test_capitals_do_not_change_the_form(question):
    assert form_of(question)[0] == form_of(question.upper())[0]


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("", "The question is empty."),
        (" \n\t ", "The question is empty."),
        ("?!…", "The question has no letter or digit."),
        ("x" * (MAX_QUESTION + 1), "The question has 2,001 characters; the limit is 2,000."),
        ("a\ud800", "The question is not valid text (UTF-8)."),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(question, message):
    with pytest.raises(InputError) as refused:
        check_question(question)
    assert refused.value.message == message
    assert refused.value.next_step


def test_a_question_is_asked_without_the_white_space_around_and_inside_it():
    assert check_question("  When \n is\tanti-D given? ") == "When is anti-D given?"
    assert len(check_question("x" * MAX_QUESTION)) == MAX_QUESTION
    assert check_question("B12") == "B12"


def test_a_question_loses_what_nobody_sees():
    assert (
        check_question("¿Qué pasa si s\u00ada\u00adngro\u200b\x00 \u202emucho\U000e0041?\x1b")
        == "¿Qué pasa si sangro mucho?"
    )
    with pytest.raises(InputError, match="no letter"):
        check_question("\U000e0041\u200b?")


@for_each(
    ("subject", "expected"),
    [
        ("Acid comes up my throat every night, big bump now", True),
        ("Backache at 31 weeks", True),
        ("My boyfriend scares me since I got pregnant", True),
        ("Can my husband come to the birth?", True),
        ("Where can my husband park?", False),
        ("Desde que nació mi guagua no duermo", True),
        ("infecion de orina enbarasada", True),
        ("TXA PPH timing", False),
        ("¿Qué seguro de coche necesito?", False),
        ("How is gout treated in older men?", False),
        ("Is teething gel safe for a nine-month-old?", False),
        ("How often should I have a smear from age 30?", False),
        ("¿Cada cuánto hay que revisar la próstata?", False),
    ],
)
def test_what_is_about_maternity(subject, expected):
    assert is_maternity(subject) is expected
