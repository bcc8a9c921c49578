"""The check of the questions that sections answer."""

from pathlib import Path

from upkeep.asked import asked_problems

ONE, OTHER = "en-one:0:aaaaaaaa", "en-other:0:bbbbbbbb"


def problems(data: Path, rows: list[tuple[str, str, str]], passages: list[str]) -> list[str]:
    folder = data / "asked"
    folder.mkdir()
    text = "".join("\t".join(row) + "\n" for row in [("passage", "language", "question"), *rows])
    (folder / "all.tsv").write_text(text, encoding="utf-8")
    return asked_problems(data, passages)[1]


def enough(passage: str) -> list[tuple[str, str, str]]:
    return [(passage, "en", f"{passage} {n}?") for n in range(6)] + [(passage, "es", f"¿{passage}?")]


def test_six_questions_and_one_in_the_other_language_are_enough(tmp_path):
    assert problems(tmp_path, enough(ONE), [ONE]) == []


def test_too_few_in_a_language_are_counted(tmp_path):
    assert problems(tmp_path, enough(ONE)[:5], [ONE]) == [
        f"asked: {ONE}: 5 questions in en; it needs 6",
        f"asked: {ONE}: 0 questions in es; it needs 1",
    ]


def test_a_changed_section_and_a_lost_one_are_named(tmp_path):
    now = "en-one:0:cccccccc"
    found = problems(tmp_path, [*enough(ONE), *enough("en-gone:0:dddddddd")], [now])
    assert found == [
        f"asked: {now}: the text has changed; read its questions again",
        "asked: en-gone:0:dddddddd: there is no such section",
    ]


def test_one_question_of_two_sections_in_a_language_is_named(tmp_path):
    twin = "es-one:0:eeeeeeee"
    shared = [(one, "en", "Shared?") for one in (ONE, OTHER)]
    spanish = [(twin, "es", f"¿{n}?") for n in range(6)] + [
        (twin, "en", f"{ONE} 0?")
    ]  # the twin's question may be the same
    assert problems(tmp_path, [*enough(ONE), *enough(OTHER), *shared, *spanish], [ONE, OTHER, twin]) == [
        f"asked: 'Shared?' is a question of {ONE} and {OTHER}"
    ]
