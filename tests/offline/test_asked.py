import math

import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from rag_core.documents.asked import Asked
from rag_core.language.analysis import tokens
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


def test_a_passage_scores_by_its_nearest_question_and_names_it(index):
    hits = index.search("do cats sleep", 4)
    # two of three words are shared with "do cats purr", one with "do dogs bark": 2/3 and 1/3
    assert [(hit.id, hit.note) for hit in hits] == [
        ("cats", "do cats sleep"),
        ("dogs", "do dogs bark"),
        ("fish", "do dogs bark"),  # equal scores, by id
    ]
    assert [hit.score for hit in hits] == pytest.approx(
        [1.0, 1 / 3, 1 / 3], abs=0.005
    )  # it adds 0.001 on each axis
    assert {hit.scale for hit in hits} == {"cosine"}
    assert index.search("do cats sleep", 1) == hits[:1]


def test_likeness_is_the_mean_of_the_nearest_vector_and_of_the_nearest_words(index):
    near = index.likeness("cats purr loudly", ["dogs", "none", "cats"])
    # of four questions (after stop words), "cat" is in two and "purr" in one, the query's only known terms
    cat, purr, sleep = (1 + math.log(5 / (1 + df)) for df in (2, 1, 1))
    length = math.hypot(cat, purr)
    words = (1 + cat * cat / length / math.hypot(cat, sleep)) / 2  # of its two questions, one is these words
    assert near == [pytest.approx(0.0, abs=0.005), None, pytest.approx((2 / 3 + words) / 2, abs=0.005)]


def test_only_the_question_itself_is_known(index):
    assert index.knows("do cats sleep", ["dogs", "cats"])
    assert not index.knows("do cats sleep", ["dogs", "none"])
    assert not index.knows("cats purr loudly", ["cats"])


def test_words_weigh_as_in_scikit_learn():
    texts = [
        " ".join(tokens(one.question, one.language))
        for one in (*ROWS, Asked("cats", "en", "purr, purr and bark"))
    ]
    reference = TfidfVectorizer(analyzer=str.split, sublinear_tf=True).fit(texts)
    for asked in ("cats purr", "purr purr bark loudly", "nothing known"):
        expected = reference.transform([" ".join(tokens(asked, "en"))]) @ reference.transform(texts).T
        words = Wording((text, "en") for text in texts)
        assert words.cosines(asked) == pytest.approx(expected.toarray()[0])


def test_its_key_is_that_of_questions_and_model():
    embedder = BagOfWords()
    keys = {
        AskedIndex(rows, lambda: [embedder.embed([])[0]], embedder, PASSAGES).key
        for rows in (ROWS, ROWS[:3], [*ROWS[:3], ROWS[3]._replace(passage="dogs")])
    }
    assert len(keys) == 3
