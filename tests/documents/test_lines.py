import pytest
from helpers.source_files import pdf, read_one, words

from rag_core.documents.documents import Document
from rag_core.documents.reading.lines import joined_lines

ONE_WORD = [
    ("The cathe-\nter is removed.", "The catheter is removed."),
    ("a haemor-  \n   rhage", "a haemorrhage"),
    ("hydrala-\nzine is given; hydralazine works", "hydralazine is given; hydralazine works"),
    ("zufolin-\nate, as zufolinate is", "zufolinate, as zufolinate is"),  # known by the document alone
    ("La paciente amaman-\nta", "La paciente amamanta"),
    ("OBSTET-\nRICS", "OBSTETRICS"),
    ("breast\u00ad\nfeeding", "breastfeeding"),
    ("the cathe\u2010\nter", "the catheter"),
    ("anti-\nhyper-\ntensive", "anti-hypertensive"),
]
OWN_HYPHEN = [
    ("anti-\nD", "anti-D"),
    ("RhD-\nnegative", "RhD-negative"),
    ("a dose of 3-\n4 tablets", "a dose of 3-4 tablets"),
    ("her well-\nbeing", "her well-being"),
    ("up-to-\ndate", "up-to-date"),
    ("CTG-\nguided", "CTG-guided"),
    ("vitamin B12-\nrich", "vitamin B12-rich"),
    ("post-\nnatal care; post-natal visits", "post-natal care; post-natal visits"),  # as elsewhere in the document
    ("artemether-\nlumefantrine", "artemether-lumefantrine"),
]  # fmt: skip
AS_IT_IS = [
    "ante- or\npostnatal",
    "pre-\nand postnatal",
    "Rest -\ndrink",
    "- iron\n- folic acid",
    "iron\n-\nzinc",
    "see www.ward.example/some-\npage",
    "head-\n\nnext paragraph",
]


@pytest.mark.parametrize(("cut", "whole"), ONE_WORD + OWN_HYPHEN)
def test_a_hyphen_at_the_end_of_a_line_goes_if_it_is_not_the_words_own(cut, whole):
    assert joined_lines(cut) == whole


@pytest.mark.parametrize("text", AS_IT_IS)
def test_lines_that_end_no_word_in_two_stay(text):
    assert joined_lines(text) == text


@pytest.mark.parametrize("name", ["a.pdf", "a.txt"])
def test_pdfs_and_texts_are_read_so(tmp_path, name):
    lines = ("The midwife calls an anaesthe-", "tist for anti-", "D.")
    content = pdf(*lines) if name == "a.pdf" else "\n".join(lines)
    assert words(read_one(tmp_path, name, content)) == "The midwife calls an anaesthetist for anti-D."


LEAFLET = Document("en-anti-d", "Anti-D and rhesus", "en", "# Anti-D\n\nGiven at 28 weeks.")


def test_words_of_the_body_are_counted():
    assert LEAFLET.word_count == 6
