"""Every element of a web page is read as a browser shows it, or reported."""

import pytest
from helpers.source_files import read_one, words

# label: https://encoding.spec.whatwg.org/#names-and-labels
WINDOWS_1252 = [
    "ansi_x3.4-1968", "ascii", "cp1252", "cp819", "csisolatin1", "ibm819", "iso-8859-1", "iso-ir-100",
    "iso8859-1", "iso88591", "iso_8859-1", "iso_8859-1:1987", "l1", "latin1", "us-ascii", "windows-1252",
    "x-cp1252",
]  # fmt: skip
READ = {
    "an article's own header and footer": (
        "<article><header><p>Ring us first.</p></header><p>Rest.</p><footer>Do not drive.</footer></article>",
        "Ring us first. Rest. Do not drive.",
    ),
    "those of a section and of the main part": (
        "<section><header>Ring us.</header></section><main><div><footer>Do not drive.</footer></div></main>",
        "Ring us. Do not drive.",
    ),
    "every block on its line": (
        "<h5>Dose</h5><figure><figcaption>a</figcaption></figure><table><caption>b</caption></table><pre>c</pre><main>d</main>e",
        "##### Dose a b c d e",
    ),
    "a title in a title": ("<h1>Iron<h3>daily</h3></h1>", "# Iron daily"),
    "raised figures in a heading": ("<h2>Below 50 × 10<sup>9</sup>/L</h2>", "## Below 50 × 10⁹/L"),
    "a letter that marks a note": ("<p>The <b>dose</b><sup>a</sup>, n.<sup>o</sup> 1</p>", "The dose^a, n.o 1"),
    "a raised fraction": ("<p>10<sup>1.5</sup></p>", "10^1.5"),
    "figures raised by a style": ("<p>10<span style='vertical-align: Super'>6</span></p>", "10⁶"),
    "figures raised by a class": (
        "<style>.c1{color:red}.c7,.c8{vertical-align:super}</style><p>10<span class='c1 c8'>6</span></p>",
        "10⁶",
    ),
    "a formula": (
        "<math><msup><mn>10</mn><mn>-3</mn></msup><mo>·</mo><mfrac><mn>3</mn><mn>4</mn></mfrac>"
        "<msqrt><mn>2</mn></msqrt><annotation>10^{-3}</annotation></math>",
        "10⁻³·3/4√(2)",
    ),
    "a word with its reading": ("<ruby>lochia<rp>[</rp><rt>LOH-kee-a</rt><rp>]</rp></ruby>", "lochia (LOH-kee-a)"),
    "a quotation": ("<p>Say <q>push</q> now</p>", "Say “push” now"),
    "what can be opened": ("<details><summary>If it bleeds</summary>Ring us.</details>", "If it bleeds Ring us."),
    "a merged cell": ("<table><tr><td rowspan=2>Iron</td><td>30 mg</td></tr><tr><td>60 mg</td></tr></table>", "Iron | 30 mg Iron | 60 mg"),
    "a table whose tags are not closed": ("<table><tr><td>Iron<td>30 mg<tr><td>Zinc<td>15 mg</table>", "Iron | 30 mg Zinc | 15 mg"),
    "an empty cell whose row is not closed": ("<table><tr><td>Iron<td><i></i><tr><td>Zinc<td>15 mg</table><p>x", "Iron Zinc | 15 mg x"),
    "items that are not closed": ("<ol><li>Call<ol><li>me<li>us</ol><li>Wait</ol>", "1. Call 1. me 2. us 2. Wait"),
    "a table in a table": ("<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td></tr></table>", "a | b | c"),
    "a table that is the layout of a page": ("<table><tr><td><h2>Iron</h2><p>Daily.</p></td><td>News</td></tr></table>", "## Iron Daily. News"),
    "a form": (
        "<input value='30 mg'><input type=hidden value=tok9><input type=submit value=Send><textarea>daily</textarea>",
        "30 mg daily",
    ),
    "a choice": (
        "<select><option>30 mg<option selected>60 mg</select><label><input type=radio checked>iron</label><input type=radio>zinc",
        "☐ 30 mg ☒ 60 mg ☒ iron ☐ zinc",
    ),
    "items without their ends": ("<ol><li value=4>call<li>rub</ol><ul><li>iron<li>zinc</ul>", "4. call 5. rub iron zinc"),
    "labels of a drawing": ("<svg><text>uterus</text><text>cervix</text></svg>", "uterus cervix"),
    "what a style strikes no more": ("<p style='text-decoration:line-through;text-decoration:none'>30 mg</p>", "30 mg"),
    "a list from a number on": ("<ol start=-1><li>a<li>b<li>c</ol>", "-1. a 0. b 1. c"),
    "a list with letters": ("<ol type=a start=25><li>one<li>two<li>three</ol>", "y. one z. two aa. three"),
    "a list with Roman numerals": ("<ol type=I><li value=1994>one</li><li type=i value=9>two</li></ol>", "MCMXCIV. one ix. two"),
    "a list backwards": ("<ol reversed><li>one<ol><li>in it</ol><li>two<li value=9>three<li>four</ol>", "4. one 1. in it 3. two 9. three 8. four"),
    "letters that do not reach": ("<ol type=A start=0><li>one<li>two</ol>", "0. one A. two"),
    "a list that a style counts": ("<ol style='list-style-type: lower-alpha'><li>one<li style='list-style:upper-roman inside'>two</ol>", "a. one II. two"),
    "a list that a class counts": ("<style>.k{list-style-type:none}.k>li:before{content:'' counter(k,lower-latin) '. '}</style><ol class='x k'><li>one<li>two</ol>", "a. one b. two"),
    "boxes, as Notion and Confluence draw them": ("<ul><li class=checked>a<li><div class='checkbox checkbox-off'></div>b<li><span role=checkbox aria-checked=true></span>c</ul>", "☒ a ☐ b ☒ c"),
    "a picture with a tooltip alone": ("<table><tr><td>iron<td><img title=Never src=x><tr><td>zinc<td><a title=Yes></a></table>", "iron | Never zinc | Yes"),
    "a tick, as GitHub Pages writes it": ("<table><tr><td>iron<td><img alt='✅' class=emoji src=x></table>", "iron | ✅"),
    "a cross, by its tooltip": ("<table><tr><td>iron<td><i class='fa fa-times' title=No></i></table>", "iron | No"),
    "a cross, as Font Awesome writes it": ("<table><tr><td>iron</td><td><i class='fa fa-times' aria-label=No></i></td></table>", "iron | No"),
    "a sign, as Bootstrap Icons writes it": ("<ul><li><svg role=img class=bi><title>Never</title><path d=''/></svg></li></ul>", "Never"),
    "a cell with a name": ("<table><tr><td>iron</td><td aria-label=Yes>\n</td></table>", "iron | Yes"),
    "a name beside words": ("<ul><li aria-label='Close'>iron</ul>", "iron"),
    "a picture for decoration": ("<p>Rest.<img alt='' src=line.png></p>", "Rest."),
}  # fmt: skip
REPORTED = {
    "a page's header": ("<header>Ward 4</header>", "page header: Ward 4"),
    "a page's footer": ("<div><footer>Imprint</footer></div>", "page footer: Imprint"),
    "its navigation": ("<nav>Home <a>Beds</a></nav>", "navigation: Home Beds"),
    "a deletion": ("<del>60 mg</del>", "deleted: 60 mg"),
    "struck text": ("<s>60 mg</s>", "struck through: 60 mg"),
    "struck text of old pages": ("<strike>60 mg</strike>", "struck through: 60 mg"),
    "what a style strikes": ("<i style='text-decoration: red line-through'>60 mg</i>", "struck through: 60 mg"),
    "what a class strikes": (
        "<style>p{margin:0}.c3{text-decoration-line:line-through}</style><i class=c3>60 mg</i>",
        "struck through: 60 mg",
    ),
    "a page without scripts": ("<noscript>Turn on scripts</noscript>", "for browsers without scripts: Turn on scripts"),
    "a page in a page": ("<iframe src=x.html></iframe>", "embedded page"),
    "a film": ("<video>Your browser is old</video>", "video: Your browser is old"),
    "a closed dialog": ("<dialog>Give 60 mg</dialog>", "Give 60 mg"),
    "suggestions of a form": ("<datalist><option>60 mg</datalist>", "60 mg"),
    "a picture's description": ("<img alt='a swollen leg'>", "picture: a swollen leg"),
    "a sign": ("<table><tr><td><i class='fa fa-times'></i></table>", "a sign without a description: fa fa-times"),
    "a picture without one": ("<img src=x.png>", "a picture without a description"),
    "an abbreviation's tooltip": ("<abbr title='antepartum haemorrhage'></abbr>", ": antepartum haemorrhage"),
    "what is hidden in raised figures": ("<sup><b hidden>60 mg</b></sup>", "60 mg"),
}  # fmt: skip


@pytest.mark.parametrize(("inside", "expected"), READ.values(), ids=READ)
def test_what_is_seen_is_read_once(tmp_path, inside, expected):
    document = read_one(tmp_path, "a.html", inside)
    assert words(document) == expected
    assert document.hidden == ()


def test_struck_text_leaves_one_blank(tmp_path):
    document = read_one(tmp_path, "a.html", "<p>Take <s>3 tablets</s> 1 tablet.</p>")
    assert (document.text, document.hidden) == ("Take 1 tablet.", ("struck through: 3 tablets",))


@pytest.mark.parametrize(
    ("rows", "first", "rule"),
    [
        (11, "<th>Drug<th>Dose", ["--- | ---"]),
        (10, "<th>Drug<th>Dose", []),
        (11, "<td>Drug<td>Dose", ["--- | ---"]),  # few programs mark one
        (11, "<td>drug 11<td>11 mg", []),
    ],
)
def test_a_table_that_may_be_cut_has_a_rule_below_its_header(tmp_path, rows, first, rule):
    body = "".join(f"<tr><th>drug {row}</th><td>{row} mg</td></tr>" for row in range(rows))
    lines = read_one(tmp_path, "a.html", f"<table><tr>{first}</tr>{body}</table>").text.split("\n")
    assert lines[1:] == [*rule, *(f"drug {row} | {row} mg" for row in range(rows))]


def test_a_picture_beside_words_in_a_cell_is_reported_once_and_one_in_another_is_read(tmp_path):
    cells = "<td>iron <img alt='a tablet'></td><td><img alt='Yes'> <img alt='at night'></td>"
    document = read_one(tmp_path, "a.html", f"<table><tr>{cells}</tr></table>")
    assert (words(document), document.hidden) == ("iron | Yes at night", ("picture: a tablet",))


def test_an_item_and_an_empty_cell_keep_their_line(tmp_path):
    inside = "<ol><li><p>Call.</p><li>Wait</ol><table><tr><td>Iron<td><tr><td>Zinc<td>15 mg</table>"
    lines = read_one(tmp_path, "a.html", inside).text.split("\n")
    assert [line for line in lines if line] == ["1. Call.", "2. Wait", "Iron", "Zinc | 15 mg"]


@pytest.mark.parametrize(("inside", "told"), REPORTED.values(), ids=REPORTED)
def test_what_is_not_read_is_reported(tmp_path, inside, told):
    document = read_one(tmp_path, "a.html", f"<p>Rest.</p>{inside}")
    assert words(document) == "Rest."
    assert document.hidden == (told,)


@pytest.mark.parametrize(
    "name",
    [
        "h5", "h6", "pre", "figcaption", "caption", "option", "div", "p", "li", "dt", "dd", "aside", "main",
        "form", "fieldset", "legend", "textarea", "address",
    ],
)  # fmt: skip
def test_a_block_ends_a_line(tmp_path, name):
    lines = read_one(tmp_path, "a.html", f"iron<{name}>zinc</{name}>salt").text.splitlines()
    assert [line.lstrip("# ") for line in lines if line] == ["iron", "zinc", "salt"]


WESTERN = "Don’t – “60 mg” – señal, 5 €"


@pytest.mark.parametrize(
    ("named", "encoding", "text"),
    [
        *((f'<meta charset=" {label.upper()} ">', "cp1252", WESTERN) for label in WINDOWS_1252),
        ('<meta http-equiv="content-type" content="text/html; charset=us-ascii">', "cp1252", WESTERN),
        ("", "cp1252", WESTERN),
        ('<meta charset="no-such">', "cp1252", WESTERN),
        ("<meta charset=iso-8859-9>", "cp1254", "İyi – €"),
        ("<meta charset=gb2312>", "gb18030", "孕婦鎂"),
        ("<meta charset=shift_jis>", "cp932", "①髙"),
        ("<meta charset=koi8-r>", "koi8-r", "роды"),
        ("<meta charset=latin1>", "utf-8", "señal – €"),  # a server said UTF-8
        ("<meta charset=utf-16>", "utf-8", "señal – €"),  # or it could not have been read up to here
        ("<meta charset=latin1>", "utf-16", "señal €"),  # its byte order mark is believed first
    ],
)
def test_labels_mean_what_browsers_take_them_for(tmp_path, named, encoding, text):
    page = f"{named}<p>{text}</p>".encode(encoding)
    assert words(read_one(tmp_path, "a.html", page)) == text


@pytest.mark.parametrize(
    "page",
    [b"<meta charset=latin1><p>60 mg\x81 se\xf1al</p>", b"<meta charset=utf-8><p>60 mg\x96 se\xc3\xb1al</p>"],
)
def test_a_byte_that_no_character_has_is_reported(tmp_path, page):
    document = read_one(tmp_path, "a.html", page)
    assert words(document) == "60 mg\ufffd señal"
    assert document.hidden == ("characters that its encoding does not have (1)",)
