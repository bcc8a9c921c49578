from collections.abc import Callable
from datetime import datetime, time, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from helpers.source_files import failures, read_one, write, xlsx
from openpyxl import load_workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart
from openpyxl.comments import Comment
from openpyxl.styles import Font
from openpyxl.worksheet.datavalidation import DataValidation

from rag_core.documents.documents import Document
from rag_core.documents.reading.workbook import shown
from rag_core.indexing import read_path

HEAD = ["drug", "amount", "how"]
IRON = ["iron", "60 mg", "by mouth"]


def read(folder: Path, content: str | bytes, name: str = "t.csv") -> list[Document]:
    reading = read_path(write(folder, {name: content}), trusted=True)
    assert reading.failed == []
    return reading.documents


def texts(folder: Path, content: str | bytes, name: str = "t.csv") -> list[str]:
    return [document.text for document in read(folder, content, name)]


def book(rows: list[list[object]], change: Callable[[Any], object] = lambda sheet: None) -> bytes:
    """A workbook of one sheet with these rows, changed."""
    made = load_workbook(BytesIO(xlsx(Sheet=rows)))
    change(made.active)
    held = BytesIO()
    made.save(held)
    return held.getvalue()


def with_parts(content: bytes, changes: dict[str, tuple[str, str]], added: dict[str, str] | None = None) -> bytes:
    """An archive with changed and added parts: what openpyxl does not write.

    Args:
        changes: path -> what is replaced, and by what.
    """
    held = BytesIO()
    with ZipFile(BytesIO(content)) as old, ZipFile(held, "w") as new:
        for path in old.namelist():
            part = old.read(path).decode()
            before, after = changes.get(path, ("", ""))
            assert before in part
            new.writestr(path, part.replace(before, after) if before else part)
        for path, part in (added or {}).items():
            new.writestr(path, part)
    return held.getvalue()


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("sep=;\nroom;floor\nbath;2\n", ["room: bath\nfloor: 2"]),
        ('"sep=|"\nroom|floor\nbath, sink|2\n', ["room: bath, sink\nfloor: 2"]),
        ("room|floor|key\nbath|2|blue\n", ["room: bath\nfloor: 2\nkey: blue"]),
        ("room;size\nbath;2,5 m\nsink;1,5 m\n", ["room: bath\nsize: 2,5 m", "room: sink\nsize: 1,5 m"]),
        ("Rooms, ward 4\nroom;floor\nbath;2\n", ["room: bath\nfloor: 2"]),
        ("text\nRest; drink, often.\nDrink, eat.\n", ["Rest; drink, often.", "Drink, eat."]),
        ("room\nbath, sink\nbed\nchair\n", ["room: bath, sink", "room: bed", "room: chair"]),
    ],
    ids=["sep", "sep in quotes", "pipes", "decimal commas", "comma above", "text alone", "a stray comma"],
)
def test_a_csv_is_cut_where_most_of_its_rows_are(tmp_path, table, expected):
    assert texts(tmp_path, table) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("room,key,key\nbath,blue,red\n", "room: bath\nkey: blue\nkey 2: red"),
        ("key,Key,key 2\nblue,red,white\n", "key: blue\nKey 3: red\nkey 2: white"),
        ("room,,key\nbath,warm,red\n", "room: bath\ncolumn 2: warm\nkey: red"),
        ("room,key\nbath,red,not at night,ring\n", "room: bath\nkey: red\ncolumn 3: not at night\ncolumn 4: ring"),
        ('room,note\nbath,"warm\nclean"\n', "room: bath\nnote: warm\nclean"),
        ("id,text,limit,language\n4,Give iron.,not in the morning,English\n", "Give iron.\n\nlimit: not in the morning\nlanguage: English"),
        ("ID,Text\n4,Give iron.\n", "Give iron."),
        (f"room,{'9' * 5_000}\nbath,red\n", f"room: bath\n{'9' * 5_000}: red"),
        (f"title,text\n{'long ' * 100},Give iron.\n", f"Give iron.\n\ntitle: {'long ' * 99}long"),
    ],
    ids=["repeated", "numbers taken", "empty", "longer rows", "lines", "beside text", "capitals", "digits", "long title"],
)  # fmt: skip
def test_every_cell_of_a_row_is_in_its_text(tmp_path, table, expected):
    assert texts(tmp_path, table) == [expected]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('tool,size\n"the \\"long\\" hook, steel",5 cm\n', 'tool: the "long" hook, steel\nsize: 5 cm'),
        ("tool\tsize\tshelf\nhook\\\tsteel\t5 cm\t\\N\n", "tool: hook\tsteel\nsize: 5 cm"),
        ('"place","note"\n"C:\\old\\","a ""new"" hook"\n', 'place: C:\\old\\\nnote: a "new" hook'),
        ('place,note\n"C:\\new \\"old\\"",x\n', 'place: C:\\new "old"\nnote: x'),
        ('tool, note\nhook, "steel, long"\n', "tool: hook\nnote: steel, long"),
    ],
    ids=["MySQL, quoted", "MySQL, tabs", "Excel with folders", "Spark", "blanks after commas"],
)
def test_signs_in_cells_are_escaped_as_the_program_that_wrote_the_file_escapes_them(tmp_path, table, expected):
    (document,) = read(tmp_path, table)
    assert (document.text, document.hidden) == (expected, ())


QUOTE = "a quotation mark inside a cell, or left open"


@pytest.mark.parametrize(
    ("line", "text", "told"),
    [
        ('hook,"a 5" pipe, steel",x', 'tool: hook\nnote: a 5" pipe, steel\nshelf: x', (f"line 2: {QUOTE}",)),
        ('hook,"steel,x', 'tool: hook\nnote: "steel\nshelf: x', (f"line 2: {QUOTE}",)),
        ('hook,"steel, long,x', 'hook\n"steel\nlong\nx', (f"line 2: {QUOTE}", "line 2: 4 cells, not 3")),
        ("hook,steel", "tool: hook\nnote: steel", ("line 2: 2 cells, not 3",)),
        ("hook,steel,x,y", "tool: hook\nnote: steel\nshelf: x\ncolumn 4: y", ("line 2: 4 cells, not 3",)),
        ("hook,steel,,,", "tool: hook\nnote: steel", ()),
    ],
    ids=["inches", "left open", "left open before a comma", "shorter", "longer", "empty cells"],
)
def test_a_malformed_row_is_reported_with_its_line_and_ends_at_it(tmp_path, line, text, told):
    first, *rest = read(tmp_path, f'tool,note,shelf\n{line}\nsaw,"old\nand blunt",y\nfile,new,z\n')
    assert (first.text, first.hidden) == (text, told)
    assert [one.text for one in rest] == [
        "tool: saw\nnote: old\nand blunt\nshelf: y",
        "tool: file\nnote: new\nshelf: z",
    ]


def test_a_quotation_mark_left_open_before_the_end_of_a_long_file_ends_with_its_line(tmp_path):
    rows = "".join(f"tool {number},steel\n" for number in range(10_000))
    first, *rest = read(tmp_path, f'tool,note\nhook,"long\n{rows}')
    assert (first.text, first.hidden) == ('tool: hook\nnote: "long', (f"line 2: {QUOTE}",))
    assert rest[-1].hidden == ()
    assert len(rest) == 10_000


@pytest.mark.parametrize(
    ("above", "title"),
    [
        ("Keys of the ward\n", "Keys of the ward"),
        ("Keys of the ward\nas of May\n\n", "Keys of the ward; as of May"),
        ("ward,4\nby,Rosa\n\n", "ward, 4; by, Rosa"),
    ],
    ids=["title", "remark", "pairs"],
)
def test_what_stands_above_a_header_is_the_title_of_its_rows(tmp_path, above, title):
    (document,) = read(tmp_path, f"{above}room,key,floor\nbath,red,2\n")
    assert (document.title, document.text) == (f"{title}, row 1", "room: bath\nkey: red\nfloor: 2")


@pytest.mark.parametrize("header", ["room,key", "title,key"])
def test_what_is_too_long_for_a_title_or_has_no_place_there_is_a_document(tmp_path, header):
    above = "Keys of the ward" if "title" in header else "Keys " * 50
    rows = {one.id: one.text for one in read(tmp_path, f"{above}\n{header}\nbath,red\n")}
    assert rows["t.csv#above"] == above.strip()
    assert "key: red" in rows["t.csv#1"]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("Is it loud?,At night.\nIs it cold?,In the bath.\n", ["Is it loud?\nAt night.", "Is it cold?\nIn the bath."]),
        ("iron,60 mg\nzinc,15 mg\n", ["iron\n60 mg", "zinc\n15 mg"]),
        ("Is it loud?,Why?\nno,walls\nyes,doors\n", ["Is it loud?: no\nWhy?: walls", "Is it loud?: yes\nWhy?: doors"]),
        ("ward,2023,2024\nA,85,90\nB,70,75\n", ["ward: A\n2023: 85\n2024: 90", "ward: B\n2023: 70\n2024: 75"]),
        ("drug,week 12\niron,60 mg\n", ["drug: iron\nweek 12: 60 mg"]),
        ("drug,1,2,3\niron,6,0,6\n", ["drug: iron\n1: 6\n2: 0\n3: 6"]),
        ('"drug","dose"\n"1","iron","6 mg"\n"2","zinc","15 mg"\n', ["column 1: 1\ndrug: iron\ndose: 6 mg", "column 1: 2\ndrug: zinc\ndose: 15 mg"]),
    ],
    ids=["questions", "amounts", "a form's questions", "years", "weeks", "days", "rows that R numbers"],
)  # fmt: skip
def test_a_first_row_like_those_below_it_is_no_header(tmp_path, table, expected):
    assert texts(tmp_path, table) == expected


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (",Amount,,How\nDrug,day,night,\niron,60,30,oral\n", "Drug: iron\nAmount day: 60\nAmount night: 30\nHow: oral"),
        ("Drug,Amount,,How\n,day,night,\niron,60,30,oral\n", "Drug: iron\nAmount day: 60\nAmount night: 30\nHow: oral"),
        (",Amount,,Cost,\nDrug,day,night,day,night\niron,6,3,2,1\n",
         "Drug: iron\nAmount day: 6\nAmount night: 3\nCost day: 2\nCost night: 1"),
    ],
    ids=["corner", "tall names", "full"],
)  # fmt: skip
def test_a_header_on_two_lines_names_a_column_by_both(tmp_path, table, expected):
    assert texts(tmp_path, table + table.splitlines()[-1].replace("iron", "zinc")) == [
        expected,
        expected.replace("iron", "zinc"),
    ]


def test_an_empty_name_is_not_taken_for_a_header_on_two_lines(tmp_path):
    rows = "drug,,remark\ncodeine,oral,at night\nmorphine,slow,by day\n"
    assert texts(tmp_path, rows)[0] == "drug: codeine\ncolumn 2: oral\nremark: at night"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("tool,size\nhook,5 cm\nsaw,9 cm\n\ntool,shelf\nhook,A\n", ["tool: hook\nsize: 5 cm", "tool: saw\nsize: 9 cm", "tool: hook\nshelf: A"]),
        ("room,use\nbath,ana\nbed,luis\n\nward,beds\noak,12\n", ["room: bath\nuse: ana", "room: bed\nuse: luis", "ward: oak\nbeds: 12"]),
        ("room,floor\nbath,2\nroom,floor\nbed,4\n", ["room: bath\nfloor: 2", "room: bed\nfloor: 4"]),
        ("tool,size\nhook,5 cm\n\nsaw,9 cm\n\nall,14 cm\n", ["tool: hook\nsize: 5 cm", "tool: saw\nsize: 9 cm", "tool: all\nsize: 14 cm"]),
        ("tool,sharp\nhook,no\nsaw,yes\n\nfile,no\naxe,yes\n", ["tool: hook\nsharp: no", "tool: saw\nsharp: yes", "tool: file\nsharp: no", "tool: axe\nsharp: yes"]),
        ("tool,size,at\nhook,5 cm,A\n\nplate,shelf,row,by\nold,A,low,ana\n", ["tool: hook\nsize: 5 cm\nat: A", "plate: old\nshelf: A\nrow: low\nby: ana"]),
        ("tool,size\nhook,5 cm\nsaw,9 cm\n\nSource: a book\nas of May\n", ["tool: hook\nsize: 5 cm", "tool: saw\nsize: 9 cm", "Source: a book", "as of May"]),
    ],
    ids=["a name again", "figures elsewhere", "pages", "groups of figures", "groups of words", "wider", "remarks"],
)  # fmt: skip
def test_a_table_ends_where_another_header_stands(tmp_path, table, expected):
    assert texts(tmp_path, table) == expected
    rows = [line.split(",") if line else [None] for line in table.removesuffix("\n").split("\n")]
    assert texts(tmp_path, book(rows), "t.xlsx")[-len(expected) :] == expected


def test_the_title_of_a_second_table_is_that_of_its_rows(tmp_path):
    table = "Rooms,\nroom,floor\nbath,2\nbed,3\n\nWatches,\nname,hours\nana,8 to 16\n"
    assert [document.title for document in read(tmp_path, table)] == [
        "Rooms, row 1", "Rooms, row 2", "Watches, row 3",
    ]  # fmt: skip
    assert texts(tmp_path, table)[-1] == "name: ana\nhours: 8 to 16"


def test_columns_that_may_be_those_above_and_may_not_have_no_names_and_are_reported(tmp_path):
    documents = read(tmp_path, "tool,use\nhook,hanging\nsaw,cutting\n\naxe,splitting\nfile,smoothing\n")
    assert [one.text for one in documents[2:]] == ["axe\nsplitting", "file\nsmoothing"]
    assert documents[2].hidden == ("a table that may or may not go on below a blank row: axe, splitting",)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("tool,size,,room,floor\nhook,5 cm,,bath,2\nsaw,9 cm,,bed,3\naxe,8 cm,,,\n", ["tool: hook\nsize: 5 cm", "tool: saw\nsize: 9 cm", "tool: axe\nsize: 8 cm", "room: bath\nfloor: 2", "room: bed\nfloor: 3"]),
        ("tool,size,,tool,size\nhook,5 cm,,saw,9 cm\n", ["tool: hook\nsize: 5 cm", "tool: saw\nsize: 9 cm"]),
        ("Tools,,,Rooms,\ntool,size,,room,floor\nhook,5 cm,,bath,2\n", ["tool: hook\nsize: 5 cm", "room: bath\nfloor: 2"]),
    ],
    ids=["one longer", "a name in both", "titles"],
)  # fmt: skip
@pytest.mark.parametrize("name", ["t.csv", "t.xlsx"])
def test_tables_side_by_side_are_two(tmp_path, table, expected, name):
    rows = [[cell or None for cell in line.split(",")] for line in table.removesuffix("\n").split("\n")]
    documents = read(tmp_path, table if name == "t.csv" else book(rows), name)
    assert [document.text for document in documents] == expected
    assert documents[0].hidden == ("two tables side by side: column 3 is empty",)
    assert len({document.id for document in documents}) == len(documents)


def test_an_empty_column_alone_does_not_part_a_table(tmp_path):
    table = "tool,size,,shelf,row\nhook,5 cm,,A,low\nsaw,9 cm,,B,low\n"
    assert texts(tmp_path, table)[0] == "tool: hook\nsize: 5 cm\nshelf: A\nrow: low"


CARD = [
    ["Ward", "Maple"],
    ["Phone", "555 0101"],
    ["Opens", time(9)],
    ["Beds", 12],
    ["Next audit", datetime(2025, 3, 7)],
]
CARD_TEXT = "Ward: Maple\nPhone: 555 0101\nOpens: 09:00\nBeds: 12\nNext audit: 2025-03-07"


@pytest.mark.parametrize(
    ("content", "name", "expected"),
    [
        (book(CARD), "t.xlsx", CARD_TEXT),
        (book([[], *([None, *row] for row in CARD)]), "t.xlsx", CARD_TEXT),
        ("Details,\nHead:,Ana Ruiz\nFloor:,second\n", "t.csv", "Details\nHead: Ana Ruiz\nFloor: second"),
        ("Mail;ana@example.org\nOpens;9:30\nSince;01/03/2019\n", "t.csv", "Mail: ana@example.org\nOpens: 9:30\nSince: 01/03/2019"),
    ],
    ids=["a sheet", "not at its corner", "colons", "kinds"],
)  # fmt: skip
def test_names_beside_their_values_are_read_with_them(tmp_path, content, name, expected):
    assert texts(tmp_path, content, name) == [expected]


@pytest.mark.parametrize(
    "table",
    [
        "drug,dose\niron,60 mg\nzinc,1-2 tablets\nD,as needed\nB9,400\n",
        "day,opens\nMonday,9:00\nFriday,10:30\n",
    ],
)
def test_a_table_of_two_columns_is_no_card(tmp_path, table):
    first, *_, last = table.splitlines()
    pairs = zip(first.split(","), last.split(","), strict=True)
    assert texts(tmp_path, table)[-1] == "\n".join(f"{one}: {value}" for one, value in pairs)


def test_ids_that_repeat_are_told_apart(tmp_path):
    rows = read(tmp_path, "id,note\nx,first\nx,second\n,third\n3,fourth\n")
    assert {one.id.removeprefix("t.csv#"): one.text.splitlines()[-1] for one in rows} == {
        "x": "note: first", "x (2)": "note: second", "3": "note: third", "3 (2)": "note: fourth",
    }  # fmt: skip


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.md"])
@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32"])
def test_text_is_read_in_the_encodings_of_office_programs(tmp_path, encoding, name):
    (text,) = texts(tmp_path, "nota\nPresión – 38 °C, “reposo”\n".encode(encoding), name)
    assert "Presión – 38 °C, “reposo”" in text


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        *((name, "La señora está en la habitación.") for name in ("mac-roman", "cp850", "cp437")),
        *((name, "Call us above 38 °C.") for name in ("mac-roman", "cp850", "cp437")),
        ("cp1251", "Доза: по пять раз"),
    ],
)
def test_text_in_another_encoding_is_refused_and_not_misread(tmp_path, encoding, said):
    reading = read_path(write(tmp_path, {"t.txt": said.encode(encoding)}), trusted=True)
    reason = "its encoding is none of UTF-8, UTF-16 and Windows-1252; save it as UTF-8"
    assert failures(reading) == {"t.txt": reason}


@pytest.mark.parametrize(
    ("value", "number_format", "expected"),
    [
        (0.2, "0%", "20%"), (0.125, "0.0%", "12.5%"), (0.1 + 0.2, "General", "0.3"), (5, "", "5"),
        (1234.5, '#,##0.00 "€"', "1,234.50 €"), (1234.5, "[$£-809]#,##0.00", "£1,234.50"), (-3, "#,##0;[Red](#,##0)", "(3)"),
        (0, '#,##0;-#,##0;"none"', "none"), (-0.001, "0.00", "0.00"), (2.5, "0", "3"), (12, "00000", "00012"),
        (2.5, '0.0 "mg"', "2.5 mg"), (45, r"0\ \m\g", "45 mg"), (2.5, "# ?/?", "2 1/2"), (0.5, "# ?/8", "1/2"),
        (1234567, "#,##0,", "1,235"), (123456, "0.00E+00", "1.23E+05"), (5551234, "000-0000", "5551234"),
        (12345678901, "General", "12345678901"), (5, ";;;", ""), ("oral", ";;;", ""), ("5", '@" mg"', "5 mg"),
        (True, "General", "TRUE"), (datetime(2025, 3, 7), "dd/mm/yyyy", "2025-03-07"), (1e300, "0", "1e+300"),
        (datetime(2025, 3, 7, 14, 30), "d.m.yy hh:mm", "2025-03-07 14:30"), (datetime(2025, 3, 7), "mmm yyyy", "2025-03"),
        (datetime(2025, 3, 7, 14, 30), "dd/mm/yyyy", "2025-03-07"), (datetime(2025, 3, 7, 8), "h:mm", "08:00"),
        (datetime(2025, 3, 7), "yyyy-mm-dd h:mm:ss", "2025-03-07"),
        (time(8, 5), "h:mm", "08:05"), (timedelta(hours=30, minutes=5), "[h]:mm", "30:05"),
    ],
)  # fmt: skip
def test_a_value_is_what_its_cell_shows(value, number_format, expected):
    assert shown(value, number_format) == expected


def test_a_workbook_shows_values_by_the_formats_of_their_cells(tmp_path):
    def change(sheet: Any) -> None:
        sheet["B2"].number_format, sheet["C2"].number_format = '0.0" mg"', "0%"

    content = book([["drug", "amount", "share", "open"], ["iron", 7.5, 0.4, False]], change)
    assert texts(tmp_path, content, "t.xlsx") == ["drug: iron\namount: 7.5 mg\nshare: 40%\nopen: FALSE"]


def strike(sheet: Any) -> None:
    sheet["B2"].font = Font(strike=True)


def strike_a_part(sheet: Any) -> None:
    sheet["B2"] = CellRichText(TextBlock(InlineFont(strike=True), "100 mg "), "60 mg")


def comment(sheet: Any) -> None:
    sheet["B2"].comment = Comment("not when ill", "Rosa")


def prompt(sheet: Any) -> None:
    sheet.add_data_validation(DataValidation("whole", sqref="B2", prompt="not above 60"))


def footer(sheet: Any) -> None:
    sheet.oddFooter.center.text = "Draft, page &P"


def set_value(value: object, number_format: str = "General") -> Callable[[Any], None]:
    def change(sheet: Any) -> None:
        sheet["B2"] = value
        sheet["B2"].number_format = number_format

    return change


def hide_column(sheet: Any) -> None:
    sheet.column_dimensions["B"].hidden = True


REPORTED = {
    "a formula": (set_value("=60*2"), "B2: formula without a value: =60*2"),
    "an error": (set_value("#N/A"), "B2: #N/A"),
    "a struck cell": (strike, "B2: struck through: 60 mg"),
    "a format that shows nothing": (set_value(60, ";;;"), "B2: hidden by its format: 60"),
    "a hidden column": (hide_column, "hidden column B: amount, 60 mg"),
}


@pytest.mark.parametrize(("change", "told"), REPORTED.values(), ids=REPORTED)
def test_a_cell_that_is_not_read_is_reported(tmp_path, change, told):
    document = read_one(tmp_path, "t.xlsx", book([HEAD, IRON], change))
    assert (document.text, document.hidden) == ("drug: iron\nhow: by mouth", (told,))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (strike_a_part, "B2: struck through: 100 mg"),
        (comment, "B2: comment: not when ill"),
        (prompt, "B2: prompt: not above 60"),
        (footer, "header or footer: Draft, page"),
        (lambda sheet: sheet.add_chart(BarChart(), "E5"), "charts (1)"),
    ],
    ids=["struck text", "comment", "prompt", "footer", "chart"],
)
def test_what_stands_beside_a_cell_is_reported(tmp_path, change, told):
    document = read_one(tmp_path, "t.xlsx", book([HEAD, IRON], change))
    assert (document.text, document.hidden) == ("drug: iron\namount: 60 mg\nhow: by mouth", (told,))


SHEET = "xl/worksheets/sheet1.xml"
SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
AMOUNT = '<c r="B2" t="inlineStr"><is><t>60 mg</t></is></c>'
RUNS = '<r><rPr><strike/></rPr><t>100 mg</t></r><r><t xml:space="preserve"> 60 mg</t></r>'
NO_WIDTH = '<cols><col min="2" max="2" width="0" customWidth="1"/></cols><sheetData>'
ALL = "drug: iron\namount: 60 mg\nhow: by mouth"


@pytest.mark.parametrize(
    ("old", "new", "text", "told"),
    [
        ("<sheetData>", NO_WIDTH, "drug: iron\nhow: by mouth", ("hidden column B: amount, 60 mg",)),
        (AMOUNT, '<c r="B2" t="str"><f>IF(1,"","")</f><v></v></c>', "drug: iron\nhow: by mouth", ()),
        (AMOUNT, '<c r="B2"><f>60*2</f><v>120</v></c>', "drug: iron\namount: 120\nhow: by mouth", ()),
        (AMOUNT, '<c r="B2" t="e"><f>1/0</f><v>#DIV/0!</v></c>', "drug: iron\nhow: by mouth", ("B2: #DIV/0!",)),
        (AMOUNT, AMOUNT.replace(' r="B2"', ""), ALL, ()),
        ("A1:C2", "A1:B2", ALL, ()),
    ],
    ids=["a column of no width", "a formula that says nothing", "a computed formula", "a formula's error", "a cell without its place", "a wrong size"],
)  # fmt: skip
def test_what_other_programs_write_is_read_or_reported(tmp_path, old, new, text, told):
    document = read_one(tmp_path, "t.xlsx", with_parts(book([HEAD, IRON]), {SHEET: (old, new)}))
    assert (document.text, document.hidden) == (text, told)


def test_struck_text_that_cells_share_is_reported(tmp_path):
    kind = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
    changes = {
        SHEET: (AMOUNT, '<c r="B2" t="s"><v>0</v></c>'),
        "[Content_Types].xml": ("</Types>", f'<Override PartName="/xl/sharedStrings.xml" ContentType="{kind}"/></Types>'),
    }  # fmt: skip
    shared = {"xl/sharedStrings.xml": f'<sst xmlns="{SPREADSHEET}"><si>{RUNS}</si></sst>'}
    document = read_one(tmp_path, "t.xlsx", with_parts(book([HEAD, IRON]), changes, shared))
    assert (document.text, document.hidden) == (ALL, ("B2: struck through: 100 mg",))


@pytest.mark.parametrize("hidden", ['hidden="1"', 'ht="0" customHeight="1"'], ids=["hidden", "flat"])
def test_a_hidden_row_is_reported_and_the_others_keep_their_ids(tmp_path, hidden):
    content = book([HEAD, IRON, ["zinc", "15 mg", "old"], ["folate", "400", "now"]])
    changed = with_parts(content, {SHEET: ('<row r="3">', f'<row r="3" {hidden}>')})
    rows = read(tmp_path, changed, "t.xlsx")
    assert [one.id for one in rows] == ["t.xlsx#1", "t.xlsx#3"]
    assert [one.hidden for one in rows] == [(), ("hidden row: zinc, 15 mg, old",)]


def test_a_file_of_hidden_rows_alone_says_so(tmp_path):
    def change(sheet: Any) -> None:
        sheet.row_dimensions[2].hidden = True

    reading = read_path(write(tmp_path, {"t.xlsx": book([HEAD, IRON], change)}), trusted=True)
    assert failures(reading) == {"t.xlsx": "all its text is hidden from readers"}


def test_hidden_sheets_and_sheets_of_a_header_alone_are_reported(tmp_path):
    made = load_workbook(BytesIO(xlsx(Old=[HEAD, IRON], New=[HEAD, IRON], Plan=[["drug", "cost"]])))
    made["Old"].sheet_state = "veryHidden"
    held = BytesIO()
    made.save(held)
    document = read_one(tmp_path, "t.xlsx", held.getvalue())
    assert document.id == "t.xlsx#New#1"
    assert document.hidden == (
        "hidden sheet Old: drug, amount, how, iron, 60 mg, by mouth",
        "no rows below the header: drug, cost",
    )


def merged(*areas: str) -> Callable[[Any], None]:
    return lambda sheet: [sheet.merge_cells(area) for area in areas] and None


def test_a_merged_cell_stands_for_each_row_it_covers_and_once_in_a_row(tmp_path):
    rows = [HEAD, ["iron", "60 mg", "by mouth"], [None, "30 mg", "at night"], ["zinc", "ask first", None]]
    content = book(rows, merged("A2:A3", "B4:C4"))
    assert texts(tmp_path, content, "t.xlsx") == [
        "drug: iron\namount: 60 mg\nhow: by mouth",
        "drug: iron\namount: 30 mg\nhow: at night",
        "drug: zinc\namount: ask first",
    ]


def test_the_only_cell_of_a_sheet_is_no_header(tmp_path):
    content = book([[None, None], ["Call 2222 for the team", None]])
    assert texts(tmp_path, content, "t.xlsx") == ["Call 2222 for the team"]
    assert read(tmp_path, content, "t.xlsx")[0].hidden == ()


def test_a_merged_line_across_a_table_is_said_once(tmp_path):
    content = book([["Ward 4"], HEAD, ["Minerals"], IRON], merged("A1:C1", "A3:C3"))
    rows = read(tmp_path, content, "t.xlsx")
    assert [one.text for one in rows] == ["Minerals", "drug: iron\namount: 60 mg\nhow: by mouth"]
    assert rows[1].title == "Ward 4, row 2"


def test_a_merged_cell_fills_no_column_beyond_the_table(tmp_path):
    areas = '<mergeCells><mergeCell ref="C2:XFD1048576"/></mergeCells>'
    content = with_parts(book([HEAD, IRON]), {SHEET: ("</sheetData>", f"</sheetData>{areas}")})
    assert texts(tmp_path, content, "t.xlsx") == [ALL]


def test_merged_names_stand_over_the_names_below_them(tmp_path):
    rows = [["drug", "amount", None, "how"], [None, "day", "night", None], ["iron", "60", "30", "oral"], ["zinc", "15", "9", "oral"]]  # fmt: skip
    content = book(rows, merged("A1:A2", "B1:C1", "D1:D2"))
    assert texts(tmp_path, content, "t.xlsx")[1] == "drug: zinc\namount day: 15\namount night: 9\nhow: oral"


def test_raised_figures_and_escaped_signs_of_a_cell_are_read_as_they_are_seen(tmp_path):
    def change(sheet: Any) -> None:
        sheet["A2"] = CellRichText("50 × 10", TextBlock(InlineFont(vertAlign="superscript"), "9"), "/L")
        sheet["B2"] = "one_x000D_\ntwo"

    document = read_one(tmp_path, "t.xlsx", book([["count", "lines"], ["", ""]], change))
    assert document.text == "count: 50 × 10⁹/L\nlines: one\r\ntwo"


DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
PARTS = {
    "threadedComments/threadedComment1": (
        '<ThreadedComments><threadedComment ref="B2"><text>since May</text></threadedComment></ThreadedComments>',
        "B2: comment: since May",
    ),
    "drawings/drawing1": (
        f'<d xmlns:a="{DRAWING}"><sp><txBody><a:p><a:r><a:t>Ring</a:t></a:r></a:p><a:p><a:r><a:t>first.</a:t></a:r></a:p></txBody></sp><pic/></d>',
        "text box: Ring first.",
    ),
}  # fmt: skip


def test_text_boxes_pictures_and_conversations_are_reported(tmp_path):
    legacy = (
        f'<comments xmlns="{SPREADSHEET}"><comment ref="B2"><text><t>[Threaded comment]</t></text></comment></comments>'
    )
    parts = {**{name: part for name, (part, _) in PARTS.items()}, "comments1": legacy}
    relations = "".join(
        f'<Relationship Id="r{number}" Type="any" Target="../{name}.xml"/>' for number, name in enumerate(parts)
    )
    space = "http://schemas.openxmlformats.org/package/2006/relationships"
    added = {f"xl/{name}.xml": part for name, part in parts.items()}
    added["xl/worksheets/_rels/sheet1.xml.rels"] = f'<Relationships xmlns="{space}">{relations}</Relationships>'
    document = read_one(tmp_path, "t.xlsx", with_parts(book([HEAD, IRON]), {}, added))
    assert set(document.hidden) == {"pictures (1)", *(told for _, told in PARTS.values())}


def test_a_row_with_an_id_that_is_too_long_leaves_those_above_it(tmp_path):
    reading = read_path(write(tmp_path, {"t.csv": f"id,note\na,one\nb,two\n{'c' * 600},three\n"}))
    assert [one.id for one in reading.documents] == ["t.csv#a", "t.csv#b"]
    assert "longer than 500 characters" in failures(reading)["t.csv"]
