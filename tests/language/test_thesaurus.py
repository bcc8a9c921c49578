"""The thesaurus: concepts found in a text by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.language.thesaurus import Concept, Thesaurus
from rag_core.values.errors import DataError

DATA = Path(__file__).resolve().parents[2] / "data"
PRESSURE = Concept(
    "pressure",
    {"en": ("hypertension", "raised blood pressure"), "es": ("hipertensión", "tensión arterial elevada")},
    {"en": ("high blood pressure", "down"), "es": ("presión alta", "té")},
    ("HTA", "ITS", "GBS", "T1DM"),
    related=("infection",),
)
INFECTION = Concept(
    "infection",
    {"en": ("infection", "blood"), "es": ("infección",)},
    {"en": ("spotting",), "es": ()},
    narrower=("pressure",),
)
SMALL = Thesaurus([PRESSURE, INFECTION])


@pytest.fixture(scope="module")
def whole() -> Thesaurus:
    return Thesaurus.read(DATA / "thesaurus.toml")


def found(text: str, language: str, thesaurus: Thesaurus = SMALL) -> list[tuple[str, str, str]]:
    return [
        (text[mention.start : mention.end], mention.concept.id, mention.kind)
        for mention in thesaurus.find(text, language)
    ]


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("I have high blood pressure.", "en", [("high blood pressure", "pressure", "lay")]),
        ("Raised Blood Pressure, infections", "en", [
            ("Raised Blood Pressure", "pressure", "term"), ("infections", "infection", "term")]),
        ("HIPERTENSION e infecciones", "es", [
            ("HIPERTENSION", "pressure", "term"), ("infecciones", "infection", "term")]),
        ("high blood pressures", "en", [("high blood pressures", "pressure", "lay")]),
        ("hipertension", "en", []),
    ],
    ids=["lay", "capitals and plural", "accents folded", "stems of several words", "other language"],
)  # fmt: skip
def test_a_concept_is_found_by_each_of_its_names(text, language, expected):
    assert found(text, language) == expected


def test_a_name_typed_without_its_enye_is_found_where_it_can_be_no_other():
    def concept(identity: str, *names: str) -> Concept:
        return Concept(identity, {"en": (identity,), "es": names}, {"en": (), "es": ()})

    kidney, age, anus = concept("kidney", "riñón"), concept("year", "año"), concept("anus", "ano")
    three = Thesaurus([kidney, age, anus])
    for text, expected in (
        ("riñones", "kidney"),
        ("riñon", "kidney"),
        ("rinon", "kidney"),
        ("ano", "anus"),
        ("año", "year"),
    ):
        assert [named for _, named, _ in found(text, "es", three)] == [expected], text
    twins = Thesaurus([concept("first", "naña"), concept("second", "ñana")])
    assert found("nana", "es", twins) == [], "it may be either"


@pytest.mark.parametrize("text", ["its test", "It went down", "one hard spot", "te quiero"])
def test_what_only_looks_like_a_name_is_none(text):
    assert found(text, "es" if "quiero" in text else "en") == []


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("HTA and ITS", ["HTA", "ITS"]),
        ("gbs and t1dm, hta and its", ["gbs", "t1dm"]),
        ("ALL IN CAPITALS ITS HTA GBS", ["GBS"]),
    ],
    ids=["own capitals", "no word", "shouted"],
)
def test_an_abbreviation_needs_its_capitals_unless_it_cannot_be_a_word(text, pieces):
    assert [piece for piece, _, kind in found(text, "en") if kind == "abbreviation"] == pieces


def test_the_longest_name_wins_and_mentions_never_overlap(whole):
    text = "raised blood pressure and blood"
    assert [piece for piece, _, _ in found(text, "en")] == ["raised blood pressure", "blood"]
    assert [concept.id for concept in SMALL.related(PRESSURE)] == ["infection"]
    assert [concept.id for concept in SMALL.narrower(INFECTION)] == ["pressure"]


def test_a_language_without_terms_gives_abbreviations_only():
    assert found("hypertension HTA", "ru") == [("HTA", "pressure", "abbreviation")]


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_name_of_the_shipped_thesaurus_finds_its_concept(whole, language):
    missed = [
        name
        for concept in whole.concepts.values()
        for name in (*concept.terms[language], *concept.lay[language])
        if concept.id not in {mention.concept.id for mention in whole.find(name, language)}
    ]
    assert len(missed) <= 5, missed  # names that are stop words, or that hold a longer name


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.sampled_from(["en", "es", "de"]))
def test_mentions_are_in_order_inside_the_text_and_apart(text, language):
    end = 0
    for mention in SMALL.find(text, language):
        assert end <= mention.start < mention.end <= len(text)
        end = mention.end


@pytest.mark.parametrize("content", ["", "not toml [", "[[concept]]\nid = 'a'\n"])
def test_a_thesaurus_that_cannot_be_read_is_named(tmp_path, content):
    path = tmp_path / "thesaurus.toml"
    path.write_text(content)
    with pytest.raises(DataError, match=r"thesaurus\.toml"):
        Thesaurus.read(path)
    with pytest.raises(DataError):
        Thesaurus.read(tmp_path / "none.toml")
