import math

import numpy as np
import pytest

from rag_core.documents.asked import Asked
from rag_core.offline.asked import AskedIndex
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
    ids = [hit.id for hit in hits]
    cosines, words = index.likeness("do cats sleep", ids), index.words_among("do cats sleep", ids)
    assert [hit.score for hit in hits] == pytest.approx([sum(pair) for pair in zip(cosines, words, strict=True)])
    assert {hit.scale for hit in hits} == {"likeness"}
    assert index.search("do cats sleep", 1) == hits[:1]


def test_likeness_is_the_cosine_of_the_nearest_question(index):
    # it is a question of "cats", and shares one of three words with "do dogs bark"
    assert index.likeness("do cats purr", ["dogs", "none", "cats"]) == [
        pytest.approx(1 / 3, abs=0.005),
        None,
        pytest.approx(1.0),
    ]


def test_words_order_what_meaning_leaves_equal():
    rows = [Asked("cats", "en", "kittens"), Asked("dogs", "en", "the kittens and the mice")]

    class Alike(BagOfWords):
        """All texts mean the same."""

        def embed(self, texts, kind="passage", languages=()):
            return np.ones((len(texts), 1), np.float32), None

    index = AskedIndex(rows, lambda: [np.ones((2, 1), np.float32)], Alike(), PASSAGES)
    assert [hit.id for hit in index.search("mice", 2)] == ["dogs", "cats"]


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
    assert told == [pytest.approx(0.2 * two * saturated / 2), None, pytest.approx(0.2 * (one + two) * saturated / 2)]


def test_the_contrast_is_to_questions_that_no_passage_answers(index):
    assert index.contrast("do cats purr") is None
    embedder, rows = BagOfWords(), [*ROWS, Asked("", "en", "do cars purr"), Asked("", "en", "where are cars")]
    index = AskedIndex(rows, lambda: [embedder.embed([one.question for one in rows])[0]], embedder, PASSAGES)
    # two of three words are those of "do cars purr", and all three those of a known question: 1 - 2/3
    assert index.contrast("do cats purr") == pytest.approx(1 / 3, abs=0.005)
    assert index.contrast("where do cars go") < 0
    assert [hit.id for hit in index.search("where are cars", 9)] == ["cats", "dogs", "fish"]


def test_only_the_question_itself_is_known(index):
    assert index.knows("do cats sleep", ["dogs", "cats"])
    assert not index.knows("do cats sleep", ["dogs", "none"])
    assert not index.knows("cats purr loudly", ["cats"])


def test_its_key_is_that_of_questions_and_model():
    embedder = BagOfWords()
    keys = {
        AskedIndex(rows, lambda: [embedder.embed([])[0]], embedder, PASSAGES).key
        for rows in (ROWS, ROWS[:3], [*ROWS[:3], ROWS[3]._replace(passage="dogs")])
    }
    assert len(keys) == 3
