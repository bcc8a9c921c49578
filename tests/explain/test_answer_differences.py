"""What the strip above the answers is computed from: identical answers, sections only one cites, figures only one names."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rag_core.explain import AnswerDifferences, Quoted, answer_differences, together
from rag_core.explain.answers import Statement
from rag_core.values.answers import Answer, Citation, Grounded
from rag_core.values.trace import Step, Trace
from rag_core.values.types import Hit, Passage, Query, Ranking, State

PASSAGES = {
    name: Passage(f"{name}:{part}", document, "Iron", "…", heading)
    for name, part, document, heading in (
        ("doses", 0, "iron", "Doses"),
        ("more doses", 1, "iron", "Doses"),
        ("side effects", 2, "iron", "Side effects"),
    )
}


def said(text: str, cited: Sequence[str] = (), *, abstained: bool = False) -> Trace:
    """A result with this answer, which cites these passages, numbered in their order."""
    hits = tuple(Hit(PASSAGES[name], 1.0, "cosine") for name in cited)
    citations = tuple(Citation(n, hit.passage.id, "") for n, hit in enumerate(hits, start=1))
    query = Query("How much iron?")
    answer = Answer(text, citations, abstained)
    after = State(query, (query,), (Ranking(query, hits),), answer)
    return Trace("How much iron?", "bm25", {}, "", (Step("Generate", "answer", {}, after, 0.1),))


def test_one_answer_under_other_numbers_is_the_same_answer():
    found = answer_differences(
        [
            said("**Take iron.** [1]", ["doses"]),
            said("Rest. [1]", ["side effects"]),
            said("Take iron. [3]", ["doses"]),
        ]
    )
    assert found.same == ((0, 2),)
    assert found.quoting == ()
    assert found.sections == {(0, 2): ("Iron › Doses",), (1,): ("Iron › Side effects",)}


def test_passages_of_one_section_are_the_same_section():
    found = answer_differences([said("Take iron. [1]", ["doses"]), said("Take more. [1]", ["more doses"])])
    assert found == AnswerDifferences(quoting=((0, 1),))


def test_a_figure_is_told_where_no_other_answer_has_its_amount_in_any_unit():
    found = answer_differences(
        [
            said("Take 1 g for 24 to 28 weeks."),
            said("Take 1,000 mg, and 65 mg after 2 days."),
            said("Since 2019."),
        ]
    )
    # 1 g = 1000 mg; a range's unit belongs to both ends; a number without a unit is no figure
    assert found.figures == {(0,): ("24 weeks", "28 weeks"), (1,): ("2 days", "65 mg")}


def test_a_spanish_figure_keeps_its_accents():
    found = answer_differences(
        [said("Desde las 24 semanas se toma diez días, salvo con 38 °C."), said("Se toma con comida.")]
    )
    assert sorted(found.figures[0,]) == ["10 días", "24 semanas", "38 °C"]


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("Take it for 1 to 2 weeks.", ["1 week", "2 weeks"]),
        ("Dura 1 a 2 meses.", ["1 mes", "2 meses"]),
        ("Dura 1 mes.", ["1 mes"]),
        ("Give 1 or 2 units.", ["1 unit", "2 units"]),
        ("Se dan 1 o 2 unidades.", ["1 unidad", "2 unidades"]),
    ],
)
def test_one_of_a_range_is_singular(text, figures):
    assert list(answer_differences([said(text), said("No.")]).figures[0,]) == figures


def test_a_column_that_declines_is_told_and_compared_with_none():
    declined = said("There is not enough evidence.", abstained=True)
    found = answer_differences([declined, said("Take 65 mg. [1]", ["doses"]), declined, None])
    assert found == AnswerDifferences(declined=(0, 2))
    assert found.alike(0) == (0, 2)
    assert found.alike(1) == (1,)


def test_columns_voted_best_tie_where_they_give_several_answers():
    found = AnswerDifferences(same=((0, 2),), declined=(3, 4))
    assert [found.is_tie(best) for best in ((), (1,), (0, 2), (3, 4), (0, 1), (0, 2, 3))] == [False] * 4 + [True] * 2


def test_nothing_is_told_of_columns_without_answers():
    assert answer_differences([None, None]) == AnswerDifferences()


def test_all_answers_as_one_keep_the_order_of_the_first_and_say_who_says_what():
    def spoken(*sentences: tuple[str, tuple[int, ...]]) -> Trace:
        trace = said("", ["doses", "side effects"])
        assert trace.answer is not None
        grounded = tuple(Grounded(0, 0, text, "supported", by) for text, by in sentences)
        after = replace(trace.final, answer=replace(trace.answer, sentences=grounded))
        return replace(trace, steps=(replace(trace.steps[0], after=after),))

    a = spoken(("Take iron.", (1,)), ("It may upset you.", (2,)))
    b = spoken(("It may upset you.", (2,)), ("Take iron at night.", (1,)), ("I guess.", ()))
    assert together([a, b, None, said("No.", abstained=True)], first=1) == (
        Quoted("Iron › Side effects", (Statement("It may upset you.", (0, 1)),)),
        Quoted("Iron › Doses", (Statement("Take iron at night.", (1,)), Statement("Take iron.", (0,)))),
        Quoted("", (Statement("I guess.", (1,)),)),
    )
