import re
import tomllib
from dataclasses import replace

import pytest
from helpers.guidance import ACOG, NICE, RCOG, SPAIN, WHO, hit, passage, without_difference
from helpers.small import ROOT

from rag_core.documents.documents import read_collection
from rag_core.safety.urgency.helplines import countries
from rag_core.values.answers import Answer, Citation
from rag_core.values.sources import (
    JURISDICTIONS,
    OLD_YEARS,
    age_note,
    age_years,
    difference,
    home_pages,
    is_old,
    leading,
)
from rag_core.values.trace import Step, Trace
from rag_core.values.triage import Triage
from rag_core.values.types import Passage, Query, Ranking, State


def test_links_lead_to_home_pages_of_organisations_that_the_documents_name() -> None:
    unknown = replace(NICE, organisation="NICE (draft)")
    assert home_pages([NICE, WHO, NICE, unknown]) == {
        "NICE": "https://www.nice.org.uk", "WHO": "https://www.who.int",
    }  # fmt: skip
    known = [source for document in read_collection(ROOT / "data" / "corpus") for source in document.sources]
    homes = home_pages(known)
    listed = tomllib.loads((ROOT / "data" / "organisations.toml").read_text(encoding="utf-8"))["homes"]
    assert homes.keys() == listed.keys()  # none that no document names
    for address in homes.values():  # a home page or a government's page of the organisation, never a publication
        assert re.fullmatch(r"https://[a-z.]+(/es|/government/organisations/[a-z-]+)?", address)


class TestDifference:
    def test_both_sides_are_named_with_year_and_jurisdiction(self):
        assert difference([ACOG], [RCOG]) == (
            "Guidance differs: ACOG 2020 (US) says one thing, RCOG 2017 (UK) another."
        )
        assert difference([NICE, WHO], [ACOG, RCOG]) == (
            "Guidance differs: NICE 2021 (UK) and WHO 2016 (International) say one thing, "
            "ACOG 2020 (US) and RCOG 2017 (UK) another."
        )

    def test_in_spanish_with_the_spanish_names_of_places(self):
        assert difference([WHO, SPAIN], [ACOG], "es") == (
            "Las guías difieren: WHO 2016 (internacional) y Ministerio de Sanidad 2014 (España) dicen una cosa; "
            "ACOG 2020 (EE. UU.), otra."
        )

    def test_nobody_differs(self):
        assert difference([ACOG, RCOG], []) == ""

    def test_publications_of_one_year_are_named_once_and_take_the_singular(self):
        twin = replace(ACOG, title="Another", id="B")
        assert difference([ACOG, twin], [RCOG]) == difference([ACOG], [RCOG])

    def test_a_side_without_a_name_is_not_invented(self):
        assert passage(sources=()).difference == "Guidance differs: RCOG 2017 (UK) says something else."


class TestLeading:
    @pytest.mark.parametrize(("country", "leads"), [("US", (ACOG,)), ("GB", (RCOG,)), ("ES", ()), ("", ())])
    def test_the_side_of_the_country_leads(self, country, leads):
        assert leading([ACOG, WHO], [RCOG], country) == leads

    def test_nobody_leads_in_a_country_that_is_on_both_sides(self):
        assert leading([NICE], [RCOG, ACOG], "GB") == ()
        assert leading([NICE], [RCOG, ACOG], "US") == (ACOG,)

    def test_international_guidance_belongs_to_no_country(self):
        assert {JURISDICTIONS[name].country for name in ("International", "Europe", "Latin America")} == {""}
        assert leading([WHO], [replace(WHO, jurisdiction="nowhere")], "") == ()

    def test_a_passage_without_a_difference_has_no_lead(self):
        assert without_difference(hit()).passage.leading("GB") == ()


def test_every_country_that_can_be_chosen_is_one_of_a_source_and_no_two_share_a_code():
    codes = [known.country for known in JURISDICTIONS.values() if known.country]
    assert len(codes) == len(set(codes))
    assert set(countries()) <= set(codes)


def test_every_source_of_the_collection_has_a_jurisdiction_of_the_table():
    used = {
        source.jurisdiction for document in read_collection(ROOT / "data" / "corpus") for source in document.sources
    }
    assert used <= JURISDICTIONS.keys()
    assert {"UK", "US", "International", "Spain"} <= used


class TestAge:
    def test_the_newest_source_counts(self):
        assert age_years([RCOG, ACOG], 2026) == 6
        assert age_years([], 2026) is None
        assert age_years([NICE], 2020) == 0

    def test_a_source_is_flagged_once_it_is_older_than_the_limit(self):
        assert not is_old([NICE], NICE.year + OLD_YEARS)
        assert is_old([NICE], NICE.year + OLD_YEARS + 1)
        assert not is_old([], 2026)

    def test_what_the_reader_is_told(self):
        assert age_note([replace(RCOG, year=2013)], 2026) == "From 2013, 13 years old: check for newer guidance."
        assert age_note([RCOG, ACOG], 2026) == "Newest source from 2020, 6 years old: check for newer guidance."
        assert age_note([RCOG, NICE], 2026) == ""


def trace_of(*passages: Passage, cited: tuple[int, ...], language: str = "en") -> Trace:
    ranking = Ranking(Query("q"), tuple(replace(hit(), passage=one) for one in passages))
    citations = tuple(Citation(n, passages[n - 1].id, "") for n in cited)
    after = State(Query("q"), (), (ranking,), Answer("Said.", citations))
    return Trace(
        "q",
        "mine",
        {},
        "0" * 12,
        (Step("S", "answer", {}, after, 0.1),),
        triage=Triage("routine", language=language),
    )


class TestOldAnswers:
    OLD = passage(sources=(RCOG,), differs_from=(), name="old")
    NEW = passage(sources=(RCOG, NICE), differs_from=(), name="new")

    def test_an_answer_whose_every_cited_passage_is_old_says_so(self):
        (remark,) = trace_of(self.OLD, self.NEW, cited=(1,)).remarks(2026)
        assert (remark.kind, remark.citations) == ("old", (1,))
        assert remark.text == (
            "Every source cited here is more than 5 years old (the newest is from 2017): check for newer guidance."
        )

    def test_in_spanish(self):
        (remark,) = trace_of(self.OLD, cited=(1,), language="es").remarks(2026)
        assert remark.text.startswith("Todas las fuentes citadas tienen más de 5 años (la más reciente es de 2017)")

    def test_one_recent_passage_or_one_without_a_source_is_enough_to_say_nothing(self):
        assert trace_of(self.OLD, self.NEW, cited=(1, 2)).remarks(2026) == ()
        assert trace_of(self.OLD, replace(self.OLD, id="x", sources=()), cited=(1, 2)).remarks(2026) == ()
        assert trace_of(self.OLD, cited=()).remarks(2026) == ()

    def test_the_answer_itself_does_not_age(self):
        trace = trace_of(self.OLD, cited=(1,))
        assert trace.remarks(2018) == ()
        assert trace.answer.remarks == ()

    def test_the_json_has_the_age_of_every_passage(self):
        old, new = trace_of(self.OLD, replace(self.OLD, sources=()), cited=(1,)).as_json()["contexts"]
        assert (old["age_years"] >= 9, old["old"]) == (True, True)
        assert (new["age_years"], new["old"]) == (None, False)
