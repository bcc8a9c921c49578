"""The questions that passages answer: their files, and how they follow passages that move or change."""

import pytest

from rag_core.documents.asked import Asked, placed, read_asked
from rag_core.values.errors import DataError

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
