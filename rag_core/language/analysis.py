"""Words, sentences and languages: one analyser for index, query and highlighting alike."""

from __future__ import annotations

import functools
import importlib.util
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

LANGUAGES = {"en": "english", "es": "spanish"}  # ISO 639-1 code -> name in NLTK and Snowball
ANALYSER = "snowball-stems+nltk-stop-words/3"  # part of an index's identity: change it with the analyser

_TILDE = "\u0303"
SHORT = 3  # words up to which a question's language is a guess
# Among these, and a collection's own, a question's language is looked for. Of all the detector knows, misspelt and
# bare-keyword questions are taken for Latin or Nigerian Pidgin.
COMMON = (
    "ca", "cs", "da", "de", "en", "es", "eu", "fi", "fr", "gl", "hu", "id", "it", "nl", "no", "pl", "pt", "ro", "sv",
    "sw", "tr", "vi",
)  # fmt: skip
# Probability from which a third language is believed; the highest any of the 315 built-in questions reaches is 0.46.
SURE = 0.6
SAMPLE = 200  # documents looked at, spread over a collection
BEGINNING = 1000  # characters of each
MAIN_LANGUAGE = 0.1  # share of a collection from which a language counts as one of its languages

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
    if not any(char.isalpha() for char in text):
        return "en"
    code = _detector(tuple(LANGUAGES) if _is_latin(text) else ()).classify(text)[0]
    return str(code)


def sure_language(text: str, expected: Iterable[str] = ()) -> str:
    """The language of a text, whichever it is; empty when it is a guess.

    Args:
        expected: languages it may be in beside the common ones.
    """
    if not any(char.isalpha() for char in text):
        return ""
    if not _is_latin(text):
        return language_of(text)
    code, probability = _detector(tuple(sorted({*COMMON, *expected}))).classify(text)
    return str(code) if probability >= SURE else ""


def detect_language(text: str) -> str:
    """The language of a text: a third one where that is sure, else English or Spanish."""
    return sure_language(text) or language_of(text)


def languages_of(texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """The languages of a collection, the most frequent first, from a sample of it.

    Args:
        texts: (text, language); a language that `language_of` cannot have guessed was given with the text
            and is believed.
    """
    step = max(1, len(texts) // SAMPLE)
    sample = texts[::step]
    counted = Counter(
        language if language not in LANGUAGES else detect_language(text[:BEGINNING])
        for text, language in sample
    )
    return tuple(code for code, count in counted.most_common() if count >= MAIN_LANGUAGE * len(sample))


def tokens(text: str, language: str) -> list[str]:
    """The terms of a text: lower-cased words without stop words, stemmed, accents folded but that of ñ.

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
    detect_language("Warm.")


def _is_latin(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(char, "") for char in letters) >= len(letters)


def _words(text: str) -> list[str]:
    return [_composed(word) for word in _WORD.findall(text)]


def _composed(word: str) -> str:
    return unicodedata.normalize("NFC", word).lower()


def typed(word: str) -> str:
    """A folded word as it is typed where the keyboard has no ñ."""
    return word.replace("ñ", "n")


def _fold(word: str) -> str:
    """A word without its accents; ñ stays, a letter of its own ("año" is no "ano")."""
    decomposed = unicodedata.normalize("NFKD", word)
    kept = (
        char
        for before, char in zip(f" {decomposed}", decomposed, strict=False)
        if not unicodedata.combining(char) or (char == _TILDE and before == "n")
    )
    return unicodedata.normalize("NFC", "".join(kept))


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
def _detector(languages: tuple[str, ...]) -> Any:
    """A detector of these languages, of all it knows for none; its probabilities add up to 1."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    detector = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if languages:
        detector.set_languages([code for code in languages if code in detector.nb_classes])
    return detector
