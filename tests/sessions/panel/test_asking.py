from dataclasses import replace

import pytest
from helpers.answers import answered
from helpers.looping import for_each
from pydantic import SecretStr

from rag_core.sessions.panel import (
    Candidate,
    Gap,
    Question,
    Rooms,
    as_question,
    can_be_asked,
    compare,
    figures,
)
from rag_core.values.answers import Grounded
from rag_core.values.settings import Settings


def traces(*answers: str) -> list:
    return [
        replace(answered(one), strategy="bm25", question="¿Cuándo debo ir al hospital?") for one in answers
    ]


def test_equal_titles_are_numbered_and_the_language_is_that_of_the_question():
    asked = as_question(traces("Go.", "Wait."), "lay")
    assert [one.label for one in asked.answers] == ["BM25 keywords", "BM25 keywords (2)"]
    assert (asked.language, asked.kind) == ("es", "lay")


@for_each(
    ("answers", "can"),
    [
        (["Go."], False),
        (["Go.", "Go."], False),
        (["Go [1].", "Go [2]."], False),
        (["Go.", "Wait."], True),
        (["a", "b", "c", "d", "e"], False),
    ],
)
def test_two_to_four_answers_that_are_not_all_the_same_can_be_asked(answers, can):
    assert can_be_asked(traces(*answers)) is can


def test_nobody_compares_an_answer_with_itself_or_reads_a_pair_of_answers_twice(tmp_path):
    asked = as_question(traces("Go.", "Wait.", "Go."))
    assert asked.pairs == ((0, 1), (1, 2))
    assert asked.readings == 1  # "Go." against "Wait."
    rooms = Rooms.opened(Settings(database_url=SecretStr(f"sqlite:///{tmp_path / 'rooms.db'}")))
    room = rooms.open_room("Ward")
    shown = rooms.ask(room.code, room.presenter_token, asked)
    seen = set()
    for _ in range(2):  # people: the room as a whole judges both strategies that say "Go."
        token = rooms.join(room.code)
        pair = rooms.pair(shown, token)
        seen.add(pair.key)
        rooms.vote(shown, token, pair, "tie")
        assert rooms.pair(shown, token) is None
    assert seen == {"0-1", "1-2"}


def test_answers_that_only_their_markers_tell_apart_are_one():
    assert as_question(traces("Go [1].", "Wait.", "Go [2].")).pairs == ((0, 1), (1, 2))


def test_a_presenter_finds_the_room_again_by_the_token_that_the_browser_has(tmp_path):
    rooms = Rooms.opened(Settings(database_url=SecretStr(f"sqlite:///{tmp_path / 'rooms.db'}")))
    assert rooms
    token = "a" * 32
    assert rooms.presented(token) is None
    rooms.open_room("Monday", presenter_token=token)
    room = rooms.open_room("Tuesday", presenter_token=token)
    rooms.open_room("Of others")
    assert rooms.presented(token) == room
    assert rooms.people(room.code) == 0
    rooms.join(room.code)
    assert rooms.people(room.code) == 1


def test_figures_are_sums_over_the_questions_of_a_room():
    said = [Grounded(0, 3, "Go.", "supported"), Grounded(4, 8, "Run.", "weak")]
    trace = answered("Go. Run.", sentences=said)
    question = Question("Why?", (Candidate("a", trace), Candidate("b", answered("Wait."))))
    found = figures([_Asked(question), _Asked(question)])
    assert (found["a"].supported, found["a"].sentences) == (2, 4)
    assert (found["b"].supported, found["b"].sentences, found["b"].cost_usd) == (0, 0, 0)


class _Asked:
    def __init__(self, question: Question) -> None:
        self.question = question


HIGH, LOW, BETWEEN = (0.8, 0.75, 0.85), (0.6, 0.55, 0.65), (0.72, 0.65, 0.79)


@pytest.mark.parametrize(
    ("low", "better", "worse", "said"),
    [
        (0.1, HIGH, LOW, "same"),
        (0.1, LOW, HIGH, "opposite"),
        (0.1, HIGH, BETWEEN, "votes"),
        (-0.1, LOW, HIGH, "figure"),
        (-0.1, HIGH, BETWEEN, "neither"),
        (0.1, HIGH, None, "unknown"),
    ],
)
def test_a_figure_says_as_the_votes_the_opposite_or_nothing(low, better, worse, said):
    gap = Gap("a", "b", 0.5, low, 0.9, 0 if low > 0 else 20)
    assert compare(gap, {"a": better, "b": worse}) == said
