"""Judged answers: what is read, and the errors of a malformed file."""

import re
from pathlib import Path

import pytest
from helpers.looping import for_each

from rag_core.documents.answer_set import AnswerSet, read_answer_set, sentence_terms
from rag_core.documents.benchmark import Benchmark, Question
from rag_core.values.errors import DataError

JUDGED = Benchmark(
    "builtin",
    "dev",
    (
        Question("q1", "Does blood matter?", "en", "lay", "emergency"),
        Question("q2", "Gout?", "en", "outside", "routine"),
    ),
    {"q1": {"en-bleeding": 2}, "q2": {"en-bleeding": 0}},
    "0" * 16,
)
GOOD = """
[[question]]
id = "q1"
must = [
  { says = "Go now", any = ["hospital now|once", "hospital ya"], passages = ["en-bleeding:3", "en-bleeding:4"] },
  { says = "Do not drive", any = ["not|never drive"], passages = ["en-bleeding:4"] },
]
must_not = [{ says = "Wait", why = "harmful", any = ["wait see"] }, { says = "Belts", why = "off-topic", any = ["belt"] }]

[[question]]
id = "q2"

[[question]]
id = "new"
text = "¿Sangro?"
language = "es"
kind = "emergency"
level = "emergency"
demo = true
must = [{ says = "Go", any = ["hospital"], passages = ["es-sangrado:0"] }]
"""
MUST = '[[question]]\nid = "q1"\nmust = [{ says = "Go", any = ["now"], passages = ["a:1"] }]'


def read(tmp_path: Path, text: str) -> AnswerSet:
    path = tmp_path / "dev.toml"
    path.write_text(text, encoding="utf-8")
    return read_answer_set(path, JUDGED)


def test_questions_statements_and_passages(tmp_path):
    answers = read(tmp_path, GOOD).answers
    assert list(answers) == ["q1", "q2", "new"]
    first, outside, new = answers.values()
    assert first.question is JUDGED.questions[0]
    assert first.passages == {"en-bleeding:3", "en-bleeding:4"}
    assert [one.says for one in first.must] == ["Go now", "Do not drive"]
    assert [one.why for one in first.must_not] == ["harmful", "off-topic"]
    assert (first.outside, outside.outside, new.outside) == (False, True, False)
    assert (first.own, first.demo, new.own, new.demo) == (False, False, True, True)
    assert new.question == Question("new", "¿Sangro?", "es", "emergency", "emergency")


def test_a_statement_is_said_by_one_sentence_not_by_two(tmp_path):
    go, _ = read(tmp_path, GOOD).answers["q1"].must
    assert go.said_in(sentence_terms("Rest. Go to the hospital now."))
    assert go.said_in(sentence_terms("Vaya ya al hospital."))
    assert not go.said_in(sentence_terms("There is a hospital. Rest now."))
    assert not go.said_in(sentence_terms(""))


def test_new_questions_join_the_benchmark_with_the_documents_of_their_passages(tmp_path):
    extended = read(tmp_path, GOOD).extend(JUDGED)
    assert [question.id for question in extended.questions] == ["q1", "q2", "new"]
    assert extended.qrels["new"] == {"es-sangrado": 2}
    assert [question.id for question in extended.unanswerable] == ["q2"]


def test_the_checksum_is_the_files(tmp_path):
    assert read(tmp_path, GOOD).checksum != read(tmp_path, GOOD + "\n").checksum


@for_each(
    ("text", "message"),
    [
        ("[[question]\n", "cannot be read: .*line 1"),
        ("", "not a list of questions"),
        ('question = ["q1"]', "not a list of questions"),
        ("x = 1\n" + MUST, "not a list of questions"),
        ('[[question]]\ntext = "?"', "question 'number 1': the question has no `id`"),
        (MUST + "\n" + MUST, "'q1' occurs twice"),
        ('[[question]]\nid = "q9"', "no judged question of this split has this id"),
        ('[[question]]\nid = "q1"\nkind = "lay"', "repeats the kind"),
        ('[[question]]\nid = "q9"\ntext = "?"\nlanguage = "en"', "has no `kind`"),
        ('[[question]]\nid = "q9"\ntext = "?"\nlanguage = "fr"\nkind = "lay"', "language 'fr'"),
        ('[[question]]\nid = "q9"\ntext = "?"\nlanguage = "en"\nkind = "odd"', "kind 'odd'"),
        ('[[question]]\nid = "q1"\ndemo = 1', "`demo` is not true or false"),
        ('[[question]]\nid = "q1"\nmusts = []', "unknown key 'musts'"),
        ('[[question]]\nid = "q1"\nmust = ["now"]', "`must` is not a list of statements"),
        (MUST.replace('says = "Go", ', ""), "has no `says`"),
        (MUST.replace('["now"]', "[]"), "'Go' has no list `any`"),
        (MUST.replace('["now"]', '"now"'), "'Go' has no list `any`"),
        (MUST.replace('"now"', '"now||"'), "'Go': The pattern 'now||'"),
        (MUST.replace('["a:1"]', "[]"), "'Go' has no list `passages`"),
        (MUST.replace("a:1", "a"), "names the passage 'a'"),
        (MUST.replace("a:1", "a:first"), "names the passage 'a:first'"),
        (MUST.replace("must =", "must_not ="), "unknown key 'passages'"),
        (MUST.replace("must =", "must_not =").replace(', passages = ["a:1"]', ""), "why = None"),
    ],
)
def test_a_malformed_file_is_an_error_that_says_where_and_what_to_do(tmp_path, text, message):
    with pytest.raises(DataError) as raised:
        read(tmp_path, text)
    assert str(tmp_path / "dev.toml") in str(raised.value)
    assert raised.value.next_step
    assert re.search(message.replace("||", r"\|\|"), str(raised.value))


def test_a_file_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_answer_set(tmp_path / "dev.toml", JUDGED)
