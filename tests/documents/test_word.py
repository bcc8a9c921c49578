"""Every element of Word's usual vocabulary is read or reported."""

import pytest
from helpers.source_files import read_one, word, words

TEXT = "<w:r><w:t>{}</w:t></w:r>"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*inside: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{''.join(inside)}</w:p>"


def note(kind: str, text: str) -> str:
    return f'<w:{kind} w:id="-1"/><w:{kind} w:id="2">{paragraph(run(text))}</w:{kind}>'


RAISED, LOWERED = '<w:vertAlign w:val="superscript"/>', '<w:vertAlign w:val="subscript"/>'
HYPHEN, OPTIONAL = "<w:r><w:noBreakHyphen/></w:r>", "<w:r><w:softHyphen/></w:r>"
BOX = f"<w:txbxContent>{paragraph(run('Ring the ward.'))}</w:txbxContent>"
NEW_BOX = f"<w:drawing><wp:inline><a:graphic><wps:wsp><wps:txbx>{BOX}</wps:txbx></wps:wsp></a:graphic></wp:inline></w:drawing>"
OLD_BOX = f"<w:pict><v:shape><v:textbox>{BOX}</v:textbox></v:shape></w:pict>"
PICTURE = "<w:drawing><wp:inline><a:graphic><a:blip/></a:graphic></wp:inline></w:drawing>"
CELL = "<w:tc><w:tcPr>{}</w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"

READ = {
    "a hyphen that keeps its line together": (run("2") + HYPHEN + run("3 tablets"), "2-3 tablets"),
    "an optional hyphen": (run("physio") + OPTIONAL + run("therapy"), "physiotherapy"),
    "raised figures": (run("10 × 10") + run("9", RAISED) + run("/L"), "10 × 10⁹/L"),
    "raised letters": (run("the 1") + run("st", RAISED) + run(" day"), "the 1st day"),
    "a fraction": (run("2") + run("1", RAISED) + run("/") + run("2", LOWERED) + run(" hours"), "2 1/2 hours"),
    "lowered figures": (run("SpO") + run("2", LOWERED), "SpO2"),
    "a sign of a font": ('<w:r><w:sym w:font="Symbol" w:char="F0B3"/></w:r>' + run(" 140"), "≥ 140"),
    "a tab": (run("dose") + "<w:r><w:tab/></w:r>" + run("400 mg"), "dose 400 mg"),
    "a line's end": (run("dose") + "<w:r><w:br/></w:r>" + run("400 mg"), "dose 400 mg"),
    "a line's end of old files": (run("dose") + "<w:r><w:cr/></w:r>" + run("400 mg"), "dose 400 mg"),
    "an insertion": ("<w:ins>" + run("at night") + "</w:ins>", "at night"),
    "a field": ('<w:fldSimple w:instr="DATE">' + run("7 March") + "</w:fldSimple>", "7 March"),
    "a field in parts": (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>REF a</w:instrText></w:r>'
        f'<w:r><w:fldChar w:fldCharType="separate"/></w:r>{run("page 7")}<w:r><w:fldChar w:fldCharType="end"/></w:r>',
        "page 7",
    ),
    "a link": ('<w:hyperlink w:anchor="x">' + run("the leaflet") + "</w:hyperlink>", "the leaflet"),
    "a content control": ("<w:sdt><w:sdtContent>" + run("Ward 4") + "</w:sdtContent></w:sdt>", "Ward 4"),
    "a smart tag": ("<w:smartTag>" + run("Lima") + "</w:smartTag>", "Lima"),
    "writing from the other side": ("<w:bdo>" + run("Ward 5") + "</w:bdo>", "Ward 5"),
    "a word with its reading": (
        f"<w:r><w:ruby><w:rt>{run('mee')}</w:rt><w:rubyBase>{run('me')}</w:rubyBase></w:ruby></w:r>",
        "me",
    ),
    "what is not hidden after all": (run("Rest.", '<w:vanish w:val="0"/><w:strike w:val="false"/>'), "Rest."),
    "a formula": (
        "<m:oMath><m:r><m:t>BMI=</m:t></m:r><m:f><m:num><m:r><m:t>kg</m:t></m:r></m:num>"
        "<m:den><m:sSup><m:e><m:r><m:t>m</m:t></m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath>",
        "BMI=kg/m²",
    ),
    "a root": (
        "<m:oMath><m:rad><m:deg/><m:e><m:r><m:t>a+b</m:t></m:r></m:e></m:rad></m:oMath>",
        "√(a+b)",
    ),
    "a text box in two forms": (
        f"<w:r><mc:AlternateContent><mc:Choice>{NEW_BOX}</mc:Choice><mc:Fallback>{OLD_BOX}</mc:Fallback></mc:AlternateContent></w:r>",
        "Ring the ward.",
    ),
    "a text box in the new form": (f"<w:r>{NEW_BOX}</w:r>", "Ring the ward."),
    "a text box in the old form": (f"<w:r>{OLD_BOX}</w:r>", "Ring the ward."),
    "a sentence that was moved": (
        f"<w:moveFrom>{run('Weigh her.')}</w:moveFrom><w:moveTo>{run('Weigh her.')}</w:moveTo>",
        "Weigh her.",
    ),
}  # fmt: skip
REPORTED = {
    "a deletion": ("<w:del><w:r><w:delText>Give 10 mg.</w:delText></w:r></w:del>", "deleted: Give 10 mg."),
    "struck text": (run("Give 10 mg.", "<w:strike/>"), "struck through: Give 10 mg."),
    "text struck twice": (run("Give 10 mg.", "<w:dstrike/>"), "struck through: Give 10 mg."),
    "hidden text": (run("Give 10 mg.", "<w:vanish/>"), "hidden: Give 10 mg."),
    "a picture": (f"<w:r>{PICTURE}</w:r>", "pictures (1)"),
    "a drawing": ("<w:r><w:drawing/></w:r>", "drawings (1)"),
    "an embedded document": ("<w:altChunk/>", "embedded documents (1)"),
    "a sign that nobody knows": (
        '<w:r><w:sym w:font="Ward" w:char="F041"/></w:r>',
        "A w:sym element with an unsupported character was ignored: char F041 in font Ward",
    ),
    "what no reader knows": (f"<w:unheard>{run('Give 10 mg.')}</w:unheard>", "not understood: Rest. Give 10 mg."),
}  # fmt: skip


@pytest.mark.parametrize(("inside", "expected"), READ.values(), ids=READ)
def test_what_is_seen_is_read_once(tmp_path, inside, expected):
    document = read_one(tmp_path, "ward.docx", word(paragraph(inside)))
    assert words(document) == expected
    assert document.hidden == ()


@pytest.mark.parametrize(("inside", "told"), REPORTED.values(), ids=REPORTED)
def test_what_is_not_read_is_reported(tmp_path, inside, told):
    document = read_one(tmp_path, "ward.docx", word(paragraph(run("Rest. "), inside)))
    assert words(document) == "Rest."
    assert document.hidden == (told,)


@pytest.mark.parametrize(("part", "kind"), [("footnotes", "footnote"), ("endnotes", "endnote")])
def test_a_note_stands_beside_its_sentence(tmp_path, part, kind):
    body = paragraph(
        run("Give 2 g."), f'<w:r><w:{kind}Reference w:id="2"/></w:r>', run("Then wait.")
    ) + paragraph(run("The end."))
    document = read_one(tmp_path, "ward.docx", word(body, {part: note(kind, "Not in asthma.")}))
    assert words(document) == "Give 2 g. (Not in asthma.) Then wait. The end."
    assert document.hidden == ()


@pytest.mark.parametrize(
    ("part", "kind"), [("header1", "header or footer"), ("footer2", "header or footer"), ("comments", "comment")]
)  # fmt: skip
def test_what_stands_outside_the_text_is_reported(tmp_path, part, kind):
    document = read_one(tmp_path, "ward.docx", word(paragraph(run("Rest.")), {part: paragraph(run("Draft"))}))
    assert (words(document), document.hidden) == ("Rest.", (f"{kind}: Draft",))


def test_a_table_with_merged_cells_keeps_every_cell_that_is_not_deleted(tmp_path):
    merged, across = '<w:vMerge w:val="restart"/>', '<w:gridSpan w:val="2"/>'
    rows = (
        CELL.format(across, "Labetalol"),
        CELL.format(merged, "by mouth") + CELL.format("", "100 mg"),
        CELL.format("<w:vMerge/>", "") + CELL.format("", "200 mg"),
        "<w:trPr><w:del/></w:trPr>" + CELL.format("", "800 mg"),
    )
    table = f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in rows)}</w:tbl>"
    document = read_one(tmp_path, "ward.docx", word(table))
    assert words(document) == "Labetalol by mouth | 100 mg by mouth | 200 mg"
    assert document.hidden == ("deleted: 800 mg",)


def test_headings_and_numbered_lists_keep_their_form(tmp_path):
    styles = (
        '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 2"/></w:style>'
    )
    level = '<w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
    numbering = (
        f'<w:abstractNum w:abstractNumId="1">{level}</w:abstractNum>'
        '<w:num w:numId="1"><w:abstractNumId w:val="1"/></w:num>'
    )
    item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    body = (
        paragraph(run("Bleeding"), properties='<w:pStyle w:val="T"/>')
        + paragraph(run("At once"), properties='<w:pStyle w:val="H"/>')
        + paragraph(run("Call for help."), properties=item)
        + paragraph(run("Rub the womb."), properties=item)
    )
    document = read_one(tmp_path, "ward.docx", word(body, {"styles": styles, "numbering": numbering}))
    assert document.title == "Bleeding"
    lines = [line for line in document.text.splitlines() if line]
    assert lines == ["# Bleeding", "## At once", "1. Call for help.", "2. Rub the womb."]
