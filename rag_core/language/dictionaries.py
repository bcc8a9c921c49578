"""The words of English and Spanish, by simplemma's dictionaries."""

import threading

_loading = threading.Lock()  # they take up to a second to load; only one thread should do so


def in_dictionary(word: str, language: str) -> bool:
    """Whether simplemma's dictionary of a language has a word."""
    with _loading:
        import simplemma

        return bool(simplemma.is_known(word, language, low_memory=True))  # a tenth of the memory


def lemma(word: str) -> str | None:
    """The dictionary form of a Spanish form; None if simplemma's dictionary lacks it."""
    if not in_dictionary(word, "es"):
        return None
    with _loading:
        import simplemma

        return str(simplemma.lemmatize(word, "es", low_memory=True))
