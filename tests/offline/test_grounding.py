"""Whether a passage supports a sentence: by examples; tests/evaluation/test_trust.py measures it."""

import pytest
from helpers.looping import for_each
from helpers.small import ROOT

from rag_core.language.thesaurus import Thesaurus
from rag_core.models import load_embedder
from rag_core.offline.amounts import contains, quantities
from rag_core.offline.clauses import read
from rag_core.offline.grounding import MOST, OfflineGrounder
from rag_core.offline.loading import load_scorer
from rag_core.values.answers import Claim, Grounded
from rag_core.values.markers import without_markers
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings
from rag_core.values.types import Passage


def amounts(text: str, language: str = "en") -> set[tuple[float, str]]:
    return {(one.value, one.unit) for one in quantities(text, language)[0]}


@for_each(
    ("one", "same"),
    [
        ("1 g", "1000 mg"),
        ("0,5 mg", "500 micrograms"),
        ("24–48 h", "1 to 2 days"),
        ("one to two days", "1 to 2 days"),
        ("one woman in ten", "10 in 100"),
        ("thirty-four weeks", "34 weeks"),
        ("1 mg/kg", "1000 micrograms/kg"),
    ],
)
def test_a_quantity_is_the_same_however_it_is_written(one, same):
    assert amounts(one) == amounts(same) != set()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("400 mg", "400 micrograms"),
        ("95 mg/dl", "95 mmol/l"),
        ("24 hours", "24 days"),
        ("20 mm", "20 cm"),
        ("1,500 IU", "1,500 mg"),
        ("28 weeks", "22 weeks"),
    ],
)
def test_another_number_or_unit_is_another_quantity(one, other):
    (claimed,), _ = quantities(one, "en")
    assert not contains(quantities(other, "en")[0], claimed)


def test_digits_in_names_are_no_quantities_and_spanish_numbers_are_read():
    assert amounts("vitamin B12, COVID-19 and omega-3") == set()
    assert amounts("treinta y cuatro semanas", "es") == amounts("34 weeks")


def test_a_medicine_is_recognised_by_its_ending_where_no_list_has_it():
    assert read("give rifapentine weekly", None).drugs != read("give rifabutin weekly", None).drugs != frozenset()
    assert read("the person had pain that season", None).drugs == frozenset()


@pytest.fixture(scope="module")
def grounder(prices: PriceList) -> OfflineGrounder:
    """As in the app: Spanish is read through the gloss."""
    settings, thesaurus = Settings(), Thesaurus.read(ROOT / "data" / "thesaurus.toml")
    embedder = load_embedder(settings, prices, thesaurus)
    return OfflineGrounder(load_scorer(settings, embedder, prices, thesaurus).embedder, thesaurus)


def ground(grounder: OfflineGrounder, sentence: str, *texts: str, language: str = "en") -> Grounded:
    passages = [Passage(f"p{n}", "d", "Anti-D", text, language=language) for n, text in enumerate(texts)]
    (one,) = grounder.ground([Claim(0, len(sentence), sentence)], passages, language)
    return one


DOSE = "Anti-D is given as one injection of 1,500 IU at about 28 weeks. Women with asthma should not take ibuprofen."


@pytest.mark.parametrize(
    ("sentence", "support"),
    [
        ("At about 28 weeks one injection of 1,500 IU of anti-D is given.", "supported"),
        ("At about 22 weeks one injection of 1,500 IU of anti-D is given.", "unsupported"),
        ("At about 28 weeks one injection of 1,500 mg of anti-D is given.", "unsupported"),
        ("Women with asthma should take ibuprofen.", "unsupported"),
        ("Women with asthma should not take naproxen.", "unsupported"),
        ("Women with asthma should not take ibuprofen.", "supported"),
        ("The moon is made of cheese.", "unsupported"),
    ],
)
def test_one_changed_fact_is_enough(grounder, sentence, support):
    found = ground(grounder, sentence, "Cats sleep most of the day.", DOSE)
    assert (found.support, bool(found.reason)) == (support, support != "supported")
    assert found.by == ((2,) if support == "supported" else ())


def test_a_sentence_copied_with_its_reference_is_quoted(grounder):
    passage = "Anti-D is given at about 28 weeks [27-30] in one injection of 1,500 IU [2]."
    copied = ground(grounder, without_markers(passage), passage)
    assert (copied.support, copied.quote) == ("supported", (without_markers(passage),))
    assert ground(grounder, passage.replace("28", "22").replace("[2]", "(2)"), passage).support == "unsupported"


EVERY_SIX = "Give tablets of labetalol every six hours"
AGED = "Labetalol was given to women with a median age of 31 [27-35]"


@for_each(
    ("claim", "passage", "support"),
    [
        ("Give 2 tablets of labetalol every six hours.", f"{EVERY_SIX} [2].", "unsupported"),
        ("Give 2 tablets of labetalol every six hours.", f"{EVERY_SIX}.[2]", "unsupported"),
        ("Give 2 tablets of labetalol every six hours.", f"{EVERY_SIX} (source 2).", "unsupported"),
        ("Give 2 tablets of labetalol every six hours.", f"{EVERY_SIX}【2】.", "unsupported"),
        ("Give 3 tablets of labetalol every six hours.", f"{EVERY_SIX} [1-3].", "unsupported"),
        (f"{EVERY_SIX}.", f"{EVERY_SIX} [2].", "supported"),
        (f"{EVERY_SIX} (2).", f"{EVERY_SIX} [2].", "supported"),
        (f"{EVERY_SIX} (2)(5).", f"{EVERY_SIX} [2][5].", "supported"),
        (f"{EVERY_SIX} (4).", f"{EVERY_SIX} [2].", "unsupported"),
        ("Labetalol tablets are given every six hours (2).", f"{EVERY_SIX} [2].", "supported"),
        ("Give tablets (2) of labetalol every six hours.", f"{EVERY_SIX} [2].", "unsupported"),
        ("Give 2 tablets of labetalol.", "Give labetalol, tablets (2).", "supported"),
        ("Give 3 tablets of labetalol.", "Give labetalol, tablets (2).", "unsupported"),
        ("Give labetalol, tablets (3).", "Give labetalol, tablets (2) [3].", "unsupported"),
        ("Labetalol was given to women aged 27 to 35.", f"{AGED}.", "supported"),
        ("Labetalol was given to women aged 22 to 35.", f"{AGED}.", "unsupported"),
        ("In 2021 labetalol was given every six hours.", f"{EVERY_SIX} [2021].", "supported"),
    ],
)
def test_a_reference_is_no_number_of_the_text(grounder, claim, passage, support):
    assert ground(grounder, claim, passage).support == support


def test_a_reference_of_one_passage_says_nothing_of_another(grounder):
    found = ground(grounder, "Give labetalol, tablets (2).", "Cats purr all day [2].", "Give labetalol, tablets (3).")
    assert found.support == "unsupported"


def test_spanish_is_compared_through_the_gloss(grounder):
    text = "El paracetamol se toma cada 6 horas, como máximo 4 g al día."
    assert ground(grounder, "Se puede tomar paracetamol cada 6 horas.", text, language="es").support == "supported"
    wrong = ground(grounder, "Se puede tomar paracetamol cada 8 horas.", text, language="es")
    assert (wrong.support, "8 hours" in wrong.reason) == ("unsupported", True)


def test_no_more_sentences_are_compared_than_a_reader_would_wait_for(grounder):
    claims = [Claim(n, n + 1, f"Anti-D is given at {n} weeks.") for n in range(MOST + 5)]
    assert len(grounder.ground(claims, [Passage("p", "d", "Anti-D", DOSE)], "en")) == MOST
    assert [one.support for one in grounder.ground(claims[:1], [], "en")] == ["unsupported"]
