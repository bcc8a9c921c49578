"""Pieces of text on the pages of a PDF are put together by where they stand and how large they are."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import pytest
from helpers.source_files import failures, pdf, read_one, words, write
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, StreamObject

from rag_core.indexing import read_path

BY_CHROMIUM = Path(__file__).parent / "pdf" / "chromium.pdf"


def pages(*streams: str) -> bytes:
    """Pages with these operators; the fonts are F1, in Latin letters, F2, whose glyphs have numbers only, and two with maps."""
    writer = PdfWriter()
    descendant = {"/Type": "/Font", "/Subtype": "/CIDFontType2", "/BaseFont": "/Numbered"}
    numbered = {"/Type": "/Font", "/Subtype": "/Type0", "/BaseFont": "/Numbered", "/Encoding": "/Identity-H"}
    for stream in streams:
        writer.append(BytesIO(pdf()))
        font = dictionary(numbered)
        font[NameObject("/DescendantFonts")] = ArrayObject([dictionary(descendant)])
        page = writer.pages[-1]
        resources = page["/Resources"].get_object()
        fonts = resources["/Font"].get_object()
        fonts[NameObject("/F2")] = font
        for name, first in (("/F3", 0xF0B7), ("/F4", 0x5D0)):
            fonts[NameObject(name)] = mapped(first)
        forms = {NameObject(name): writer._add_object(form(at(72, 100, "Rest."), fonts)) for name in ("/X1", "/X2")}
        resources[NameObject("/XObject")] = DictionaryObject(forms)
        content = StreamObject()
        content.set_data(stream.encode("cp1252"))
        page[NameObject("/Contents")] = content
    writer.write(content := BytesIO())
    return content.getvalue()


def mapped(first: int) -> DictionaryObject:
    """A font whose glyphs 1 to 4 are four signs, by its map."""
    stream = StreamObject()
    stream.set_data(f"1 beginbfrange <01> <04> <{first:04X}> endbfrange".encode())
    font = dictionary({"/Type": "/Font", "/Subtype": "/TrueType", "/BaseFont": "/Mapped"})
    font[NameObject("/ToUnicode")] = stream
    return font


def form(drawn: str, fonts: DictionaryObject) -> StreamObject:
    made = StreamObject()
    made.set_data(drawn.encode())
    made.update(dictionary({"/Type": "/XObject", "/Subtype": "/Form"}))
    made[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    return made


def dictionary(entries: dict[str, str]) -> DictionaryObject:
    return DictionaryObject({NameObject(name): NameObject(value) for name, value in entries.items()})


def at(x: float, y: float, text: str, size: float = 12) -> str:
    """Operators that draw this text."""
    return f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n"


def raised(before: str, figure: str, after: str, by: float = 5, size: float = 7) -> str:
    """Operators that draw a line with a figure off its baseline."""
    drawn = f"/F1 12 Tf ({before}) Tj /F1 {size} Tf {by} Ts ({figure}) Tj 0 Ts /F1 12 Tf ({after}) Tj"
    return f"BT 72 700 Td {drawn} ET\n"


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        (raised("Give 500", "2", " mg."), "Give 500 ² mg."),
        (raised("paracetamol", "12", " is"), "paracetamol ¹² is"),
        (raised("below 50 x 10", "9", " per litre"), "below 50 x 10⁹ per litre"),
        (raised("below 50 x 10", "9", "per litre"), "below 50 x 10⁹ per litre"),
        (raised("35 kg/m", "2", "."), "35 kg/m²."),
        (raised("3 cm", "2", "."), "3 cm²."),
        (raised("On the 1", "st", " day"), "On the 1st day"),
        (raised("The dose", "a", " is"), "The dose ^a is"),
        (raised("La 1", "a", " dosis"), "La 1a dosis"),
        (raised("CO", "2", " and O", by=-2), "CO2 and O"),
        (raised("Up to 10", "9", " mg", by=0), "Up to 109 mg"),  # on the line
        (raised("Up to 10", "9", " mg", size=12), "Up to 109 mg"),  # as large
        (raised("Give 500", "2", " mg.", by=7, size=6), "Give 500 ² mg."),  # where pypdf sees another line
        (raised("CO", "2", "is", by=-3, size=3), "CO2is"),
    ],
)
def test_a_small_figure_off_the_baseline_is_no_digit_of_the_number_before_it(tmp_path, drawn, read):
    assert words(read_one(tmp_path, "a.pdf", pages(drawn))) == read


def test_a_figure_is_raised_by_its_place_as_well(tmp_path):
    drawn = at(72, 700, "below 50 x 10") + at(144, 706, "9", 6) + at(149, 700, " per litre")
    assert words(read_one(tmp_path, "a.pdf", pages(drawn))) == "below 50 x 10⁹ per litre"


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        (at(72, 700, "Do not.") + at(72.4, 700, "Do not."), "Do not."),
        (at(72, 700, "Do not.") + at(72, 680, "Wait.") + at(72.4, 700, "Do not."), "Do not. Wait."),
        (at(72, 700, "Do not.") + at(72.9, 699.1, "Do not."), "Do not."),  # a shadow
        (at(72, 700, "Do not.") + at(72, 686, "Do not."), "Do not. Do not."),
        (at(72, 700, "ha") + at(86, 700, "ha"), "haha"),
        ("BT /F1 12 Tf 72 700 Td (ha) Tj (ha) Tj ET", "haha"),
        (at(72, 700, "i") + at(74.7, 700, "l") + at(77.4, 700, "l"), "ill"),
        ("".join(at(72 + 8 * i + d, 700, c) for i, c in enumerate("IN ALL") for d in (0, 0.4)), "IN ALL"),
    ],
)
def test_a_text_drawn_again_in_its_place_is_read_once(tmp_path, drawn, read):
    assert words(read_one(tmp_path, "a.pdf", pages(drawn))) == read


def one_by_one(text: str, places: Sequence[float]) -> str:
    return "".join(at(x, 700, sign) for x, sign in zip(places, text, strict=True))


@pytest.mark.parametrize(
    ("drawn", "read"),
    [
        (one_by_one("ab20 mg", (72, 79, 91, 98, 105, 109, 119)), "ab 20 mg"),  # cells near each other
        (one_by_one("MAXI 8", range(72, 120, 8)), "MAXI 8"),  # one is narrow
        (one_by_one("TAXI 8", range(72, 162, 15)), "TAXI 8"),  # spaced
    ],
)
def test_letters_drawn_one_by_one_are_words(tmp_path, drawn, read):
    assert words(read_one(tmp_path, "a.pdf", pages(drawn))) == read


def framed(number: int, *lines: str, of: int = 2) -> str:
    """A page with these lines between a header and a footer."""
    body = "".join(at(72, 740 - 14 * row, line) for row, line in enumerate(lines))
    return at(72, 780, "Maple ward 12", 8) + body + at(72, 40, f"page {number} of {of}", 8)


def test_a_sentence_goes_on_over_a_page_without_what_stands_at_its_edges(tmp_path):
    content = pages(framed(1, "Rest.", "You should not"), framed(2, "take ibuprofen.", "Drink."))
    document = read_one(tmp_path, "a.pdf", content)
    assert document.text == "Rest.\nYou should not\ntake ibuprofen.\nDrink."
    assert set(document.hidden) == {"header or footer: Maple ward 12", "header or footer: page 1 of 2"}


def test_two_pages_that_a_number_counts_are_enough_for_the_header_of_a_chapter(tmp_path):
    drawn = [framed(number, "Rest.", of=9) for number in (1, 2)] + [at(72, 740, "Walk.")] * 3
    assert (
        words(read_one(tmp_path, "a.pdf", pages(*drawn))) == "Maple ward 12 Rest. Maple ward 12 Rest. Walk. Walk. Walk."
    )


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        (at(72, 700, "Rest."), at(72, 700, "Drink."), "Rest.\n\nDrink."),
        (at(72, 700, "Call the anaesthe-"), at(72, 700, "tist."), "Call the anaesthetist."),
        (at(72, 700, "She has"), at(72, 700, "Anti-D."), "She has\nAnti-D."),
        (at(72, 700, "Iron"), at(72, 700, "Doses", 16), "Iron\n\nDoses"),
        (
            at(72, 700, "You should not") + at(72, 60, "Unless told.", 8),
            at(72, 700, "take it."),
            "You should not\ntake it.\nUnless told.",
        ),
    ],
)
def test_pages_are_parted_where_a_sentence_ends(tmp_path, first, second, read):
    assert read_one(tmp_path, "a.pdf", pages(first, second)).text == read


@pytest.mark.parametrize(
    "lines",
    [
        [("Dose 5 mg", 780, 12), ("Dose 10 mg", 780, 12)],  # the number does not count with the pages
        [("Iron", 780, 18), ("Iron", 780, 18)],  # larger than the text
        [("Iron", 754, 12), ("Iron", 754, 12)],  # not apart from it
        [("Iron", 780, 12), ("Iron", 770, 12)],  # elsewhere
    ],
)
def test_what_begins_pages_alike_is_not_always_a_header(tmp_path, lines):
    bodies = [at(72, 740, "Rest.") + at(72, 700, "Drink."), at(72, 740, "Sleep.") + at(72, 690, "Walk.")]
    drawn = [at(72, y, said, size) + body for (said, y, size), body in zip(lines, bodies, strict=True)]
    document = read_one(tmp_path, "a.pdf", pages(*drawn))
    assert words(document) == f"{lines[0][0]} Rest. Drink. {lines[1][0]} Sleep. Walk."
    assert document.hidden == ()


def test_text_in_a_font_without_letters_is_reported_and_not_read(tmp_path):
    numbered = "BT /F2 12 Tf 72 600 Td <002A004C00590048> Tj ET\n"  # "Give", 29 lower
    document = read_one(tmp_path, "a.pdf", pages(at(72, 700, "Rest.") + numbered))
    assert words(document) == "Rest."
    assert document.hidden == ("page 1: text whose letters the file does not tell",)


def test_a_file_of_nothing_else_is_refused_with_the_way_out(tmp_path):
    content = pages("BT /F2 12 Tf 72 600 Td <002A004C00590048> Tj ET")
    reading = read_path(write(tmp_path, {"a.pdf": content}), trusted=True)
    assert failures(reading) == {
        "a.pdf": "its fonts do not tell which letters they draw; run text recognition (OCR) on it"
    }


def test_what_a_browser_prints_is_read_as_it_is_seen(tmp_path):
    document = read_one(tmp_path, "a.pdf", BY_CHROMIUM.read_bytes())
    assert words(document) == (
        "Give 500 ² mg of paracetamol ¹. Platelets below 50 × 10⁹ per litre; SpO2 under 92 %. "
        "Up to 35 kg/m². Wait 30 minutes. In pregnancy you should not take ibuprofen for pain, unless a "
        "doctor says so. Rest helps too."
    )
    assert len(document.hidden) == 2


def test_lines_of_private_signs_are_reported_and_a_bullet_is_not(tmp_path):
    bullet, private = "<01>", "<020304>"
    content = pages(
        at(72, 700, "Rest.") + f"BT /F3 12 Tf 72 600 Td {bullet} Tj /F1 12 Tf ( Drink.) Tj ET "
        f"BT /F3 12 Tf 72 500 Td {private} Tj ET"
    )
    document = read_one(tmp_path, "a.pdf", content)
    assert words(document) == "Rest. \uf0b7 Drink."
    assert document.hidden == ("page 1: text whose letters the file does not tell",)


def test_two_forms_that_say_the_same_are_both_read(tmp_path):
    drawn = "q 1 0 0 1 0 300 cm /X1 Do Q q /X2 Do Q " + at(72, 100, "Rest.")
    assert words(read_one(tmp_path, "a.pdf", pages(drawn))) == "Rest. Rest. Rest."


def test_hebrew_is_in_the_order_that_pypdf_gives_it(tmp_path):
    drawn = "BT /F4 12 Tf 1 0 0 1 72 700 Tm <0102> Tj 1 0 0 1 84 700 Tm <0304> Tj ET"
    assert words(read_one(tmp_path, "a.pdf", pages(drawn))) == "\u05d3\u05d2\u05d1\u05d0"


def test_of_a_broken_page_all_is_read_that_can_be(tmp_path):
    assert words(read_one(tmp_path, "a.pdf", pages("/Odd Ts " + at(72, 700, "Rest.")))) == "Rest."
