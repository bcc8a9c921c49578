import json
import re
from pathlib import Path

import pytest
from helpers.source_files import docx, failures, locked_pdf, pdf, read_one, words, write, xlsx

from rag_core import indexing
from rag_core.documents.documents import Document
from rag_core.values.errors import DataError, InputError
from rag_core.values.sources import Source

FRONT_MATTER = """---
id: en-epidural
title: Epidural
language: en
topic: labour
sources:
- organisation: NICE
  title: Intrapartum care
  year: 2023
---
# Epidural

An epidural numbs the lower body.
"""
BOM = b"\xef\xbb\xbf"


def read_path(path: Path) -> indexing.SourceFiles:
    """What is read, in this process: one of its own reads the same, as tests/documents/test_guarded_reading.py shows."""
    return indexing.read_path(path, trusted=True)


@pytest.mark.parametrize(
    "content",
    [FRONT_MATTER, FRONT_MATTER.replace("\n", "\r\n"), BOM + FRONT_MATTER.encode()],
    ids=["plain", "CRLF", "BOM"],
)
def test_markdown_with_front_matter_keeps_its_id_and_sources(tmp_path, content):
    document = read_one(tmp_path, "any-name.md", content)
    assert document == Document(
        id="en-epidural",
        title="Epidural",
        language="en",
        topic="labour",
        text="# Epidural\n\nAn epidural numbs the lower body.",
        sources=(Source("NICE", "Intrapartum care", 2023),),
    )


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("# Pain relief\n\nGas and air help many women.", "Pain relief"),
        ("Gas and air help many women.\n\n# Later heading", "Later heading"),
        ("Gas and air help many women.", "notes"),
        ("## Only a section\n\nGas and air help many women.", "notes"),
    ],
)
def test_markdown_without_front_matter_takes_its_first_heading_or_its_file_name_for_title(tmp_path, content, title):
    document = read_one(tmp_path, "notes.md", content)
    assert (document.id, document.title, document.language) == ("notes.md", title, "en")
    assert "Gas and air help many women." in document.text


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.jsonl"])
def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path, name):
    bodies = {
        "a.csv": "text\nThe placenta follows the baby.\n",
        "a.jsonl": json.dumps({"_id": "a.jsonl", "text": "The placenta follows the baby."}),
    }
    content = bodies.get(name, "The placenta follows the baby.")
    document = read_one(tmp_path, name, BOM + content.encode())
    assert document.text.strip() == "The placenta follows the baby."


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.jsonl", "a.docx", "a.xlsx"])
def test_letters_in_another_form_are_ordinary_ones_in_every_format(tmp_path, name):
    said = "The \ufb01rst \uff15\uff10\uff10 mg, 10⁹/L, the cesa\u0301rea."
    bodies: dict[str, str | bytes] = {
        "a.csv": f'text\n"{said}"\n',
        "a.jsonl": json.dumps({"_id": "a.jsonl", "text": said}),
        "a.docx": docx(said),
        "a.xlsx": xlsx(Rows=[["text"], [said]]),
    }
    document = read_one(tmp_path, name, bodies.get(name, said))
    assert document.text.strip() == "The first 500 mg, 10⁹/L, the cesárea."


def test_a_text_file_is_one_document_named_after_its_path(tmp_path):
    document = read_one(tmp_path, "wards/es/Notas.TXT", "El bebé nace antes de la placenta.")
    assert (document.id, document.title, document.language) == ("wards/es/Notas.TXT", "Notas", "es")


def test_html_gives_its_words_and_headings_and_nothing_of_its_machinery(tmp_path):
    page = """<html><head><title> Labour </title><style>p {color: red}</style></head>
    <body><nav>Home</nav><header>Logo</header><h1>Labour</h1><p>It has <b>three</b> stages.</p>
    <h2>First <i>stage</i></h2><p>The cervix opens.</p>
    <script>track()</script><footer>Imprint</footer></body></html>"""
    document = read_one(tmp_path, "labour.html", page)
    assert document.title == "Labour"
    assert words(document) == "# Labour It has three stages. ## First stage The cervix opens."
    assert "\n## First stage\n" in document.text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>One ends.</p><p>Two begins.</p>", "One ends. Two begins."),
        ("<p>first line<br>second line</p>", "first line second line"),
        ("<ul><li>iron</li><li>folic acid</li></ul>", "iron folic acid"),
        ("<table><tr><td>dose</td><td>400</td></tr></table>", "dose | 400"),
        ("<p>anti<b>bio</b>tic</p>", "antibiotic"),
        ("<p>caf&eacute; &lt; 200 mg</p>", "café < 200 mg"),
        ("<h6>Dose</h6><pre>400 mg</pre><figcaption>By mouth</figcaption>", "###### Dose 400 mg By mouth"),
        ("<ol start=3><li>call</li><li>rub</li></ol>", "3. call 4. rub"),
        ("<p>50 × 10<sup>9</sup>/L on the 1<sup>st</sup> day</p>", "50 × 10⁹/L on the 1st day"),
        (
            "<p>10<sup>-3</sup>; 3<sup>1</sup>/<sub>2</sub> tablets; CO<sub>2</sub></p>",
            "10⁻³; 3 1/2 tablets; CO2",
        ),
        ("<p>2&#8209;3 tablets</p>", "2-3 tablets"),
        ("<p><input type=checkbox checked>aspirin <input type=checkbox>heparin</p>", "☒ aspirin ☐ heparin"),
    ],
)
def test_words_of_neighbouring_html_elements_stay_apart(tmp_path, html, expected):
    assert words(read_one(tmp_path, "page.htm", html)) == expected


def test_a_csv_row_with_a_text_column_is_a_document(tmp_path):
    table = 'id,title,language,text\n7,Iron,en,"Iron, daily"\n,,es,Hierro cada día\n'
    reading = read_path(write(tmp_path, {"rows.csv": table}))
    assert [(d.id, d.title, d.language, d.text) for d in reading.documents] == [
        ("rows.csv#2", "rows, row 2", "es", "Hierro cada día"),
        ("rows.csv#7", "Iron", "en", "Iron, daily"),
    ]


def test_a_csv_row_without_a_text_column_is_all_its_filled_columns(tmp_path):
    document = read_one(tmp_path, "drugs.csv", "drug,dose,note\nOxytocin,10 IU,\n")
    assert document.text == "drug: Oxytocin\ndose: 10 IU"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
@pytest.mark.parametrize(
    ("header", "row", "text"),
    [
        ("id{d}title{d}text", 'x{d}Iron{d}"Iron, daily; 30 mg"', "Iron, daily; 30 mg"),
        ("id{d}drug{d}dose", "x{d}Iron{d}30 mg", "id: x\ndrug: Iron\ndose: 30 mg"),
        (
            '"id"{d}"drug, brand"{d}"dose; unit"',
            '"x"{d}Iron{d}30 mg',
            "id: x\ndrug, brand: Iron\ndose; unit: 30 mg",
        ),
        ('id{d}"a note\non two lines"', "x{d}Iron", "id: x\na note\non two lines: Iron"),
    ],
    ids=["text column", "all columns", "quoted names", "name on two lines"],
)
def test_a_csv_is_cut_at_commas_semicolons_or_tabs_whichever_its_header_uses(tmp_path, delimiter, header, row, text):
    document = read_one(tmp_path, "drugs.csv", f"{header}\n{row}\n".format(d=delimiter))
    assert (document.id, document.text) == ("drugs.csv#x", text)


def test_a_jsonl_line_is_a_document_under_its_own_id(tmp_path):
    lines = [
        {"_id": 5, "title": "Iron", "text": "Iron daily"},
        {"_id": "x", "text": "Ñame", "language": "es"},
    ]
    content = "\n\n".join(json.dumps(line) for line in lines)
    reading = read_path(write(tmp_path, {"some.jsonl": content}))
    assert reading.documents == [Document("5", "Iron", "en", "Iron daily"), Document("x", "", "es", "Ñame")]
    assert reading.whole is False


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("keys.jsonl", '[\n {"_id": "k", "text": "Red."},\n {"_id": "l", "text": "Blue."}\n]\n'),
        ("keys.json", '[{"_id": "k", "text": "Red."}, {"_id": "l", "text": "Blue."}]'),
        ("keys.json", '{"_id": "k", "text": "Red."}\n{"_id": "l", "text": "Blue."}\n'),
        ("keys.jsonl", '{"id": "k", "contents": "Red."}\n{"id": "l", "contents": "Blue."}'),
        ("keys.jsonl", '{"_id": "k", "text": "Red."}\r\n{"_id": "l", "text": "Blue."}'.encode("utf-16")),
    ],
    ids=["array in lines", "array", "lines in json", "names of Pyserini", "UTF-16"],
)
def test_rows_of_json_are_read_as_programs_write_them(tmp_path, name, content):
    reading = read_path(write(tmp_path, {name: content}))
    assert [(one.id, one.text) for one in reading.documents] == [("k", "Red."), ("l", "Blue.")]
    assert reading.failed == []


def test_fields_of_a_json_row_that_are_not_read_are_reported(tmp_path):
    row = {"_id": "k", "text": "Red.", "source": "ward 4", "metadata": {}}
    assert read_one(tmp_path, "keys.jsonl", json.dumps(row)).hidden == ("source: ward 4",)


def test_a_beir_folder_is_read_whole_and_only_its_corpus(tmp_path):
    corpus = '{"_id": "2", "title": "T", "text": "two words"}\n{"_id": "1", "title": "Only title", "text": ""}\n'
    folder = write(tmp_path, {"corpus.jsonl": corpus, "queries.jsonl": '{"_id": "q", "text": "?"}', "a.md": "x"})
    reading = read_path(folder)
    assert reading.whole is True
    assert [(d.id, d.title, d.text) for d in reading.documents] == [
        ("2", "T", "two words"),
        ("1", "Only title", ""),
    ]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            '{"_id": "1", "text": "a"}\n\n{broken',
            "line 3: not JSON",
        ),  # and others: documents/test_benchmark.py
        ("[1, 2]", "line 1: a JSON array, not one object a line"),
        ('[\n {"_id": "1", "text": "a"}\n]', "line 1: a JSON array, not one object a line"),
    ],
)
def test_a_malformed_beir_folder_is_refused_naming_the_line(tmp_path, lines, reason):
    with pytest.raises(DataError, match=reason):
        read_path(write(tmp_path, {"corpus.jsonl": lines}))


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("bad.md", FRONT_MATTER.replace("id: en-epidural\n", ""), "id"),
        ("bad.md", FRONT_MATTER.replace("year: 2023", "year: soon"), "soon"),
        ("bad.md", FRONT_MATTER.replace("title: Epidural", "title: 'open"), "cannot be read"),
        ("bad.txt", "café".encode("mac-roman"), "^its encoding is none of UTF-8, UTF-16 and Windows-1252; save"),
        ("bad.txt", "text".encode("utf-16")[:-1], "^it is not text"),
        ("bad.txt", b"", "^the file is empty$"),
        ("bad.txt", " \n\t\n", "no text"),
        ("bad.html", b"", "^the file is empty$"),
        ("bad.html", "<script>only()</script>", "no text"),
        ("bad.pdf", b"", "^the file is empty$"),
        ("bad.pdf", b"%PDF-1.4 and then nothing", "^it is not a PDF, or is damaged; open it"),
        ("bad.pdf", pdf()[:-40], "^it is not a PDF, or is damaged; open it|no text"),
        ("bad.pdf", pdf(), "no text"),
        ("bad.docx", b"PK\x03\x04 and then nothing", "^it is not a Word document, is damaged"),
        ("bad.docx", docx()[:60], "^it is not a Word document, is damaged"),
        ("bad.docx", docx(), "no text"),
        ("bad.jsonl", "{not json", "line 1: not JSON"),
        ("bad.json", "[" * 100_000, "line 1: lists or objects are nested too deeply"),
        ("bad.csv", "text\n\xff".encode("latin-1"), "^its encoding is none of UTF-8, UTF-16 and Windows-1252; save"),
        ("bad.csv", 'text\n"' + "x" * 140_000, "a cell has more than 131,072 characters"),
        ("bad.docx", xlsx(Rows=[["text"]]), "^it is not a Word document, is damaged"),
        ("bad.pdf", locked_pdf(), "it has a password; save it without one"),
        ("bad.xlsx", b"", "^the file is empty$"),
        ("bad.xlsx", b"no workbook", "^it is not an Excel workbook, is damaged"),
        ("bad.xlsx", xlsx(Empty=[]), "^it has no rows$"),
        ("bad.xlsx", xlsx(Head=[["drug", "mg"]]), "^it has no rows$"),
    ],
)  # fmt: skip
def test_a_broken_file_is_listed_with_its_reason_and_the_others_go_on(tmp_path, name, content, reason):
    reading = read_path(write(tmp_path, {name: content, "a.txt": "Good words.", "z.txt": "More words."}))
    assert [document.id for document in reading.documents] == ["a.txt", "z.txt"]
    assert list(failures(reading)) == [name]
    told = failures(reading)[name]
    assert re.search(reason, told), told
    assert " at 0x" not in told
    assert "\n" not in told


def test_an_id_used_twice_keeps_the_first_document_and_names_both_files(tmp_path):
    second = FRONT_MATTER.replace("An epidural numbs", "It numbs")
    reading = read_path(write(tmp_path, {"1.md": FRONT_MATTER, "2.md": second}))
    (document,) = reading.documents
    assert "An epidural numbs" in document.text
    assert failures(reading) == {"2.md": "its id 'en-epidural' is also used by 1.md"}


def test_files_of_one_name_in_two_folders_are_two_documents(tmp_path):
    reading = read_path(write(tmp_path, {"a/x.txt": "Same words.", "b/x.txt": "Same words."}))
    assert [document.id for document in reading.documents] == ["a/x.txt", "b/x.txt"]


def test_documents_come_in_order_of_id_with_the_file_each_came_from(tmp_path):
    reading = read_path(write(tmp_path, {"b.txt": "b b", "c/a.txt": "c c", "a.md": FRONT_MATTER}))
    assert [document.id for document in reading.documents] == ["b.txt", "c/a.txt", "en-epidural"]
    assert reading.files == {"b.txt": "b.txt", "c/a.txt": "c/a.txt", "en-epidural": "a.md"}
    assert reading.root == str(tmp_path.resolve())


def test_hidden_files_and_folders_are_passed_over_and_unknown_kinds_named_as_skipped(tmp_path):
    files = (".a.txt", ".git/b.txt", ".hidden.jpg", "photo.jpg", "deep/slides.pptx", "deep/LICENSE", "c.txt")
    reading = read_path(write(tmp_path, dict.fromkeys(files, "Yes, words.")))
    assert [document.id for document in reading.documents] == ["c.txt"]
    assert reading.failed == []
    assert reading.skipped == [
        ("deep/LICENSE", "a file without extension is not supported"),
        ("deep/slides.pptx", ".pptx is not supported"),
        ("photo.jpg", ".jpg is not supported"),
    ]


def test_a_folder_that_links_to_itself_is_read_once(tmp_path):
    write(tmp_path, {"a.txt": "Words once."})
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert [document.id for document in read_path(tmp_path).documents] == ["a.txt"]


def test_a_single_file_is_read_by_its_own_name(tmp_path):
    write(tmp_path, {"a.txt": "Words.", "b.txt": "Others."})
    reading = read_path(tmp_path / "a.txt")
    assert [document.id for document in reading.documents] == ["a.txt"]
    assert reading.root == str((tmp_path / "a.txt").resolve())


@pytest.mark.parametrize(
    ("files", "name", "reason"),
    [
        ({}, "missing", "cannot be opened: No such file"),
        ({}, ".", "has no files that can be indexed"),
        ({"a.xyz": "x"}, ".", "has no files that can be indexed"),
        ({"a.xyz": "x"}, "a.xyz", "has no files that can be indexed"),
        ({"a.txt": "x"}, "a.txt/b", "cannot be opened"),
    ],
)
def test_a_path_that_gives_nothing_is_refused(tmp_path, files, name, reason):
    with pytest.raises(InputError, match=reason) as refused:
        read_path(write(tmp_path, files) / name)
    assert refused.value.next_step


def test_a_workbook_gives_a_document_a_row_as_a_csv_does(tmp_path):
    rows = [
        ["id", "title", "text"],
        ["a", "Iron", "Take iron with vitamin C."],
        [None] * 3,
        [7, None, "Rest."],
    ]
    (tmp_path / "advice.xlsx").write_bytes(xlsx(Advice=rows))
    table = "id,title,text\na,Iron,Take iron with vitamin C.\n7,,Rest.\n"
    (tmp_path / "advice.csv").write_text(table)
    book, sheet = (read_path(tmp_path / f"advice.{kind}").documents for kind in ("xlsx", "csv"))
    assert [one.id for one in book] == ["advice.xlsx#7", "advice.xlsx#a"]
    assert [(one.title, one.text) for one in book] == [(one.title, one.text) for one in sheet]


def test_every_sheet_is_read_and_a_row_without_text_is_its_columns(tmp_path):
    content = xlsx(Drugs=[["drug", "mg"], ["iron", 60]], Visits=[["week", "what"], [12, "scan"], [20, "scan"]])
    (tmp_path / "clinic.XLSX").write_bytes(content)
    found = {one.id: one.text for one in read_path(tmp_path / "clinic.XLSX").documents}
    assert found == {
        "clinic.XLSX#Drugs#1": "drug: iron\nmg: 60",
        "clinic.XLSX#Visits#1": "week: 12\nwhat: scan",
        "clinic.XLSX#Visits#2": "week: 20\nwhat: scan",
    }
