import rag_core
from pages.documents.vector_plot import COLOURS, figure
from rag_core.lab.browsing import PlacedPassage, PlacedQuery, VectorMap


def placed(identity: str, count: int, near: float | None = None) -> list[PlacedPassage]:
    return [
        PlacedPassage(
            rag_core.Passage(f"{identity}:{number}:0", identity, f"Title <b>{identity}</b>", "Text.", ""),
            float(number),
            0.0,
            near,
        )
        for number in range(count)
    ]


def drawn(passages: list[PlacedPassage], *queries: PlacedQuery) -> dict[str, int]:
    """Name -> number of marks, in the order of the legend."""
    found = figure(VectorMap(tuple(passages), queries, (0.3, 0.2), 384))
    return {one.name: len(one.x) for one in found.data}


def test_without_a_question_the_documents_with_the_most_passages_have_a_colour():
    documents = [(f"d{number}", 12 - number) for number in range(10)]
    shown = drawn([one for name, count in documents for one in placed(name, count)])
    assert shown["other documents"] == 4 + 3  # those of the last two
    assert list(shown.values())[1:] == [12 - number for number in range(len(COLOURS))]


def test_with_a_question_the_documents_of_the_nearest_passages_have_a_colour():
    far = [one for number in range(9) for one in placed(f"far{number}", 5, 0.1)]
    near = placed("near", 20, 0.9)
    question = PlacedQuery(rag_core.Query("When?"), 0.0, 0.0)
    rewrite = PlacedQuery(rag_core.Query("At what <i>time</i>?", "synonyms"), 1.0, 1.0)
    shown = drawn([*far, *near], question, rewrite)
    assert shown == {
        "other documents": 45,
        "Title &lt;b&gt;near&lt;/b&gt;": 20,
        "question": 1,
        "rewrite: synonyms “At what…": 1,
    }


def test_foreign_text_is_text_in_the_hover():
    found = figure(VectorMap(tuple(placed("x", 1, 0.5)), (), (0.3, 0.2), 384))
    (text,) = found.data[0].text
    assert "<b>Title &lt;b&gt;x&lt;/b&gt;</b>" in text
    assert text.endswith("cosine to the question 0.50")
