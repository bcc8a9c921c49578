"""A row of JSON that cannot be read is told with its line; the others are read."""

import pytest
from helpers.source_files import write

from rag_core.indexing import read_path

IRON, ZINC = '{"_id": "1", "text": "Iron."}', '{"_id": "2", "text": "Zinc."}'


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("a.jsonl", f"{IRON}\nnull\n{ZINC}\n", "line 2: not a JSON object. Each line needs _id and text."),
        ("a.jsonl", f'{IRON}\n{{"_id": "3", "text": null}}\n{ZINC}', "line 2: text is None, which is not text. "),
        ("a.jsonl", f'{IRON}\n{{"_id": "3", "te\n\n{ZINC}', "line 2: not JSON (Unterminated string starting at). "),
        ("a.jsonl", f"{IRON}\n{IRON}\n{ZINC}", "line 2: id '1' is repeated, first on line 1. Remove one of the two."),
        ("a.jsonl", f"null\n{IRON}\n[]\n{ZINC}\nNaN\n", "line 1: not a JSON object. Each line needs _id and text. Lines not read either: 3, 5."),
        ("a.json", f"[\n  {IRON},\n  null,\n  {ZINC}\n]\n", "line 3: not a JSON object. "),
        ("a.json", f'[\n  {IRON},\n  {{"_id": "3", "text": "a}},\n  {ZINC}\n]\n', "line 3: not JSON (Unterminated string starting at). "),
        ("a.json", f'[\n {{\n  "_id": 3\n  "text": {{}}\n }},\n {{\n  "_id": "1", "text": "Iron."\n }},\n {ZINC}\n]', "line 2: not JSON (Expecting ',' delimiter). "),
        ("a.jsonl", '{\n"_id": "1",\n"text": "Iron."\n}\n{\n"_id": "2",\n"text": "Zinc."\n}\nnull', "line 9: not a JSON object. "),
        ("a.json", f"[{IRON},\n{ZINC},", "line 2: not JSON"),
        ("a.json", f"[{IRON},\n{ZINC}] {{}}", "line 2: not JSON"),
        ("a.json", f"[{IRON}, {ZINC}, {{]", "line 1: not JSON (Expecting property name enclosed in double quotes). "),
    ],
    ids=["null", "null text", "cut off", "an id again", "several", "null in an array", "an open string", "a comma", "as jq writes", "cut between rows", "more behind it", "one line"],
)  # fmt: skip
def test_a_row_that_cannot_be_read_is_told_with_its_line_and_the_others_are_read(tmp_path, name, content, told):
    reading = read_path(write(tmp_path, {name: content}), trusted=True)
    assert [document.text for document in reading.documents] == ["Iron.", "Zinc."]
    ((_, reason),) = reading.failed
    assert told in f"{reason} "
