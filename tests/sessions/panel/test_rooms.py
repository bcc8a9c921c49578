"""Rooms: who joins, what is asked, every vote counted once, and codes that cannot be tried without end."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest
from helpers.answers import answered
from helpers.looping import for_each
from helpers.processes import killed_after
from pydantic import SecretStr
from sqlalchemy import create_engine, text

from rag_core.sessions.panel.ranking import Gap, compare, figures
from rag_core.sessions.panel.room import (
    MOST_OF_ALL,
    MOST_WRONG,
    WINDOW_S,
    Candidate,
    Guesses,
    Pair,
    Question,
    Room,
    Round,
    as_question,
    can_be_asked,
)
from rag_core.sessions.panel.store import Rooms
from rag_core.values.answers import Grounded
from rag_core.values.errors import PanelError, StorageError
from rag_core.values.settings import Settings
from rag_core.values.triage import Triage

TRIAGE = Triage("emergency", ("heavy bleeding",), "Call now.")
VOTE_ON = """
import sys
from pydantic import SecretStr
from rag_core.sessions.panel.store import Rooms
from rag_core.values.settings import Settings
rooms = Rooms.opened(Settings(database_url=SecretStr(sys.argv[1])))
asked = rooms.current(sys.argv[2])
while True:
    token = rooms.join(asked.room)
    rooms.vote(asked, token, rooms.pair(asked, token), "left")
    print(token, flush=True)
"""


@pytest.fixture
def rooms(address: str) -> Rooms:
    return Rooms.opened(Settings(database_url=SecretStr(address)))


@pytest.fixture
def room(rooms: Rooms) -> Room:
    return rooms.open_room("Ward 3")


@pytest.fixture
def asked(rooms: Rooms, room: Room) -> Round:
    return rooms.ask(room.code, room.presenter_token, question("abc"))


def question(labels: str) -> Question:
    answers = tuple(Candidate(label, answered(f"Answer {label}.")) for label in labels)
    return Question("Is it safe?", answers, "en", TRIAGE, "safety")


def judge_all(rooms: Rooms, asked: Round, token: str) -> list[Pair]:
    """Vote on every pair, and return them."""
    judged = []
    while pair := rooms.pair(asked, token):
        rooms.vote(asked, token, pair, "left")
        judged.append(pair)
    return judged


def test_a_person_judges_every_pair_once_changes_a_vote_and_is_the_same_after_a_reload(rooms, asked):
    token = rooms.join(asked.room)
    assert rooms.join(asked.room.lower(), token) == token
    assert rooms.pair(asked, token) == rooms.pair(asked, token)
    judged = judge_all(rooms, asked, token)
    assert sorted(one.key for one in judged) == ["0-1", "0-2", "1-2"]
    rooms.vote(asked, token, judged[0], "both_unsafe", ("safe", "correct"), "  The dose is wrong.\0" + "x" * 999)
    (changed,) = [one for one in rooms.votes(asked.room) if one.pair == judged[0]]
    assert (changed.choice, changed.reasons, changed.better) == ("both_unsafe", ("correct", "safe"), None)
    assert (changed.comment[:22], len(changed.comment)) == ("The dose is wrong.\ufffdxxx", 500)
    assert set(rooms.own_votes(asked, token)) == set(rooms.votes(asked.room))
    late = rooms.join(asked.room, "not a token")
    assert late != "not a token"
    count = rooms.count(asked)
    assert (count.joined, count.voted, count.votes) == (2, 1, 3)


def test_what_was_asked_is_drawn_again_and_only_the_presenter_asks_closes_and_deletes(rooms, room, asked):
    assert rooms.current(room.code) == asked
    assert rooms.room(f" {room.code.lower()} ").title == "Ward 3"
    token = rooms.join(room.code)
    pair = rooms.pair(asked, token)
    assert pair
    for refused in (
        lambda: rooms.ask(room.code, token, question("ab")),
        lambda: rooms.close(asked, ""),
        lambda: rooms.reveal(asked, "ä"),
        lambda: rooms.export(room.code, token),
        lambda: rooms.delete_room(room.code, token),
    ):
        with pytest.raises(PanelError, match="Only the presenter"):
            refused()
    again = rooms.ask(room.code, room.presenter_token, question("ab"))
    assert [(one.number, one.closed) for one in rooms.rounds(room.code)] == [(1, True), (2, False)]
    with pytest.raises(PanelError, match="closed"):
        rooms.vote(asked, token, pair, "left")
    assert rooms.reveal(again, room.presenter_token).revealed
    other = rooms.open_room("Ward 4")
    rooms.delete_room(room.code, room.presenter_token)
    for gone in (rooms.current, rooms.votes, rooms.join):
        with pytest.raises(PanelError, match="no room with this code"):
            gone(room.code)
    assert rooms.current(other.code) is None


def test_people_in_a_room_get_pairs_evenly_and_sides_by_chance(rooms, asked):
    shown = [rooms.pair(asked, rooms.join(asked.room)) for _ in range(60)]
    assert Counter(one.key for one in shown if one) == {"0-1": 20, "0-2": 20, "1-2": 20}
    assert len(set(shown)) == 6  # each pair both ways round: one side for all has a chance of 3 / 2^19


def test_a_room_closes_by_itself_and_keeps_what_was_said(rooms, room, asked, monkeypatch):
    token = rooms.join(room.code)
    pair, *_ = judge_all(rooms, asked, token)
    assert room.closes - room.opened == timedelta(hours=12)
    monkeypatch.setattr("rag_core.sessions.panel.room.OPEN_FOR", timedelta(0))
    for refused in (
        lambda: rooms.join(room.code),
        lambda: rooms.pair(asked, token),
        lambda: rooms.vote(asked, token, pair, "right"),
        lambda: rooms.ask(room.code, room.presenter_token, question("ab")),
    ):
        with pytest.raises(PanelError, match="closed 0 hours after it was opened"):
            refused()
    assert {vote.choice for vote in rooms.votes(room.code)} == {"left"}
    assert rooms.export(room.code, room.presenter_token)
    assert rooms.reveal(asked, room.presenter_token).revealed


def test_a_vote_that_races_with_closing_is_counted_exactly_if_it_was_acknowledged(rooms, room, asked):
    tokens = [rooms.join(room.code) for _ in range(16)]
    together = Barrier(len(tokens) + 1)

    def vote(token: str) -> int:
        together.wait()
        try:
            return len(judge_all(rooms, asked, token))
        except PanelError:
            return len(rooms.own_votes(asked, token))

    def close() -> int:
        together.wait()
        rooms.close(asked, room.presenter_token)
        return len(rooms.votes(room.code))  # all that will ever be

    with ThreadPoolExecutor(len(tokens) + 1) as threads:
        voted = [threads.submit(vote, token) for token in tokens]
        counted = threads.submit(close).result()
    assert sum(one.result() for one in voted) == counted == len(rooms.votes(room.code))


def test_a_process_that_is_killed_while_it_votes_loses_no_acknowledged_vote(rooms, address, asked):
    acknowledged = killed_after(12, VOTE_ON, address, asked.room)
    assert all(len(rooms.own_votes(asked, token)) == 1 for token in acknowledged)
    assert len(judge_all(rooms, asked, rooms.join(asked.room))) == 3  # and the room goes on


@pytest.mark.parametrize(
    "wrong",
    [
        lambda rooms, asked, token: rooms.vote(asked, token, Pair(0, 0), "left"),
        lambda rooms, asked, token: rooms.vote(asked, token, Pair(0, 3), "left"),
        lambda rooms, asked, token: rooms.vote(asked, token, Pair(0, 1), "best"),
        lambda rooms, asked, token: rooms.vote(asked, token, Pair(0, 1), "left", ["pretty"]),
    ],
)
def test_a_vote_on_nothing_is_refused(rooms, asked, wrong):
    with pytest.raises(ValueError, match="no "):
        wrong(rooms, asked, rooms.join(asked.room))
    assert rooms.votes(asked.room) == ()


def test_no_token_and_no_room_older_than_it_is_kept_is_in_the_file(tmp_path):
    rooms = Rooms.opened(Settings(home=tmp_path / "home", history_days=3))
    old = rooms.open_room("Old")
    rooms.ask(old.code, old.presenter_token, question("ab"))
    token = rooms.join(old.code)
    file = tmp_path / "home" / "history" / "questions.sqlite"
    assert {old.presenter_token.encode() in file.read_bytes(), token.encode() in file.read_bytes()} == {False}
    assert file.stat().st_mode & 0o077 == 0
    with create_engine(f"sqlite:///{file}").begin() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        connection.execute(text("UPDATE rag_rooms SET opened = '2020-01-01'"))
    rooms.open_room("New")
    with pytest.raises(PanelError):
        rooms.room(old.code)
    assert Rooms.opened(Settings(home=tmp_path, history="off")) is None


def traces(*answers: str) -> list:
    return [replace(answered(one), strategy="bm25", question="¿Cuándo debo ir al hospital?") for one in answers]


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


WRONG = PanelError("There is no room with this code.")


def looked_up(guesses: Guesses, tries: int, *addresses: str) -> int:
    """How many of these codes, all wrong, are looked up."""
    found = 0
    for place in range(tries):
        with suppress(PanelError), guesses.guess(addresses[place % len(addresses)]):
            found += 1
            raise WRONG
    return found


def test_513_codes_from_an_address_in_15_s_are_30_and_30_more_a_minute_later():
    clock = [0.0]
    guesses = Guesses(lambda: clock[0])
    assert looked_up(guesses, 513, "a") == MOST_WRONG == 30
    clock[0] = WINDOW_S - 0.1
    assert looked_up(guesses, 1, "a") == 0
    with guesses.guess("b"):  # another address
        pass
    clock[0] = WINDOW_S
    assert looked_up(guesses, 513, "a") == MOST_WRONG


def test_from_many_addresses_they_are_100():
    assert looked_up(Guesses(lambda: 0.0), 513, *map(str, range(200))) == MOST_OF_ALL == 100


def test_right_codes_and_other_faults_do_not_count():
    guesses = Guesses(lambda: 0.0)
    for _ in range(MOST_OF_ALL + 1):
        with guesses.guess("a"):
            pass
        with pytest.raises(StorageError), guesses.guess("a"):
            raise StorageError("The database does not answer.")


def test_codes_that_are_being_looked_up_count():
    guesses = Guesses(lambda: 0.0)
    with ExitStack() as under_way:
        for _ in range(MOST_WRONG):
            under_way.enter_context(guesses.guess("a"))
        assert looked_up(guesses, 1, "a") == 0
    assert looked_up(guesses, 1, "a") == 1
