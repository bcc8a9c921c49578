from contextlib import ExitStack, suppress

import pytest

from rag_core.sessions.panel.room import MOST_OF_ALL, MOST_WRONG, WINDOW_S, Guesses
from rag_core.values.errors import PanelError, StorageError

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
