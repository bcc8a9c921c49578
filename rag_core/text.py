"""Words, sentences and languages: one analyser for index, query and highlighting alike."""

from __future__ import annotations

import functools
import importlib.util
import re
import threading
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

LANGUAGES = {"en": "english", "es": "spanish"}  # ISO 639-1 code -> name in NLTK and Snowball
ANALYSER = "snowball-stems+nltk-stop-words/2"  # part of an index's identity: change it with the analyser

SHORT = 3  # words up to which a question's language is a guess

_WORD = re.compile(r"[\w\u0300-\u036f]+")  # a letter and its separate accent stay together
_KEPT_SINGLE = {"en": {"a", "i"}, "es": {"a", "e", "o", "u", "y"}}  # the only one-letter stop words
_QUESTION_WORDS = {  # with their accents, which NLTK's list leaves out
    "es": frozenset(
        [
            "cómo",
            "cuándo",
            "dónde",
            "adónde",
            "cuál",
            "cuáles",
            "quién",
            "quiénes",
            "cuánto",
            "cuánta",
            "cuántos",
            "cuántas",
            "qué",
        ]
    )
}
_BREAK = re.compile(r"(?:^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+)|\n{2,}", re.MULTILINE)
_lock = threading.Lock()  # Snowball stemmers keep state between calls


class Word(NamedTuple):
    """A word where it stands in a text: its span, lower-cased, and its stem; both without accents."""

    start: int
    end: int
    form: str
    stem: str
    stop: bool  # a stop word of the language


def language_of(text: str) -> str:
    """The most likely language of a text, as an ISO 639-1 code.

    Text in Latin script is taken to be English or Spanish, the analyser's two languages, because
    short questions are often misread as a rarer one; other scripts give whatever is detected.
    Text without a letter gives "en".
    """
    letters = [char for char in text if char.isalpha()]
    if not letters:
        return "en"
    latin = sum("LATIN" in unicodedata.name(char, "") for char in letters)
    code = _detector(2 * latin >= len(letters)).classify(text)[0]
    return str(code)


def tokens(text: str, language: str) -> list[str]:
    """The terms of a text: lower-cased words without stop words, stemmed, accents folded.

    One-letter words other than articles and conjunctions are kept ("vitamin D", "anti-D").
    Languages without a stemmer here keep their words as they are.
    """
    stop = _stop_words(language)
    words = [word for word in _words(text) if word not in stop]
    return [_fold(stem) for stem in _stem(words, language)]


def query_tokens(question: str, languages: Sequence[str]) -> list[str]:
    """The terms to search a collection with.

    A question of a few words gives no sure sign of its language, so it is analysed in each of the
    collection's languages; a longer one in its own, or in the collection's first when it is another.

    Args:
        languages: the collection's languages, the most frequent first; at least one.
    """
    detected = language_of(question)
    first = detected if detected in languages else languages[0]
    terms = tokens(question, first)
    if len(_WORD.findall(question)) <= SHORT:
        for language in languages:
            terms += [term for term in tokens(question, language) if term not in terms]
    return terms


def matches(text: str, question: str, language: str) -> list[tuple[int, int]]:
    """Spans (start, end) of the words of `text` that share a term with `question`."""
    wanted = {*tokens(question, language), *tokens(question, language_of(question))}
    stop = _stop_words(language)
    spans = [match.span() for match in _WORD.finditer(text) if _composed(match[0]) not in stop]
    stems = _stem([_composed(text[start:end]) for start, end in spans], language)
    return [span for span, stem in zip(spans, stems, strict=True) if _fold(stem) in wanted]


def words_of(text: str, language: str) -> list[Word]:
    """Every word of a text in order, stop words among them."""
    stop = _stop_words(language)
    spans = [match.span() for match in _WORD.finditer(text)]
    words = [_composed(text[start:end]) for start, end in spans]
    stems = _stem(words, language)
    return [
        Word(start, end, _fold(word), _fold(stem), word in stop)
        for (start, end), word, stem in zip(spans, words, stems, strict=True)
    ]


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text in order; a list item is a sentence of its own."""
    splitter = _sentence_splitter(language)
    blocks = (block.strip() for block in _BREAK.split(text))
    return [" ".join(sentence.split()) for block in blocks if block for sentence in splitter.tokenize(block)]


def warm_up() -> None:
    """Load what the functions above load at their first call, which takes about two seconds."""
    for language in LANGUAGES:
        sentences("Warm.", language)
        tokens("Warm.", language)
    language_of("Warm.")


def _words(text: str) -> list[str]:
    return [_composed(word) for word in _WORD.findall(text)]


def _composed(word: str) -> str:
    return unicodedata.normalize("NFC", word).lower()


def _fold(word: str) -> str:
    decomposed = unicodedata.normalize("NFKD", word)
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _stem(words: Sequence[str], language: str) -> list[str]:
    if language not in LANGUAGES:
        return list(words)
    with _lock:
        return list(_stemmer(language).stemWords(list(words)))


@functools.cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(LANGUAGES[language])


@functools.cache
def _stop_words(language: str) -> frozenset[str]:
    if language not in LANGUAGES:
        return frozenset()
    listed = _nltk().corpus.stopwords.words(LANGUAGES[language])
    words = {part for word in listed for part in _WORD.findall(word) if len(part) > 1}
    return frozenset(words | _KEPT_SINGLE[language] | _QUESTION_WORDS.get(language, frozenset()))


@functools.cache
def _sentence_splitter(language: str) -> Any:
    return _nltk().tokenize.PunktTokenizer(LANGUAGES.get(language, "english"))


@functools.cache
def _nltk() -> Any:
    """NLTK, reading the stop words and sentence models that LlamaIndex ships; nothing is downloaded."""
    import nltk
    import nltk.corpus

    spec = importlib.util.find_spec("llama_index.core")
    if spec and spec.origin:
        nltk.data.path.insert(0, str(Path(spec.origin).parent / "_static" / "nltk_cache"))
    nltk.corpus.stopwords.ensure_loaded()  # the lazy loader is not thread-safe
    return nltk


@functools.cache
def _detector(two: bool) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    detector = LanguageIdentifier.from_model_file(MODEL_FILE)
    if two:
        detector.set_languages(list(LANGUAGES))
    return detector
