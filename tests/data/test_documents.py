"""A document's words."""

from __future__ import annotations

import pytest

from rag_core.data.documents import Document

LEAFLET = Document("en-anti-d", "Anti-D and rhesus", "en", "# Anti-D\n\nGiven at 28 weeks.")


@pytest.mark.parametrize(
    ("words", "contained"),
    [("", True), ("ANTI-D", True), ("weeks rhesus", True), ("week 28", True), ("weeks zzzz", False)],
)
def test_words_are_looked_for_in_title_and_body_in_any_case(words: str, contained: bool) -> None:
    assert LEAFLET.contains(words) is contained


def test_words_of_the_body_are_counted() -> None:
    assert LEAFLET.word_count == 6
