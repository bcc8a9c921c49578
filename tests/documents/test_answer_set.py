import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from helpers.looping import for_each
from helpers.small import ROOT

from rag_core.documents.answer_set import AnswerSet, read_answer_set, sentence_terms
from rag_core.documents.asked import Asked, placed, read_asked
from rag_core.documents.benchmark import Benchmark, Question
from rag_core.evaluation.trust import read_abstention
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
        ('question = ["q1"]', "question 1: .*dictionary.*, not 'q1'"),
        ("x = 1\n" + MUST, "not a list of questions"),
        ('[[question]]\ntext = "?"', "question 1: id: Field required"),
        (MUST + "\n" + MUST, "question 'q1': it occurs twice"),
        ('[[question]]\nid = "q9"', "no judged question of this split has this id"),
        ('[[question]]\nid = "q1"\nkind = "lay"', "repeats the kind"),
        ('[[question]]\nid = "q9"\nlanguage = "en"\nkind = "lay"', "has text"),
        ('[[question]]\nid = "q9"\ntext = "?"\nlanguage = "en"', "has text, language, kind and level"),
        (
            '[[question]]\nid = "q9"\ntext = "?"\nlanguage = "fr"\nkind = "lay"',
            "has text, language.*one of .'en', 'es'",
        ),
        ('[[question]]\nid = "q9"\ntext = "?"\nlanguage = "en"\nkind = "odd"', "one of .'clear', 'lay'"),
        ('[[question]]\nid = "q1"\ndemo = 1', "demo: .*boolean, not 1"),
        ('[[question]]\nid = "q1"\nmusts = []', "musts: Extra inputs"),
        ('[[question]]\nid = "q1"\nmust = ["now"]', "must.0: .*not 'now'"),
        (MUST.replace('says = "Go", ', ""), "must.0.says: Field required"),
        (MUST.replace('["now"]', "[]"), "must.0.any: .*at least 1"),
        (MUST.replace('["now"]', '"now"'), "must.0.any: .*, not 'now'"),
        (MUST.replace('"now"', '"now||"'), "must.0.any.0: The pattern 'now||'"),
        (MUST.replace('["a:1"]', "[]"), "must.0.passages: .*at least 1"),
        (MUST.replace("a:1", "a"), "must.0.passages.0: .*, not 'a'"),
        (MUST.replace("a:1", "a:first"), "must.0.passages.0: .*, not 'a:first'"),
        (
            MUST.replace("must =", "must_not =").replace("says", 'why = "harmful", says'),
            "must_not.0.passages: Unexpected",
        ),
        (
            MUST.replace("must =", "must_not =").replace(', passages = ["a:1"]', ""),
            "must_not.0.why: Field required",
        ),
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


HEADER = "passage\tlanguage\tquestion\n"
HERE, THERE = "leaflet:0:aaaaaaaa", "leaflet:1:bbbbbbbb"


def asked(passage: str, question: str = "When?") -> Asked:
    return Asked(passage, "en", question)


def test_files_are_read_in_their_order(tmp_path):
    (tmp_path / "b.tsv").write_text(f'{HEADER}{THERE}\tes\t¿Cuándo "es"?\n', encoding="utf-8")
    (tmp_path / "a.tsv").write_text(f"{HEADER}{HERE}\ten\tWhen?\n", encoding="utf-8")
    assert read_asked(tmp_path) == [asked(HERE), Asked(THERE, "es", '¿Cuándo "es"?')]
    assert read_asked(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{HERE}\ten\tWhen?\n", 1),  # no header
        (f"{HEADER}{HERE}\ten\n", 2),  # a column is missing
        (f"{HEADER}{HERE}\ten\tWhen?\nleaflet\ten\tWhen?\n", 3),  # no passage's id
    ],
)
def test_a_malformed_row_is_named_by_file_and_line(tmp_path, text, line):
    (tmp_path / "a.tsv").write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"a\.tsv, line {line}: not a question of a passage"):
        read_asked(tmp_path)


def test_questions_stay_with_a_passage_that_moved():
    found, changed, lost = placed([asked(HERE), asked(THERE)], ["leaflet:0:bbbbbbbb", "leaflet:1:aaaaaaaa"])
    assert found == [asked("leaflet:0:bbbbbbbb"), asked("leaflet:1:aaaaaaaa")]  # in the passages' order
    assert (changed, lost) == ([], [])


def test_questions_of_a_changed_passage_are_kept_and_said_to_need_reading():
    now = "leaflet:1:cccccccc"
    assert placed([asked(HERE), asked(THERE)], [HERE, now]) == ([asked(HERE), asked(now)], [asked(now)], [])


def test_questions_without_a_passage_are_lost():
    assert placed([asked(THERE), asked("other:0:aaaaaaaa")], [HERE]) == (
        [],
        [],
        [asked(THERE), asked("other:0:aaaaaaaa")],
    )


ROWS = {
    split: [
        json.loads(line) for line in (ROOT / "data" / "abstention" / f"{split}.jsonl").read_text("utf-8").splitlines()
    ]
    for split in ("dev", "test")
}


def test_half_of_each_language_and_sort_with_the_smallest_hashes_is_dev():
    for language in ("en", "es"):
        for outside, many in ((True, 30), (False, 15)):
            hashes = {
                split: [
                    hashlib.sha256(row["text"].encode()).hexdigest()
                    for row in rows
                    if (row["language"], row["outside"]) == (language, outside)
                ]
                for split, rows in ROWS.items()
            }
            assert [len(one) for one in hashes.values()] == [many, many]
            assert max(hashes["dev"]) < min(hashes["test"])


def test_an_answerable_question_names_its_section_and_another_says_what_is_missing():
    for row in [*ROWS["dev"], *ROWS["test"]]:
        if row["outside"]:
            assert (row["document"], row["heading"], bool(row["why"])) == ("", "", True)
        else:
            folder, _, name = row["document"].partition("-")
            text = (ROOT / "data" / "corpus" / folder / f"{name}.md").read_text(encoding="utf-8")
            assert f"\n## {row['heading']}\n" in text


def test_reading_gives_questions_with_whether_they_are_outside():
    found = read_abstention(ROOT / "data", "dev")
    assert Counter(found.values()) == {True: 60, False: 30}
    assert {one.text: outside for one, outside in found.items()} == {row["text"]: row["outside"] for row in ROWS["dev"]}


@pytest.mark.parametrize("line", ["{", '{"text": "no language"}'])
def test_a_broken_file_is_a_data_error(tmp_path, line):
    (tmp_path / "abstention").mkdir()
    (tmp_path / "abstention" / "dev.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=r"dev\.jsonl"):
        read_abstention(tmp_path, "dev")
