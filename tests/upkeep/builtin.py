"""The built-in collection as a whole: its counts, its problems, and its shipped vectors."""

import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rag_core.documents.asked import OUTSIDE, placed, read_asked
from rag_core.documents.asked import read_questions as read_known
from rag_core.documents.benchmark import (
    KINDS,
    SPLITS,
    Question,
    passage_key,
    read_qrels,
    read_questions,
)
from rag_core.documents.documents import Document, read_collection
from rag_core.indexing import Enricher, LanguageText, chunked, read_shipped, text_key
from rag_core.indexing.enrich import DocumentPassages
from rag_core.lab.builtin import LEVELS
from rag_core.language.analysis import LANGUAGES
from rag_core.language.spanish import read_entries
from rag_core.offline.memory import compared_texts
from rag_core.runtime.services import Embedder
from rag_core.values.errors import read_data_file
from rag_core.values.sources import is_old
from rag_core.values.triage import LEVELS as URGENCY
from rag_core.values.types import Passage, Vectors

from .answer_sets import check_answer_sets, label_problems
from .asked import asked_problems
from .checked import steps
from .documents import check_collection
from .reading_alone import passage_problems
from .same_action import action_problems, signs_advised
from .spanish_words import list_problems, redundant

# how the file of a document's passages ends; the other has sentences and questions
PASSAGES = "-passages.npy"
CONCEPT_LISTS = ("en", "es", "lay_en", "lay_es", "abbr", "narrower", "related")


def check(data: Path, embedder: Embedder, enricher: Enricher) -> tuple[dict[str, Any], list[str]]:
    """Count the collection and list what is wrong with it.

    Args:
        data: the folder with corpus, questions, thesaurus, word list and vectors.

    Returns:
        Counts, and one line per problem.
    """
    problems = check_collection(data / "corpus")
    documents = read_collection(data / "corpus")
    by_id = {document.id: document for document in documents}
    plain = chunked(documents, embedder)
    passages = {passage_key(passage.id): passage for passage in plain}
    for document, own in groupby(passages.values(), lambda passage: passage.doc_id):
        problems += passage_problems(by_id[document], own)
    compared: Counter[str] = Counter()
    for passage in passages.values():
        advised = signs_advised(passage)
        compared.update(steps()[advice.action].name for _, advice in advised)
        problems += action_problems(passage, advised)
    counts: dict[str, Any] = {
        "documents": Counter(document.language for document in documents),
        "old": Counter(document.language for document in documents if is_old(document.sources)),
        "words": sum(len(document.text.split()) for document in documents),
        "passages": len(passages),
        "signs": compared,
    }
    files = vector_texts(data, documents, plain, embedder, enricher)
    problems += _vector_problems(data / "vectors" / embedder.weights, files)
    counts["asked"], faults = asked_problems(data, [passage.id for passage in plain])
    problems += faults
    questions: list[Question] = []
    judged: Counter[str] = Counter()
    for language in LANGUAGES:
        folder = data / "questions" / language
        found = read_questions(folder)
        questions += found
        problems += _question_problems(folder, found, language)
        problems += _qrels_problems(folder, found, documents, passages.keys(), judged)
    counts["questions"] = Counter(question.language for question in questions)
    counts["kinds"] = Counter(question.kind for question in questions)
    counts["levels"] = Counter(question.level for question in questions)
    counts["judgements"] = judged
    counts["answers"], faults = check_answer_sets(data, questions, passages)
    problems += faults
    problems += label_problems(data / "questions")
    thesaurus = read_thesaurus(data / "thesaurus.toml")
    concepts = thesaurus["concept"]
    counts["concepts"] = len(concepts)
    problems += thesaurus_problems(concepts, thesaurus["ambiguous"])
    entries = read_entries(data / "gloss" / "es.tsv")
    counts["gloss"] = {"entries": len(entries), "redundant": redundant(entries)}
    problems += list_problems(data / "gloss" / "es.tsv")
    return counts, problems


def vector_texts(
    data: Path,
    documents: Sequence[Document],
    plain: Sequence[Passage],
    embedder: Embedder,
    enricher: Enricher,
) -> dict[Path, dict[str, LanguageText]]:
    """The texts to embed: passages, plain and with their contexts; their sentences, titles and known questions.

    Args:
        plain: the passages of the documents, in order, without contexts.

    Returns:
        File of shipped vectors, two for each document -> text as the model reads it -> the text and its language.
    """
    folder = data / "vectors" / embedder.weights
    texts: dict[Path, list[LanguageText]] = {}
    for passage in (*plain, *_with_contexts(documents, plain, enricher)):
        texts.setdefault(folder / f"{passage.doc_id}{PASSAGES}", []).append((passage.indexed_text, passage.language))
    for passage in plain:
        texts.setdefault(folder / f"{passage.doc_id}.npy", []).extend(
            (text, passage.language) for text in compared_texts(passage)
        )
    asked, _, _ = placed(read_asked(data / "asked"), [passage.id for passage in plain])
    for one in asked:
        texts[folder / f"{one.passage.rsplit(':', 2)[0]}.npy"].append((one.question, one.language))
    texts[folder / "outside.npy"] = [(one.question, one.language) for one in read_known(data / "asked" / OUTSIDE)]
    return {path: {embedder.read(*text): text for text in each} for path, each in texts.items()}


def _with_contexts(documents: Sequence[Document], plain: Sequence[Passage], enricher: Enricher) -> Iterator[Passage]:
    texts = {document.id: document.text for document in documents}
    sources = [
        DocumentPassages(texts[name], tuple(own)) for name, own in groupby(plain, lambda passage: passage.doc_id)
    ]
    contexts = enricher.enrich(sources, lambda done, total: None).contexts
    return (replace(passage, context=context) for passage, context in zip(plain, contexts, strict=True))


def write_vectors(data: Path, embedder: Embedder, enricher: Enricher) -> int:
    """Update the shipped vectors of the built-in passages and their sentences; returns their number.

    Texts that already have a vector are not embedded again; delete the files to embed all of them.
    """
    documents = read_collection(data / "corpus")
    files = vector_texts(data, documents, chunked(documents, embedder), embedder, enricher)
    folder = data / "vectors" / embedder.weights
    known = read_shipped(folder)
    for path, texts in files.items():
        vectors = {key: known[key] for key in map(text_key, texts) if key in known}
        missing = {read: text for read, text in texts.items() if text_key(read) not in vectors}
        if not missing and len(texts) == len(vectors) and set(shipped_keys(path)) == set(vectors):
            continue  # rounding again would change the file
        if missing:
            written, languages = zip(*missing.values(), strict=True)
            fresh, _ = embedder.embed(written, "passage", languages)
            vectors.update((text_key(read), row.tobytes()) for read, row in zip(missing, fresh, strict=True))
        found = np.array([np.frombuffer(vectors[text_key(read)], np.float32) for read in texts])
        write_shipped(path, list(texts), found, small=not path.name.endswith(PASSAGES))
    for path in set(folder.glob("*.npy")) - files.keys():
        path.unlink()
    return sum(map(len, files.values()))


def read_thesaurus(path: Path) -> dict[str, list[dict[str, Any]]]:
    """The tables of the thesaurus: its concepts, and the readings of ambiguous abbreviations.

    Raises:
        DataError: the file is missing or is not TOML.
    """

    def parse(text: str) -> dict[str, list[dict[str, Any]]]:
        tables = tomllib.loads(text)
        return {"concept": tables["concept"], "ambiguous": tables.get("ambiguous", [])}

    return read_data_file(path, parse)


def thesaurus_problems(concepts: Sequence[dict[str, Any]], ambiguous: Sequence[dict[str, Any]] = ()) -> Iterator[str]:
    """Repeated ids, terms and abbreviations, missing lists, broken links, readings of nothing."""
    ids = Counter(concept.get("id") for concept in concepts)
    yield from (f"thesaurus: id {name!r} is used {count} times" for name, count in ids.items() if count > 1)
    owner: dict[tuple[str, str], str] = {("abbr", row["abbr"]): "the ambiguous" for row in ambiguous}
    for row in ambiguous:
        readings = [reading["concept"] for reading in row["readings"]]
        yield from (
            f"thesaurus: {row['abbr']}: reading {name!r} does not exist"
            for name in readings
            if name and name not in ids
        )
        if len(readings) < 2 or not all(reading["cues"] for reading in row["readings"]):
            yield f"thesaurus: {row['abbr']}: needs two readings with cues"
    for concept in concepts:
        name = concept.get("id")
        missing = [key for key in CONCEPT_LISTS if not isinstance(concept.get(key), list)]
        if missing or not concept["en"] or not concept["es"]:
            yield f"thesaurus: {name}: needs lists {', '.join(missing) or 'en and es'}"
            continue
        for link in (*concept["narrower"], *concept["related"], *concept.get("class_of", ())):
            if link not in ids or link == name:
                yield f"thesaurus: {name}: link {link!r} does not exist"
        names = [(code, term.casefold()) for code in LANGUAGES for term in (*concept[code], *concept[f"lay_{code}"])]
        for kind, term in {*names, *(("abbr", short) for short in concept["abbr"])}:
            first = owner.setdefault((kind, term), str(name))
            if first != name:
                yield f"thesaurus: {term!r} is in both {first} and {name}"


def _vector_problems(folder: Path, files: Mapping[Path, Iterable[str]]) -> Iterator[str]:
    for path in sorted(files.keys() | set(folder.glob("*.npy"))):
        needed, shipped = set(map(text_key, files.get(path, ()))), set(shipped_keys(path))
        if needed != shipped:
            yield (
                f"{path}: stale: {len(needed - shipped)} texts have no vector, {len(shipped - needed)} vectors have "
                "no text; run `make vectors`"
            )


def _question_problems(folder: Path, questions: Sequence[Question], language: str) -> Iterator[str]:
    for question in questions:
        if not question.kind:
            yield f"{folder}: {question.id}: the metadata need language, kind and level ({', '.join(URGENCY)})"
        elif question.kind not in KINDS:
            yield f"{folder}: {question.id}: kind {question.kind!r} is not one of {', '.join(KINDS)}"
        if question.language != language:
            yield f"{folder}: {question.id}: language {question.language!r}"


def _qrels_problems(
    folder: Path,
    questions: Sequence[Question],
    documents: Sequence[Document],
    passages: Collection[str],
    judged: Counter[str],
) -> Iterator[str]:
    """Judgements of unknown questions or passages, overlapping splits; counts judgements by level."""
    known = {"documents": {document.id for document in documents}, "passages": passages}
    kinds = {question.id: question.kind for question in questions}
    for level, name in LEVELS.items():
        seen: dict[str, str] = {}
        for split in SPLITS:
            for question, grades in read_qrels(folder / name / f"{split}.tsv").items():
                judged[level] += len(grades)
                if question not in kinds:
                    yield f"{folder}: {name}/{split}: question {question!r} does not exist"
                if seen.setdefault(question, split) != split:
                    yield f"{folder}: {name}: question {question} is in both splits"
                if kinds.get(question) == "outside" and any(grades.values()):
                    yield f"{folder}: {name}/{split}: {question} is outside the collection but has an answer"
                for key, grade in grades.items():
                    if key not in known[level]:
                        yield f"{folder}: {name}/{split}: {question}: {key!r} does not exist"
                    if grade not in (0, 1, 2):
                        yield f"{folder}: {name}/{split}: {question}: grade {grade}"
        if missing := kinds.keys() - seen.keys():
            yield f"{folder}: {name}: {len(missing)} questions are not judged, {min(missing)} among them"


def shipped_keys(path: Path) -> list[bytes]:
    """The keys of one file of shipped vectors; none if there is no file."""
    keys: list[bytes] = np.load(path)["key"].tolist() if path.is_file() else []
    return keys


def write_shipped(path: Path, texts: Sequence[str], vectors: Vectors, *, small: bool = False) -> None:
    """Write vectors in key order, so that the same texts give the same file.

    Each row has a key, its numbers, and the scale that gives them length 1.

    Args:
        small: numbers in 8 bits instead of 16; cosines change by less than 0.002 instead of 0.0002.
    """
    keys = [text_key(text) for text in texts]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    ordered = np.array(vectors, np.float32)[order]
    if small:
        ordered = np.rint(ordered * (127 / np.maximum(np.abs(ordered).max(axis=1, keepdims=True), 1e-12)))
    numbers = ordered.astype(np.int8 if small else np.float16)
    rows = np.zeros(
        len(keys),
        [("key", "V32"), ("scale", "<f4"), ("vector", numbers.dtype.newbyteorder("<"), numbers.shape[1:])],
    )
    rows["key"] = np.array([keys[place] for place in order], "V32")
    rows["scale"] = 1 / np.maximum(np.linalg.norm(numbers.astype(np.float32), axis=1), 1e-12)
    rows["vector"] = numbers
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".new")
    with draft.open("wb") as file:
        np.save(file, rows)
    draft.replace(path)  # changes the time of the folder, by which what was read is kept
