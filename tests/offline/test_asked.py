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


def test_how_near_passages_are_is_told_in_their_order(index):
    near = index.likeness("cats purr loudly", ["dogs", "none", "cats"])
    assert near == [pytest.approx(0.0, abs=0.005), None, pytest.approx(2 / 3, abs=0.005)]


def test_its_key_is_that_of_questions_and_model():
    embedder = BagOfWords()
    keys = {
        AskedIndex(rows, lambda: [embedder.embed([])[0]], embedder, PASSAGES).key
        for rows in (ROWS, ROWS[:3], [*ROWS[:3], ROWS[3]._replace(passage="dogs")])
    }
    assert len(keys) == 3
