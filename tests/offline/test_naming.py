"""Whether a passage names a question's rarest word: by stem, concept, spelling and gloss."""

from __future__ import annotations

import pytest
from helpers.angles import hit
from helpers.small import ROOT

from rag_core.language.thesaurus import Thesaurus
from rag_core.models import load_embedder
from rag_core.offline.loading import load_scorer
from rag_core.offline.naming import Naming
from rag_core.values.pricing import PriceList
from rag_core.values.settings import Settings


@pytest.fixture(scope="module")
def naming(prices: PriceList) -> Naming:
    """As in the app: Spanish is read through the gloss."""
    settings, thesaurus = Settings(), Thesaurus.read(ROOT / "data" / "thesaurus.toml")
    embedder = load_embedder(settings, prices, thesaurus)
    return Naming(load_scorer(settings, embedder, prices, thesaurus), thesaurus)


def rarest(naming: Naming, question: str, text: str, language: str = "en") -> float:
    return naming.of(question, hit("a", text, language)).rarest


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("restless legs iron", "Iron tablets calm legs that are restless.", "en"),
        ("acetaminophen dose", "The dose of paracetamol is 1 g.", "en"),  # another name of the concept
        ("anti-D dose", "Doses of anti-D", "en"),
        ("¿Qué dosis de hierro necesito?", "The dose of iron is low.", "en"),  # through the gloss
    ],
)
def test_what_is_named_in_full(naming: Naming, question: str, text: str, language: str):
    assert rarest(naming, question, text, language) == 1.0


def test_only_the_rarest_word_counts(naming: Naming):
    question = "radon in the house"
    assert rarest(naming, question, "Radon is a gas.") == 1
    assert rarest(naming, question, "The house is warm.") == 0


def test_a_misspelt_word_is_named_as_far_as_its_letters_go(naming: Naming):
    assert 0 < rarest(naming, "bupranorfine", "Buprenorphine is a medicine.") < 1
    assert rarest(naming, "bacteriuriia", "Bacteriuria") == 1


def test_words_of_maternity_and_numbers_are_not_counted(naming: Naming):
    found = naming.of("radon risk for my baby in pregnancy, 24/40", hit("a", "A baby in pregnancy: 24/40"))
    assert found == (0.0, 2)


def test_short_words_count_only_as_abbreviations(naming: Naming):
    assert naming.of("wat TXA timing", hit("a", "Timing")).words == 2


def test_without_words_nothing_is_named(naming: Naming):
    assert naming.of("Pregnant?", hit("a", "Pregnancy")) == (0.0, 0)


def test_frequent_words_are_less_rare_than_medical_ones(naming: Naming):
    rarity = naming._scorer.pieces.rarity
    assert 0 <= rarity("time") < rarity("radon") <= rarity("macroprolactinoma") == 1
