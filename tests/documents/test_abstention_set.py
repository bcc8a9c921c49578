"""The questions of data/abstention: their split, and that what they rest on exists."""

import hashlib
import json
from collections import Counter

import pytest
from helpers.small import ROOT

from rag_core.evaluation.trust import read_abstention
from rag_core.values.errors import DataError

ROWS = {
    split: [
        json.loads(line)
        for line in (ROOT / "data" / "abstention" / f"{split}.jsonl").read_text("utf-8").splitlines()
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
    assert {one.text: outside for one, outside in found.items()} == {
        row["text"]: row["outside"] for row in ROWS["dev"]
    }


@pytest.mark.parametrize("line", ["{", '{"text": "no language"}'])
def test_a_broken_file_is_a_data_error(tmp_path, line):
    (tmp_path / "abstention").mkdir()
    (tmp_path / "abstention" / "dev.jsonl").write_text(line, encoding="utf-8")
    with pytest.raises(DataError, match=r"dev\.jsonl"):
        read_abstention(tmp_path, "dev")
