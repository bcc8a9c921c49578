import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.indexing.cutting import HARD, cut

SIZE = 60  # words


def count(text: str) -> int:
    return len(re.findall(r"\w+", text))


def numbered(lengths: list[tuple[str, list[int]]]) -> tuple[str, list[str], list[str]]:
    """A section of blocks, in which no word occurs twice; its lead-ins, and its lists with what belongs to them."""
    numbers = itertools.count()
    blocks: list[str] = []
    leads: list[str] = []
    lists: list[str] = []

    def words(length: int, end: str = ".") -> str:
        return " ".join(f"Word{next(numbers)}" for _ in range(length)) + end

    for kind, sizes in lengths:
        if kind == "prose":
            blocks.append(" ".join(map(words, sizes)))
            continue
        lead = words(sizes[0], ":")
        items = [f"- {words(size)}" for size in sizes[1:]]
        end = words(4)
        blocks += [lead, "\n".join(items), end]
        leads.append(lead)
        lists.append(" ".join([lead, *items, end]))
    return "\n\n".join(blocks), leads, lists


BLOCK = st.tuples(st.sampled_from(["prose", "list"]), st.lists(st.integers(2, 25), min_size=2, max_size=8))
SECTIONS = st.lists(BLOCK, min_size=1, max_size=6).map(numbered)


@given(SECTIONS)
def test_nothing_is_lost_and_only_a_lead_in_is_repeated(section):
    text, leads, _ = section
    found = [word for part in cut(text, "en", SIZE, count) for word in re.findall(r"\w+", part)]
    assert list(dict.fromkeys(found)) == re.findall(r"\w+", text)
    repeated = {word for word in found if found.count(word) > 1}
    assert repeated <= set(re.findall(r"\w+", " ".join(leads)))


@given(SECTIONS)
def test_a_list_below_the_limit_is_in_one_part_with_what_leads_in_and_what_concludes(section):
    text, _, lists = section
    parts = [set(re.findall(r"\w+", part)) for part in cut(text, "en", SIZE, count)]
    neighbours = len(lists) > 1  # what concludes one list may lead in the next
    for listed in lists:
        if count(listed) <= HARD * SIZE and not neighbours:
            assert any(set(re.findall(r"\w+", listed)) <= part for part in parts)


@given(SECTIONS)
def test_a_part_is_within_the_size_unless_a_list_is_kept_whole(section):
    text, _, _ = section
    for part in cut(text, "en", SIZE, count):
        assert count(part) <= (HARD * SIZE if "\n- " in f"\n{part}" else SIZE)


@given(SECTIONS)
def test_a_list_that_is_cut_begins_each_part_with_its_lead_in(section):
    assert not any(part.startswith("- ") for part in cut(section[0], "en", SIZE, count))


def sentence(length: int, word: str) -> str:
    return " ".join([word.title(), *[word] * (length - 1)]) + "."


def test_a_section_that_fits_is_not_touched():
    text = f"{sentence(29, 'a')}  {sentence(30, 'b')}\n- c"
    assert cut(text, "en", SIZE, count) == [text]


def test_paragraphs_that_fit_are_never_cut():
    paragraphs = [" ".join(sentence(10, word) for _ in range(4)) for word in ("a", "b", "c")]
    assert cut("\n\n".join(paragraphs), "en", SIZE, count) == paragraphs


def test_a_paragraph_that_does_not_fit_is_cut_evenly_between_sentences():
    parts = cut(" ".join(sentence(10, "a") for _ in range(8)), "en", SIZE, count)
    assert [count(part) for part in parts] == [40, 40]


def test_a_short_end_is_joined_to_what_fits_best():
    first, second, third = (sentence(length, word) for length, word in ((40, "a"), (30, "b"), (10, "c")))
    assert cut(f"{first}\n\n{second}\n\n{third}", "en", SIZE, count) == [first, f"{second}\n\n{third}"]


def test_a_list_past_the_limit_is_cut_between_items_and_its_lead_in_repeated():
    items = [f"- {sentence(20, word)}" for word in "abcdef"]
    listed = "\n".join(items)
    parts = cut(f"Go at once for:\n\n{listed}\n\nSay that you are pregnant.", "en", SIZE, count)
    assert len(parts) == 3
    assert all(part.startswith("Go at once for:\n\n- ") for part in parts)
    assert parts[-1].endswith("Say that you are pregnant.")


def test_an_action_stays_with_the_signs_before_it():
    filler = " ".join(sentence(9, "b") for _ in range(5))
    signs = "Heavy bleeding, fever and severe pain are signs of danger."
    action = "Any of these means that you should go to the hospital at once."
    for before in range(0, 6):
        text = f"{' '.join([sentence(9, 'a')] * before)} {signs} {action} {filler}".strip()
        assert any(signs in part and action in part for part in cut(text, "en", SIZE, count))


def test_an_action_stays_with_the_signs_after_it():
    action, signs = "Call the emergency number at once.", "The reasons are heavy bleeding and chest pain."
    for before in range(0, 8):
        text = (
            f"{' '.join([sentence(9, 'a')] * before)} {action} {signs} {sentence(9, 'b')} {sentence(9, 'b')}"
        )
        assert any(action in part and signs in part for part in cut(text.strip(), "en", SIZE, count))


def test_rows_of_a_table_are_not_cut_from_its_head():
    rows = "\n".join(f"| {sentence(4, word)} | {sentence(4, word)} |" for word in "abcd")
    table = f"| Drug | Dose |\n|---|---|\n{rows}"
    parts = cut(f"{sentence(50, 'x')}\n\n{table}", "en", SIZE, count)
    assert any(table in part for part in parts)


def test_rows_without_signs_around_them_are_cut_apart_and_named():
    rows = [f"{sentence(9, word)} | {sentence(9, word)}" for word in "abcdefgh"]
    parts = cut("\n".join(["Drug | Dose", "--- | ---", *rows]), "en", SIZE, count)
    assert len(parts) > 2
    assert all(part.startswith("Drug | Dose\n--- | ---\n") for part in parts)
    assert [line for part in parts for line in part.split("\n")[2:]] == rows


@pytest.mark.parametrize("rule", ["|---|---|", "| --- | :-: |", "|:--|--:|"])
def test_each_part_of_a_table_begins_with_its_lead_in_and_header(rule):
    head = f"| Drug | Dose |\n{rule}"
    rows = [f"| {sentence(9, word)} | {sentence(9, word)} |" for word in "abcdefgh"]
    table = "\n".join([head, *rows])
    parts = cut(f"For midwives:\n\n{table}\n\nAsk first.", "en", SIZE, count)
    assert len(parts) > 2
    assert all(part.startswith(f"For midwives:\n\n{head}\n| ") for part in parts)
    assert [line for part in parts for line in part.split("\n") if line in rows] == rows


def test_a_second_table_has_its_own_header_and_a_list_below_has_none():
    rows = [f"| {sentence(18, word)} |" for word in "abcdef"]
    items = [f"- {sentence(18, word)}" for word in "xyz"]
    text = "\n".join(
        ["| One |", "| --- |", *rows[:3], "", "| Two |", "| --- |", *rows[3:], "", "Also:", "", *items]
    )
    parts = cut(text, "en", SIZE, count)
    for part in parts:
        lines = part.split("\n")
        for name, own in (("| One |", rows[:3]), ("| Two |", rows[3:])):
            assert (name in lines) == any(row in lines for row in own)
        assert not (lines[0].startswith("|") and any(item in lines for item in items[1:]))


def test_a_header_too_long_to_repeat_is_written_once():
    head = f"| {sentence(60, 'n')} |\n| --- |"
    rows = "\n".join(f"| {sentence(18, word)} |" for word in "abcdef")
    assert "\n\n".join(cut(f"{head}\n{rows}", "en", SIZE, count)).count("---") == 1
