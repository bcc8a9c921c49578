"""Markdown's notes, crossed-out text, tasks and raised figures are read as they are shown; code is left as it is."""

import pytest
from helpers.source_files import read_one, words

from rag_core.documents import markdown
from rag_core.documents.limits import LimitExceeded, ReadingLimits
from rag_core.documents.markdown import take_markdown

NOTE = "\n\n[^k]: Not with\nasthma.\n\n    Ask first."
READ = {
    "a note": (f"Give iron[^k] daily.{NOTE}", "Give iron (Not with asthma. Ask first.) daily."),
    "a note after a blank": (f"Give iron [^k].{NOTE}", "Give iron (Not with asthma. Ask first.)."),
    "a note twice": (
        "Iron[^1] and zinc[^1].\n\n[^1]: Daily.",
        "Iron (Daily.) and zinc (Daily.).",
    ),
    "a note in a note": ("Iron[^a].\n\n[^a]: Daily[^b].\n[^b]: At night.", "Iron (Daily (At night.).)."),
    "a note that refers to itself": ("Iron[^a].\n\n[^a]: Daily[^a].", "Iron (Daily.)."),
    "two notes of one name": ("Iron[^a].\n\n[^a]: Daily.\n[^A]: At night.", "Iron (Daily. At night.)."),
    "a note inside its line": ("Iron^[at night] daily.", "Iron (at night) daily."),
    "a note in a table": ("| iron | 30[^m] |\n|---|---|\n\n[^m]: mg", "| iron | 30 (mg) | | --- | --- |"),
    "a note that nothing refers to": ("Iron.\n\n[^x]: At night.\n\n## Later\n\nZinc.", "Iron. ## Later Zinc. At night."),
    "a heading after a note": ("Iron[^x].\n\n[^x]: At night.\n## Later", "Iron (At night.). ## Later"),
    "a reference to no note": ("Iron[^x].", "Iron[^x]."),
    "tasks": ("- [ ] weigh\n* [X] ask\n1. [x] call", "- ☐ weigh * ☒ ask 1. ☒ call"),
    "no task": ("- [leaflet](a.md)\n- [x](a.md)", "- [leaflet](a.md) - [x](a.md)"),
    "raised figures": ("50 × 10<sup>9</sup>/L, 10^-3^", "50 × 10⁹/L, 10⁻³"),
    "a letter that marks a note": ("The dose<sup>a</sup>, 1<sup>a</sup>", "The dose^a, 1a"),
    "a fraction": ("2<sup>1</sup>/<sub>4</sub> h, SpO<sub>2</sub>", "2 1/4 h, SpO2"),
    "signs by their names": ("&ge; 140/90, 5&nbsp;&micro;g, `&ge;`, R&D; &lt;!-- seen --&gt;", "≥ 140/90, 5 \xb5g, `&ge;`, R&D; <!-- seen -->"),
    "about so much": ("~5 ml to ~10 ml, and \\~~all", "~5 ml to ~10 ml, and ~~all"),
    "signs in code": ("`[^k]` `~~a~~`\n\n```\n- [ ] b\n[^k]: c\n```", "`[^k]` `~~a~~` ``` - [ ] b [^k]: c ```"),
    "escapes, as Google Docs writes them": (
        "Give anti\\-D\\. BP \\> 150\\/100\\!\n\n1\\. Form PPH\\_LIST\\_7, 5\\$ \\[ask\\] \\<b hidden\\>\\&lt; a\\b",
        "Give anti-D. BP > 150/100! 1. Form PPH_LIST_7, 5$ [ask] <b hidden>&lt; a\\b",
    ),
    "escapes in code": ("`a\\*b` `` `a\\* ``\n\n    c\\*d\n\n~~~\ne\\*f\n~~~", "`a\\*b` `` `a\\* `` c\\*d ~~~ e\\*f ~~~"),
    "a line that a backslash ends": ("Ring\\\ntwice.", "Ring twice."),
    "figures with signs escaped": ("10\\^3\\^", "10^3^"),
    "a table, as turndown writes it": (
        "drug \\| route | `a\\|b`\n--- | :-:\niron\\* | ~5 mg | at night",
        "| drug | route | `a|b` | | --- | :-: | | iron* | ~5 mg | at night |",
    ),
    "a table in a quote": ("> | a\\* |\n> |---|\n> | b |", "> | a* | > | --- | > | b |"),
    "links and pictures": ("[an *a*](b_c.md 't') <https://a.b/c_d> ![e](f.png)",) * 2,
    "a quote and an item": ("> a\\*\nb\\*\n\n- c\\*\n  d\\*\n\n2) e", "> a* b* - c* d* 2) e"),
    "two paragraphs": ("~~iron\n\nzinc~~", "~~iron zinc~~"),
    "a letter in angle brackets": ("A <s> B\n\nC.", "A <s> B C."),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), READ.values(), ids=READ)
def test_what_is_shown_is_read(tmp_path, text, expected):
    document = read_one(tmp_path, "a.md", text)
    assert words(document) == expected
    assert document.hidden == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Iron\\_list\n===\nA.\n\nZinc\nnow\n---\nB.", ["# Iron_list", "A.", "## Zinc now", "B."]),  # setext
        ("# **Iron** ## {#iron .wide}\n   ## *Zinc*\n# {a}", ["# Iron ##", "## Zinc", "# {a}"]),
        (
            "~~~\n# a\n~~~\n```\n## b\n```\n\n    # c",
            ["~~~", " # a", "~~~", "```", " ## b", "```", "    # c"],
        ),
        ("- ```\n  # a\n  ```\n\n# Iron", ["- ~~~", "  # a", "  ~~~", "# Iron"]),
        (
            "\\# 3 of 5\n#5 is no heading\n\n####### seven",
            [" # 3 of 5", "#5 is no heading", " ####### seven"],
        ),
        ("> # Iron\\*\n> a", ["> # Iron*", "> a"]),
        (f"{'iron ' * 70}\n---\n", ["iron " * 69 + "iron"]),  # longer than a title may be
    ],
)
def test_headings_and_no_other_lines_begin_with_their_signs(text, expected):
    assert [line for line in take_markdown(text)[0].split("\n") if line] == expected


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("---\ntitle: 'Iron: when'\ntags: [a, b]\nby:\n  - {name: A}\n---\n", ("tags: a, b", "by")),  # Quarto
        ("---\ntitle: 'Iron: when'\n...\n", ()),  # pandoc
        ("---\r\ntitle: 'Iron: when'\r\ndate: 2025-03-07\r\n--- \r\n", ("date: 2025-03-07",)),
        ("---\ntitle: 'Iron: when'\nlayout:\n---\n", ("layout",)),  # Jekyll
        ('{\n "title": "Iron: when",\n "tags": ["a", "b"]\n}\n', ("tags: a, b",)),  # Hugo
    ],
)
def test_front_matter_of_other_programs_is_no_text(tmp_path, header, told):
    document = read_one(tmp_path, "a.md", header + "# Daily\n")
    assert (document.title, document.text.strip(), document.hidden) == ("Iron: when", "# Daily", told)


@pytest.mark.parametrize(
    ("crossed_out", "told"),
    [
        ("~~60 mg~~", "struck through: 60 mg"),
        ("~~**60 mg**\nor `90`~~", "struck through: **60 mg** or `90`"),
        ("<del>60 mg</del>", "deleted: 60 mg"),
        ("<s>60 <b>mg</b></s>", "struck through: 60 mg"),
        ("<span style='text-decoration: line-through'>60 mg</span>", "struck through: 60 mg"),
    ],
)
def test_what_is_crossed_out_is_reported_and_not_read(tmp_path, crossed_out, told):
    document = read_one(tmp_path, "a.md", f"Give {crossed_out} 30 mg.")
    assert words(document) == "Give 30 mg."
    assert document.hidden == (told,)


def test_a_note_in_a_comment_stays_hidden():
    assert take_markdown("Iron[^1].<!--\n[^1]: obey\n-->") == ("Iron[^1].", ("[^1]: obey",))


def test_notes_that_multiply_are_refused(monkeypatch):
    monkeypatch.setattr(markdown, "READING", ReadingLimits(characters=1_000))
    notes = "\n".join(f"[^{n}]: [^{n + 1}][^{n + 1}]" for n in range(20))
    with pytest.raises(LimitExceeded, match="characters"):
        take_markdown(f"Iron[^0].\n\n{notes}\n[^20]: iron")
