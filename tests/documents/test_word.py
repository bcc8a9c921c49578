"""Every element of Word's usual vocabulary is read or reported."""

import pytest
from helpers.source_files import read_one, word, words


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
    "a letter that marks a note": (run("The dose") + run("a", RAISED) + run(" is"), "The dose^a is"),
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
    body = paragraph(run("Give 2 g."), f'<w:r><w:{kind}Reference w:id="2"/></w:r>', run("Then wait.")) + paragraph(
        run("The end.")
    )
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


def level(at: int, form: str, text: str, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{at}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/></w:lvl>'
    )


def lists(levels: str, *more: str) -> str:
    """Lists 1 and 2 that count together, and more."""
    num = '<w:num w:numId="{}"><w:abstractNumId w:val="7"/>{}</w:num>'
    abstract = f'<w:abstractNum w:abstractNumId="7">{levels}</w:abstractNum>'
    return abstract + num.format(1, "") + num.format(2, "".join(more))


def item(text: str, at: int = 0, number: str = "1", more: str = "", mark: str = "") -> str:
    place = f'<w:numPr><w:ilvl w:val="{at}"/><w:numId w:val="{number}"/></w:numPr>'
    return paragraph(run(text) if text else "", more, properties=f"{place}<w:rPr>{mark}</w:rPr>")


def style(name: str, inside: str, based_on: str = "", kind: str = "paragraph", more: str = "") -> str:
    based = f'<w:basedOn w:val="{based_on}"/>' if based_on else ""
    return f'<w:style w:type="{kind}" w:styleId="{name}" {more}><w:name w:val="{name}"/>{based}{inside}</w:style>'


STEPS = level(0, "decimal", "%1.") + level(1, "lowerLetter", "(%2)")
OUTLINE = level(0, "upperRoman", "%1") + level(1, "decimal", "%1.%2") + level(2, "decimal", "%1.%2.%3", "<w:isLgl/>")
RESTART = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="{}"/></w:lvlOverride>'
NUMBERED = {
    "a list goes on below a paragraph": (
        lists(STEPS), item("a") + item("b") + paragraph(run("Go to 3.")) + item("c"), ["1. a", "2. b", "Go to 3.", "3. c"],
    ),
    "two lists of one definition count together": (
        lists(STEPS), item("a") + item("b", number="2") + item("c"), ["1. a", "2. b", "3. c"],
    ),
    "a list begins anew once, at its number": (
        lists(STEPS, RESTART.format(4)),
        item("a") + item("b", number="2") + item("c", number="2") + item("d"), ["1. a", "4. b", "5. c", "6. d"],
    ),
    "letters begin anew below the next figure": (
        lists(STEPS), item("a") + item("b", 1) + item("c", 1) + item("d") + item("e", 1),
        ["1. a", "(a) b", "(b) c", "2. d", "(a) e"],
    ),
    "letters that never begin anew": (
        lists(level(0, "decimal", "%1.") + level(1, "lowerLetter", "%2)", '<w:lvlRestart w:val="0"/>')),
        item("a") + item("b", 1) + item("c") + item("d", 1), ["1. a", "a) b", "2. c", "b) d"],
    ),
    "levels within levels, in figures where the law wants them": (
        lists(OUTLINE), item("a") + item("b", 1) + item("c") + item("d", 1) + item("e", 2),
        ["I a", "I.1 b", "II c", "II.1 d", "2.1.1 e"],
    ),
    "a level that is left out counts as begun": (lists(OUTLINE), item("a", 2) + item("b"), ["1.1.1 a", "II b"]),
    "after z comes aa, then bb": (
        lists(level(0, "upperLetter", "%1)")), "".join(item("x") for _ in range(28)),
        [f"{one} x" for one in [*(f"{chr(65 + at)})" for at in range(26)), "AA)", "BB)"]],
    ),
    "two figures": (lists(level(0, "decimalZero", "Step %1:")), item("a"), ["Step 01: a"]),
    "words without a number": (lists(level(0, "none", "Step")), item("a"), ["Step a"]),
    "bullets, between which figures begin anew": (
        lists(level(0, "bullet", "•") + level(1, "lowerRoman", "%2.")),
        item("a") + item("b", 1) + item("c", 1) + item("d") + item("e", 1), ["a", "i. b", "ii. c", "d", "i. e"],
    ),
    "two items of which one became": (
        lists(STEPS), item("a") + item("Call ", mark="<w:del/>") + item("for help.") + item("c"),
        ["1. a", "2. Call for help.", "3. c"],
    ),
    "a level written otherwise in one list": (
        lists(STEPS, f'<w:lvlOverride w:ilvl="0">{level(0, "lowerRoman", "%1)")}</w:lvlOverride>'),
        item("a") + item("b", number="2"), ["1. a", "ii) b"],
    ),
    "what is out of the list, and what is not there": (
        lists(STEPS),
        item("a") + item("b", number="0") + item("c", number="9") + item("", mark="<w:del/>")
        + item("", mark="<w:vanish/>") + item("d"), ["1. a", "b", "c", "2. d"],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("numbering", "body", "expected"), NUMBERED.values(), ids=NUMBERED)
def test_numbers_are_those_that_word_shows(tmp_path, numbering, body, expected):
    document = read_one(tmp_path, "ward.docx", word(body, {"numbering": numbering}))
    assert [line for line in document.text.splitlines() if line] == expected
    assert document.hidden == ()


def test_headings_are_numbered_by_their_styles(tmp_path):
    levels = "".join(
        level(at, "decimal", text, f'<w:pStyle w:val="{name}"/>') for at, name, text in [(0, "H1", "%1"), (1, "H2", "%1.%2")]
    )  # fmt: skip
    number = '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>'
    styles = style("H1", number).replace('name w:val="H1"', 'name w:val="heading 1"')
    styles += style("H2", "", "H1").replace('name w:val="H2"', 'name w:val="heading 2"')
    heads = [("Bleeding", "H1"), ("At once", "H2"), ("Later", "H2"), ("Fits", "H1"), ("At once", "H2")]
    body = "".join(paragraph(run(text), properties=f'<w:pStyle w:val="{name}"/>') for text, name in heads)
    document = read_one(tmp_path, "ward.docx", word(body, {"styles": styles, "numbering": lists(levels)}))
    lines = [line for line in document.text.splitlines() if line]
    assert lines == ["# 1 Bleeding", "## 1.1 At once", "## 1.2 Later", "# 2 Fits", "## 2.1 At once"]
    assert document.title == "1 Bleeding"


def test_a_list_takes_its_levels_from_a_style_of_lists(tmp_path):
    link = '<w:abstractNum w:abstractNumId="8"><w:numStyleLink w:val="L"/></w:abstractNum>'
    num = '<w:num w:numId="3"><w:abstractNumId w:val="8"/></w:num>'
    styles = style("L", '<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>', kind="numbering")
    parts = {"styles": styles, "numbering": link + lists(level(0, "upperRoman", "%1)")) + num}
    document = read_one(tmp_path, "ward.docx", word(item("a") + item("b", number="3"), parts))
    assert [line for line in document.text.splitlines() if line] == ["I) a", "II) b"]


def test_items_without_text_and_numbers_of_another_form_are_reported(tmp_path):
    struck = paragraph(run("b", "<w:strike/>"), properties='<w:numPr><w:numId w:val="1"/></w:numPr>')
    body = item("a") + struck + item("", more=f"<w:r>{PICTURE}</w:r>") + item("d")
    document = read_one(tmp_path, "ward.docx", word(body, {"numbering": lists(level(0, "ordinal", "%1)"))}))
    assert "4) d" in document.text
    assert document.hidden == (
        "struck through: b", "pictures (1)", "an item without text: 2)", "an item without text: 3)",
        "numbers of another form, read as figures: ordinal",
    )  # fmt: skip


STRUCK = "<w:rPr><w:strike/></w:rPr>"
STYLES = (
    style("Usual", "", more='w:default="1"')
    + style("Old", STRUCK)
    + style("Older", "", "Old")
    + style("Kept", '<w:rPr><w:strike w:val="0"/></w:rPr>', "Old")
    + style("Secret", "<w:rPr><w:vanish/></w:rPr>", kind="character")
    + style("Crossed", STRUCK, kind="character")
    + style("Twice", "<w:rPr><w:dstrike/></w:rPr>", "Round", kind="character")
    + style("Round", "", "Twice", kind="character")
)
LOOKS = {  # style of the paragraph, of the run, its own -> what is reported
    "nothing": ("", "", "", ""),
    "a struck paragraph": ("Old", "", "", "struck through"),
    "a style based on it": ("Older", "", "", "struck through"),
    "a style that takes it back": ("Kept", "", "", ""),
    "a hidden run": ("", "Secret", "", "hidden"),
    "styles based on each other": ("", "Round", "", "struck through"),
    "a toggle that is set twice is off": ("Old", "Crossed", "", ""),
    "formatting of its own goes before": ("Old", "", '<w:strike w:val="0"/>', ""),
    "a style that is not there": ("None", "None", "", ""),
}


@pytest.mark.parametrize(("around", "own", "direct", "told"), LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("place", ["body", "note"])
def test_a_style_hides_and_strikes_as_formatting_does(tmp_path, around, own, direct, told, place):
    inside = paragraph(
        run("Give 10 mg.", f'<w:rStyle w:val="{own}"/>{direct}'), properties=f'<w:pStyle w:val="{around}"/>'
    )
    parts = {"styles": STYLES, "footnotes": f'<w:footnote w:id="2">{inside}</w:footnote>'}
    noted = paragraph(run("Rest."), '<w:r><w:footnoteReference w:id="2"/></w:r>')
    document = read_one(
        tmp_path, "ward.docx", word(noted if place == "note" else inside + paragraph(run("Rest.")), parts)
    )
    assert ("10 mg" in document.text) == (not told)
    assert document.hidden == ((f"{told}: Give 10 mg.",) if told else ())


def test_the_style_of_a_table_strikes_what_is_in_it(tmp_path):
    inside = f"<w:tr><w:tc>{paragraph(run('Give 10 mg.'))}</w:tc></w:tr>"
    table = f'<w:tbl><w:tblPr><w:tblStyle w:val="Gone"/></w:tblPr>{inside}</w:tbl>' + paragraph(run("Rest."))
    document = read_one(tmp_path, "ward.docx", word(table, {"styles": style("Gone", STRUCK, kind="table")}))
    assert (words(document), document.hidden) == ("Rest.", ("struck through: Give 10 mg.",))


@pytest.mark.parametrize(
    ("direct", "expected"),
    [
        ('<w:position w:val="8"/>', "10⁹ per litre"),  # as LibreOffice writes pages of the web
        ('<w:rStyle w:val="Up"/>', "10⁹ per litre"),
        ('<w:rStyle w:val="Upper"/>', "10⁹ per litre"),
        ('<w:rStyle w:val="Up"/><w:vertAlign w:val="baseline"/>', "109 per litre"),
        ('<w:position w:val="-8"/>', "109 per litre"),
        ('<w:position w:val="2"/>', "109 per litre"),  # one point
    ],
)
def test_a_figure_is_raised_by_a_style_or_by_its_place(tmp_path, direct, expected):
    up = style("Up", '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>', kind="character")
    styles = up + style("Upper", "", "Up", kind="character")
    body = paragraph(run("10"), run("9", direct), run(" per litre"))
    assert words(read_one(tmp_path, "ward.docx", word(body, {"styles": styles}))) == expected


def test_a_note_whose_mark_is_raised_is_apart_from_the_words(tmp_path):
    raised = '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteReference w:id="2"/></w:r>'
    notes = f'<w:footnote w:id="2">{paragraph(run("Not 5 mg."))}</w:footnote>'
    document = read_one(tmp_path, "ward.docx", word(paragraph(run("Rest"), raised, run("now.")), {"footnotes": notes}))
    assert words(document) == "Rest (Not 5 mg.) now."


def test_what_the_whole_document_hides_is_reported(tmp_path):
    hidden = "<w:docDefaults><w:rPrDefault><w:rPr><w:vanish/></w:rPr></w:rPrDefault></w:docDefaults>"
    body = paragraph(run("Draft."), run("Rest.", '<w:vanish w:val="0"/>'))
    document = read_one(tmp_path, "ward.docx", word(body, {"styles": hidden}))
    assert (words(document), document.hidden) == ("Rest.", ("hidden: Draft.",))


ENTRIES = "".join(f'<w:listEntry w:val="{text}"/>' for text in ("Ward 4", "Ward 5", "Ward 6"))
FIELD = '<w:r><w:fldChar w:fldCharType="{}">{}</w:fldChar></w:r>'
ASKS = "<w:r><w:instrText> FORMDROPDOWN </w:instrText></w:r>"


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [('<w:result w:val="2"/><w:default w:val="1"/>', "6"), ('<w:default w:val="1"/>', "5"), ("", "4")],
)
def test_a_field_shows_what_was_chosen(tmp_path, chosen, expected):
    data = f"<w:ffData><w:ddList>{chosen}{ENTRIES}</w:ddList></w:ffData>"
    body = paragraph(run("Go to "), FIELD.format("begin", data), ASKS, FIELD.format("end", ""), run("."))
    assert words(read_one(tmp_path, "ward.docx", word(body))) == f"Go to Ward {expected}."


def test_a_control_shows_what_was_chosen(tmp_path):
    entries = '<w:dropDownList><w:listItem w:value="4" w:displayText="Ward 4"/></w:dropDownList>'
    body = paragraph(f"<w:sdt><w:sdtPr>{entries}</w:sdtPr><w:sdtContent>{run('Ward 4')}</w:sdtContent></w:sdt>")
    assert words(read_one(tmp_path, "ward.docx", word(body))) == "Ward 4"


def test_a_picture_beside_a_text_box_is_reported(tmp_path):
    both = f"<w:drawing><wp:inline><wps:txbx>{BOX}</wps:txbx><a:blip/></wp:inline></w:drawing>"
    document = read_one(tmp_path, "ward.docx", word(paragraph(f"<w:r>{both}</w:r>")))
    assert (words(document), document.hidden) == ("Ring the ward.", ("pictures (1)",))
