import pytest
from helpers.looping import for_each
from rich.cells import cell_len

from rag_core.cli.layout import say, width, wrapped


def test_a_line_is_cut_between_words_and_goes_on_further_in():
    assert wrapped("  one two three four", 11, hang=2) == ["  one two", "    three", "    four"]


def test_a_line_that_fits_is_left_alone_with_its_columns():
    assert wrapped("  k_final      5    passages", 28) == ["  k_final      5    passages"]


def test_a_line_break_inside_is_a_space_and_one_around_is_an_empty_line(capsys):
    say("\none\ntwo\r\n\nthree\n")
    assert capsys.readouterr().out == "\none two three\n\n"


def test_an_empty_line_stays_one():
    assert wrapped("", 80) == [""]


def test_a_word_wider_than_the_line_is_cut_inside():
    assert wrapped("x" * 25, 10) == ["x" * 10, "x" * 10, "x" * 5]
    assert wrapped("  ab " + "x" * 12, 10, hang=2) == ["  ab", "    xxxxxx", "    xxxxxx"]


@for_each("text", ["孕妇什么时候去医院" * 9, "🤰👶 " * 40, "¿Qué es la cesárea? " * 9, "a" * 300])
@for_each("hang", [0, 2, 6])
def test_wide_characters_count_twice(text, hang):
    lines = wrapped(f"  {text}", 80, hang)
    assert max(map(cell_len, lines)) <= 80
    assert "".join("".join(lines).split()) == "".join(text.split())


@pytest.mark.parametrize(("columns", "used"), [("40", 80), ("80", 80), ("120", 120), ("", 80)])
def test_the_terminals_width_is_used_and_80_at_least(monkeypatch, capsys, columns, used):
    monkeypatch.setenv("COLUMNS", columns)
    assert width() == used  # without a terminal, as here, COLUMNS alone says it
    say("word " * 60)
    lines = capsys.readouterr().out.splitlines()
    assert used - len("word ") <= max(map(len, lines)) <= used
