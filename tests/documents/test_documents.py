"""A document's words."""

from rag_core.documents.documents import Document

LEAFLET = Document("en-anti-d", "Anti-D and rhesus", "en", "# Anti-D\n\nGiven at 28 weeks.")


def test_words_of_the_body_are_counted():
    assert LEAFLET.word_count == 6
