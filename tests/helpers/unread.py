"""The words that the reading of Spanish leaves as they are."""

from rag_core.language.spanish import Gloss
from rag_core.language.spanish.reader import _is_inside, composed


def unread(gloss: Gloss, text: str) -> list[str]:
    """The words of a text that could not be read, in text order; numbers, letters and names are not words."""
    whole = composed(text)
    left = [(piece.start, whole[piece.start : piece.end]) for piece in gloss._pieces(whole) if piece.english is None]
    return [
        word
        for start, word in left
        if len(word) > 1
        and word.isalpha()
        and not (word[0].isupper() and _is_inside(whole, start))
        and not gloss._words.is_english(word.lower())
    ]
