"""The built-in collection: its counts, and its documents and questions as BEIR folders."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..documents.asked import Asked, placed, read_asked
from ..documents.benchmark import SPLITS, passage_key
from ..documents.documents import read_collection
from ..indexing import chunked
from ..language.analysis import LANGUAGES
from ..runtime.services import Embedder
from ..values.errors import unwritable
from ..values.message import NOTICE, Message

LEVELS = {"documents": "qrels", "passages": "qrels-passages"}


def check(data: Path, embedder: Embedder) -> tuple[dict[str, Any], list[str]]:
    """Count documents and questions; name sections changed or gone since their questions. DataError if malformed."""
    documents = read_collection(data / "corpus")
    passages = [passage.id for passage in chunked(documents, embedder)]
    asked, changed, lost = placed(read_asked(data / "asked"), passages)
    counts = {
        "documents": Counter(document.language for document in documents),
        "words": sum(len(document.text.split()) for document in documents),
        "passages": len(passages),
        "asked": Counter(question.language for question in asked),
    }
    return counts, outdated(changed, lost)


def outdated(changed: Iterable[Asked], lost: Iterable[Asked]) -> list[str]:
    """One line for each section of questions that changed or is gone since they were written."""
    return [
        *(
            f"asked: {passage}: the text has changed; read its questions again"
            for passage in dict.fromkeys(question.passage for question in changed)
        ),
        *(
            f"asked: {passage}: there is no such section"
            for passage in dict.fromkeys(question.passage for question in lost)
        ),
    ]


def export(data: Path, target: Path, embedder: Embedder) -> list[Path]:
    """Write and return BEIR folders (en, es, all; by document, by passage), with our notice; raises StorageError."""
    documents = read_collection(data / "corpus")
    rows = {
        "documents": [{"_id": d.id, "title": d.title, "text": d.text, "language": d.language} for d in documents],
        "passages": [
            {
                "_id": passage_key(p.id),
                "title": p.full_title,
                "text": p.text,
                "language": p.language,
                "source": p.source,
            }
            for p in chunked(documents, embedder)
        ],
    }
    written = []
    try:
        target.mkdir(parents=True, exist_ok=True)
        _write_lines(target / "NOTICE.txt", [NOTICE])  # BEIR's files have no place for it
        for level, qrels in LEVELS.items():
            for name, languages in {**{code: (code,) for code in LANGUAGES}, "all": tuple(LANGUAGES)}.items():
                folder = target / level / name
                (folder / "qrels").mkdir(parents=True, exist_ok=True)
                _write_lines(folder / "corpus.jsonl", [json.dumps(row, ensure_ascii=False) for row in rows[level]])
                sources = [data / "questions" / language for language in languages]
                _write_lines(
                    folder / "queries.jsonl",
                    [line for source in sources for line in _lines(source / "queries.jsonl")],
                )
                for split in SPLITS:
                    judged = [_lines(source / qrels / f"{split}.tsv") for source in sources]
                    body = [line for lines in judged for line in lines[1:]]
                    _write_lines(folder / "qrels" / f"{split}.tsv", [judged[0][0], *body])
                written.append(folder)
    except OSError as error:
        step = Message("Name a new or empty folder on a disk with space.")
        raise unwritable(error.filename or target, error, step) from error
    return written


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
