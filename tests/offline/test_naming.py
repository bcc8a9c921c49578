"""How far passages name a question's words: by stem, concept, spelling and gloss."""

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


def best(naming: Naming, question: str, text: str, language: str = "en") -> float:
    return naming.of(question, [hit("a", text, language)], 0).best


@pytest.mark.parametrize(
    ("question", "text", "language"),
    [
        ("restless legs iron", "Iron tablets calm legs that are restless.", "en"),
        ("acetaminophen dose", "The dose of paracetamol is 1 g.", "en"),  # another name of the concept
        ("anti-D dose", "Doses of anti-D", "en"),
        ("¿Qué dosis de hierro necesito?", "The dose of iron is low.", "en"),  # through the gloss
    ],
)
def test_what_is_named_in_full(naming, question, text, language):
    assert best(naming, question, text, language) == 1.0


def test_a_word_counts_by_how_rare_it_is(naming):
    question = "radon in the house"
    rarity = naming._scorer.pieces.rarity
    total = rarity("radon") + rarity("house")
    assert best(naming, question, "Radon is a gas.") == pytest.approx(rarity("radon") / total)
    assert best(naming, question, "The house is warm.") == pytest.approx(rarity("house") / total)


def test_what_another_passage_names_counts_for_all_of_them(naming):
    hits = [hit("a", "Radon is a gas."), hit("b", "The house is warm.")]
    found = naming.of("radon in the house", hits, 0)
    assert found.best < found.any == 1.0


def test_a_word_that_the_passage_is_not_about_is_not_felt(naming):
    text = "Iron tablets are taken on an empty stomach."
    about = naming.of("iron tablets stomach", [hit("a", text)], 0)
    besides = naming.of("iron tablets zebra", [hit("a", text)], 0)
    assert about.felt > 0
    assert about.felt > besides.felt


def test_a_misspelt_word_is_named_as_far_as_its_letters_go(naming):
    assert 0 < best(naming, "bupranorfine", "Buprenorphine is a medicine.") < 1
    assert best(naming, "bacteriuriia", "Bacteriuria") == 1


def test_words_of_every_document_and_numbers_are_not_counted(naming):
    hits = [hit("a", "A baby in pregnancy: 24/40")]
    found = naming.of("radon risk for my baby in pregnancy, 24/40", hits, 0)
    assert (found.best, found.any, found.words) == (0.0, 0.0, 2)


def test_a_word_of_maternity_counts_where_nothing_else_is_asked_about(naming):
    hits = [hit("a", "Contractions become longer and stronger.")]
    found = naming.of("What should I do if I have contractions?", hits, 0)
    assert (found.best, found.any, found.words) == (1.0, 1.0, 1)
    assert found.felt > 0
    assert naming.of("radon and contractions", hits, 0).words == 1  # radon alone
    assert naming.of("¿Qué debo hacer si tengo contracciones?", hits, 0).best == 1.0
    assert naming.of("What is a caesarean?", hits, 0).best == 0.0


def test_a_word_of_maternity_counts_beside_everyday_words(naming):
    hits = [hit("a", "Labour begins with regular contractions.")]
    found = naming.of("Is labour already under way?", hits, 0)
    assert 0 < found.best < 1  # "labour" is named, "already" is not
    assert naming.of("radon in labour", hits, 0).best == 0.0  # "radon" says what is asked about


def test_short_words_count_only_as_abbreviations(naming):
    assert naming.of("wat TXA timing", [hit("a", "Timing")], 0).words == 2
