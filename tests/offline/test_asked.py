import math

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from rag_core.documents.asked import Asked
from rag_core.offline.asked import AskedIndex, Wording
from rag_core.testing import BagOfWords
from rag_core.values.types import Passage

PASSAGES = {name: Passage(name, name, "", name) for name in ("cats", "dogs", "fish", "none")}
ROWS = [
    Asked("cats", "en", "do cats purr"),
    Asked("cats", "en", "do cats sleep"),
    Asked("dogs", "en", "do dogs bark"),
    Asked("fish", "en", "do dogs bark"),
]


@pytest.fixture
def index() -> AskedIndex:
    embedder = BagOfWords()
    return AskedIndex(ROWS, lambda: [embedder.embed([one.question for one in ROWS])[0]], embedder, PASSAGES)


def test_a_search_ranks_by_likeness_and_names_the_nearest_question(index):
    hits = index.search("do cats sleep", 4)
    assert [(hit.id, hit.note) for hit in hits] == [
        ("cats", "do cats sleep"),
        ("dogs", "do dogs bark"),
        ("fish", "do dogs bark"),  # equal scores, by id
    ]
    assert [hit.score for hit in hits] == index.likeness("do cats sleep", ["cats", "dogs", "fish"])
    assert {hit.scale for hit in hits} == {"likeness"}
    assert index.search("do cats sleep", 1) == hits[:1]


def test_likeness_is_the_mean_of_the_nearest_vector_and_of_the_nearest_letters():
    rows = [Asked("cats", "en", "cat"), Asked("cats", "en", "cat pur"), Asked("dogs", "en", "dog")]
    embedder = BagOfWords()
    index = AskedIndex(rows, lambda: [embedder.embed([one.question for one in rows])[0]], embedder, PASSAGES)
    near = index.likeness("cat", ["dogs", "none", "cats"])
    # each word of three letters has two grams: those of "cat" are in two of the three questions, those of "pur" in one
    cat, pur = (1 + math.log(4 / (1 + df)) for df in (2, 1))
    letters = (1 + cat / math.hypot(cat, pur)) / 2  # over both questions; the first is these letters
    assert near == [pytest.approx(0.0, abs=0.005), None, pytest.approx((1 + letters) / 2, abs=0.005)]
    assert index.wording("cat") == pytest.approx(1.0)
    assert index.wording("fox") == 0.0


def test_words_weigh_by_how_few_of_the_passages_have_them():
    rows = [
        Asked("cats", "en", "when do kittens eat fish"),
        Asked("dogs", "en", "when do kittens chase mice"),
    ]
    embedder = BagOfWords()
    index = AskedIndex(rows, lambda: [embedder.embed([one.question for one in rows])[0]], embedder, PASSAGES)
    told = index.words_among("mice and kittens", ["cats", "none", "dogs"])
    # "mous" is in one of three passages, "kitten" in two; all terms occur once, in texts of 4, 0 and 4 terms of 8/3 on average
    one, two = (math.log(1 + (3 - n + 0.5) / (n + 0.5)) for n in (1, 2))
    saturated = 2.5 / (1 + 1.5 * (0.25 + 0.75 * 4 / (8 / 3)))
    assert told == [pytest.approx(two * saturated / 2), None, pytest.approx((one + two) * saturated / 2)]


def test_only_the_question_itself_is_known(index):
    assert index.knows("do cats sleep", ["dogs", "cats"])
    assert not index.knows("do cats sleep", ["dogs", "none"])
    assert not index.knows("cats purr loudly", ["cats"])


def test_letters_weigh_as_in_scikit_learn():
    texts = [*(one.question for one in ROWS), "¿Ronronea, RONRONEA y\u00a0ladra?", "a b"]
    reference = TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 4), sublinear_tf=True, strip_accents="unicode").fit(
        texts
    )
    for asked in ("cats purr", "purr purr brak loudly", "ronronéa a", "ηχώ"):
        expected = reference.transform([asked]) @ reference.transform(texts).T
        assert Wording(texts).cosines(asked) == pytest.approx(expected.toarray()[0])


def test_its_key_is_that_of_questions_and_model():
    embedder = BagOfWords()
    keys = {
        AskedIndex(rows, lambda: [embedder.embed([])[0]], embedder, PASSAGES).key
        for rows in (ROWS, ROWS[:3], [*ROWS[:3], ROWS[3]._replace(passage="dogs")])
    }
    assert len(keys) == 3
