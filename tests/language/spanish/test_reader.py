import pytest
from helpers.small import ROOT
from helpers.unread import unread
from upkeep.spanish_words import list_problems

from rag_core.language.spanish import Gloss
from rag_core.language.thesaurus import Thesaurus
from rag_core.values.errors import DataError

LIST = ROOT / "data" / "gloss" / "es.tsv"


@pytest.fixture(scope="module")
def gloss() -> Gloss:
    return Gloss.read(LIST, Thesaurus.read(ROOT / "data" / "thesaurus.toml"))


@pytest.mark.parametrize(
    ("spanish", "english"),
    [
        ("¿Qué alimentos debo evitar?", "what foods must i avoid?"),
        ("¿Boy al ospital?", "i go to the hospital?"),
        ("por qué no puedo tomármelo", "why i cannot take it"),
        ("PE con proteinuria", "pre-eclampsia with proteinuria"),
        ("PE con trombosis", "pulmonary embolism with thrombosis"),
        ("PE", "PE"),
    ],
)
def test_spanish_is_read_word_by_word(gloss, spanish, english):
    assert gloss.english(spanish) == english


def test_what_cannot_be_read_is_listed(gloss):
    assert unread(gloss, "el zxqwk de 34 semanas") == ["zxqwk"]


def test_the_list_has_no_faults():
    assert list_problems(LIST) == []


def test_a_list_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DataError, match=r"es\.tsv"):
        Gloss.read(tmp_path / "es.tsv")
