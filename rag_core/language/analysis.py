"""Words, sentences and languages: the one analyser for indexing, queries and highlighting."""

import functools
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from .detector import detector
from .dictionaries import in_dictionary
from .punkt import splitter, trained

LANGUAGES = {"en": "english", "es": "spanish"}  # ISO 639-1 code -> name in NLTK and Snowball
STEMMERS = {**LANGUAGES, "ar": "arabic"}  # whose article and prepositions are part of the word
ANALYSER = "snowball-stems+nltk-stop-words/4"  # part of an index's identity: change it with the analyser

_TILDE = "\u0303"
SHORT_QUESTION = 3  # words; up to here a question's language is a guess
# A question's language is one of these or of the collection's. Given every language it knows, the detector takes
# misspelt and bare-keyword questions for Latin or Nigerian Pidgin.
COMMON_LANGUAGES = (
    "ca", "cs", "da", "de", "en", "es", "eu", "fi", "fr", "gl", "hu", "id", "it", "nl", "no", "pl", "pt", "ro", "sv",
    "sw", "tr", "vi",
)  # fmt: skip
# Lowest probability at which a third language is accepted; the 613 built-in questions reach 0.61 at most.
MIN_CONFIDENCE = 0.7
# Of 1,652 known questions of at most four words (data/asked), 2 English and 4 Spanish are then read wrongly;
# without the dictionaries, at the best MIN_SPANISH (0.65), 19 and 11.
SHORT = 4  # words of a text that the dictionaries are asked about, unless the detector is
CERTAIN = 0.9
UNSURE = 2  # words of a text whose language is assumed, if dictionaries and detector leave it open
MIN_SPANISH = 0.7
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_SPANISH = re.compile("[áéíóúñ¿¡]", re.IGNORECASE)
SAMPLE_SIZE = 200  # documents sampled, spread over a collection
SAMPLE_CHARACTERS = 1000  # characters of each sampled document
MAIN_LANGUAGE = 0.1  # lowest share of a collection at which a language counts as one of its languages

_WORD = re.compile(r"[\w\u0300-\u036f]+")  # keeps a letter and its combining accent together
# Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_HAS_UNSPACED = re.compile(f"[{_UNSPACED}]")
_SPACED_OR_NOT = re.compile(rf"([{_UNSPACED}]+)|(?:[^\W{_UNSPACED}]|[\u0300-\u036f])+")
_KEPT_SINGLE = {"en": {"a", "i"}, "es": {"a", "e", "o", "u", "y"}}  # the only one-letter stop words
_QUESTION_WORDS = {  # with accents, missing from NLTK's list
    "es": "cómo cuándo dónde adónde cuál cuáles quién quiénes cuánto cuánta cuántos cuántas qué"
}
LIST_ITEM = re.compile(r"[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+")  # how one begins
_BREAK = re.compile(rf"^{LIST_ITEM.pattern}|\n{{2,}}", re.MULTILINE)
_assumed: ContextVar[str] = ContextVar("assumed language", default="")
_lock = threading.Lock()  # Snowball stemmers keep state between calls


class Word(NamedTuple):
    """A word in a text: its span, and its lower-cased form and stem without accents."""

    start: int
    end: int
    form: str
    stem: str
    stop: bool  # a stop word of the language


@contextmanager
def assuming(*languages: str) -> Iterator[None]:
    """In the block, a word or two that may be either are in this language; of several, in the one assumed around it."""
    around = _assumed.get()
    code = languages[0] if len(languages) == 1 else around if around in languages else ""
    token = _assumed.set(code if code in LANGUAGES else "")
    try:
        yield
    finally:
        _assumed.reset(token)


def language_of(text: str) -> str:
    """The most likely language of a text, as an ISO 639-1 code.

    Latin script is read as English or Spanish, the analyser's two languages, because short questions
    are often mistaken for a rarer one; other scripts give whatever is detected. Text without letters
    gives "en". Of a few words, dictionaries tell more than the detector, to which those of Greek and Latin look
    Spanish ("cord prolapse caesarean"); Spanish without its letters must be likely. What both tell nothing of, such as
    "diabetes", is in the language that is assumed (`assuming`), if any.
    """
    code, sure = _guessed(text)
    return code if sure else _assumed.get() or code


@functools.lru_cache(maxsize=1024)  # a question's language is asked for again with every passage
def _guessed(text: str) -> tuple[str, bool]:
    """The most likely language of a text, and whether more than chance speaks for it."""
    if not any(char.isalpha() for char in text):
        return "en", True
    latin, sure = _is_latin(text), True
    code, probability = detector(tuple(LANGUAGES) if latin else ()).classify(text)
    if latin and probability < CERTAIN and len(words := _LETTERS.findall(text)) <= SHORT:
        english, spanish = (
            sum(in_dictionary(word, language) or in_dictionary(word.lower(), language) for word in words)
            for language in ("en", "es")
        )
        if english != spanish:
            return "en" if english > spanish else "es", True
        sure = len(words) > UNSURE or _SPANISH.search(text) is not None
    if code == "es" and probability < MIN_SPANISH and not _SPANISH.search(text):
        code = "en"
    return str(code), sure


def confident_language(text: str, expected: Iterable[str] = ()) -> str:
    """The language of a text, of the common or `expected` ones, if the detector is confident; or ""."""
    if not any(char.isalpha() for char in text):
        return ""
    if not _is_latin(text):
        return language_of(text)
    code, probability = _classified(text, tuple(sorted({*COMMON_LANGUAGES, *expected})))
    return str(code) if probability >= MIN_CONFIDENCE else ""


@functools.lru_cache(maxsize=1024)
def _classified(text: str, languages: tuple[str, ...]) -> Any:
    return detector(languages).classify(text)


def detect_language(text: str) -> str:
    """The language of a text: a third language if confident, otherwise English or Spanish."""
    return confident_language(text) or language_of(text)


def languages_of(texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Languages of (text, language), most frequent first, by a sample; all but English and Spanish are trusted."""
    sample = texts[:: max(1, len(texts) // SAMPLE_SIZE)]
    counted = Counter(
        language if language not in LANGUAGES else detect_language(text[:SAMPLE_CHARACTERS])
        for text, language in sample
    )
    return tuple(code for code, count in counted.most_common() if count >= MAIN_LANGUAGE * len(sample))


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the words of a text are; in scripts without spaces, every two characters, as Lucene's CJKAnalyzer has them."""
    if text.isascii() or not _HAS_UNSPACED.search(text):
        return [match.span() for match in _WORD.finditer(text)]
    spans = []
    for match in _SPACED_OR_NOT.finditer(text):
        start, end = match.span()
        pairs = match[1] is not None and end - start > 2
        spans += [(at, at + 2) for at in range(start, end - 1)] if pairs else [(start, end)]
    return spans


def tokens(text: str, language: str) -> list[str]:
    """The terms of a text: lower-cased, stemmed, without stop words or accents except the tilde of ñ.

    One-letter words other than articles and conjunctions are kept ("vitamin D", "anti-D"). In languages
    without a stemmer here, words are not stemmed.
    """
    stop = stop_words(language)
    words = [word for start, end in _spans(text) if (word := _composed(text[start:end])) not in stop]
    return [_fold(stem) for stem in _stem(words, language)]


def query_tokens(question: str, languages: Sequence[str], gloss: str = "") -> list[str]:
    """The terms to search a collection for; the English `gloss` adds terms for English passages.

    The language of a very short question is uncertain, so it is analysed in each of the collection's languages, at
    least one, most frequent first. A longer one is analysed in its own if the collection has it, else in the first.
    """
    detected = language_of(question)
    first = detected if detected in languages else languages[0]
    terms = tokens(question, first)
    if len(_spans(question)) <= SHORT_QUESTION:
        for language in languages:
            terms += [term for term in tokens(question, language) if term not in terms]
    return terms + [term for term in tokens(gloss, "en") if gloss != question and term not in terms]


def matches(text: str, question: str, language: str) -> list[tuple[int, int]]:
    """Spans (start, end) of the words of `text` that share a term with `question`."""
    terms = {*tokens(question, language), *tokens(question, language_of(question))}
    stop = stop_words(language)
    spans = [span for span in _spans(text) if _composed(text[slice(*span)]) not in stop]
    stems = _stem([_composed(text[start:end]) for start, end in spans], language)
    found: list[tuple[int, int]] = []
    for (start, end), stem in zip(spans, stems, strict=True):
        if _fold(stem) in terms:
            overlaps = found and start < found[-1][1]
            found.append((found.pop()[0] if overlaps else start, end))
    return found


def words_of(text: str, language: str) -> list[Word]:
    """Every word of a text in order, including stop words."""
    stop = stop_words(language)
    spans = _spans(text)
    words = [_composed(text[start:end]) for start, end in spans]
    stems = _stem(words, language)
    return [
        Word(start, end, _fold(word), _fold(stem), word in stop)
        for (start, end), word, stem in zip(spans, words, stems, strict=True)
    ]


def sentences(text: str, language: str) -> list[str]:
    """The sentences of a text in order; each list item is a separate sentence."""
    split = splitter(language).tokenize
    blocks = (block.strip() for block in _BREAK.split(text))
    return [" ".join(sentence.split()) for block in blocks if block for sentence in split(block)]


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Where the sentences of a paragraph start and end, in order; between them is only white space."""
    return list(splitter(language).span_tokenize(text))


def warm_up() -> None:
    """Load the data that the functions above otherwise load on first use, but dictionaries, which few questions need."""
    for language in LANGUAGES:
        sentences("Warm.", language)
        tokens("Warm.", language)
    detect_language("This is English beyond any doubt.")


def _is_latin(text: str) -> bool:
    if text.isascii():
        return True
    letters = [char for char in text if char.isalpha()]
    return 2 * sum("LATIN" in unicodedata.name(char, "") for char in letters) >= len(letters)


def _composed(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFC", word).lower()


def without_tilde(word: str) -> str:
    """A folded word as typed on a keyboard without ñ."""
    return word.replace("ñ", "n")


def _fold(word: str) -> str:
    """A word without accents; ñ stays because it is a separate letter ("año" is not "ano")."""
    if word.isascii():
        return word
    decomposed = unicodedata.normalize("NFKD", word)
    kept = (
        char
        for before, char in zip(f" {decomposed}", decomposed, strict=False)
        if not unicodedata.combining(char) or (char == _TILDE and before == "n")
    )
    return unicodedata.normalize("NFC", "".join(kept))


def _stem(words: Sequence[str], language: str) -> list[str]:
    if language not in STEMMERS:
        return list(words)
    with _lock:
        return list(_stemmer(language).stemWords(list(words)))


@functools.cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(STEMMERS[language])


@functools.cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language, lower-cased; none for languages without a list."""
    if language not in LANGUAGES:
        return frozenset()
    listed = (trained() / "corpora" / "stopwords" / LANGUAGES[language]).read_text(encoding="utf-8")
    words = {word for word in _WORD.findall(listed) if len(word) > 1}
    return frozenset({*words, *_KEPT_SINGLE[language], *_QUESTION_WORDS.get(language, "").split()})
