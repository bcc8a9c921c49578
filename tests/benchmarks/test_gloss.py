"""Speed of the Spanish reader: milliseconds a question, minutes for 100,000 passages. Run by `make bench`."""

import time
from pathlib import Path

from rag_core.documents.documents import read_collection
from rag_core.language.spanish import Gloss
from rag_core.language.thesaurus import Thesaurus

DATA = Path(__file__).resolve().parents[2] / "data"
QUESTION = "¿Puedo tomarme un ibuprofeno si estoy de {} semanas y me duele la cabeza?"
PASSAGES, CORPUS = 2_000, 100_000


def test_reading_takes_little_time(results):
    began = time.process_time()
    gloss = Gloss.read(DATA / "gloss" / "es.tsv", Thesaurus.read(DATA / "thesaurus.toml"))
    gloss.english("tomármelo")  # loads the dictionary
    results.note("reading Spanish: first use", "s", [time.process_time() - began])

    questions = [QUESTION.format(number) for number in range(1000)]
    results.note("reading Spanish: a question", "ms", [_seconds(gloss, questions) / len(questions) * 1000])

    paragraphs = [
        part
        for document in read_collection(DATA / "corpus")
        if document.language == "es"
        for part in document.text.split("\n\n")
        if len(part) > 300
    ]
    texts = [f"{number} {paragraphs[number % len(paragraphs)]}" for number in range(PASSAGES)]
    seconds = _seconds(gloss, texts) * CORPUS / PASSAGES
    words = sum(len(text.split()) for text in texts) / PASSAGES
    results.note(f"reading Spanish: {CORPUS:,} passages of {words:.0f} words, one core", "min", [seconds / 60])


def _seconds(gloss: Gloss, texts: list[str]) -> float:
    began = time.process_time()
    for text in texts:
        gloss.english(text)
    return time.process_time() - began
