"""Opening what is to be measured: the judged questions, and the lab over their documents."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..data.benchmark import SPLITS, Benchmark, read_beir, read_builtin
from ..data.documents import BUILTIN, builtin_documents, json_lines
from ..lab.engines import Engines
from ..lab.lab import Lab
from ..lab.opening import open_lab
from ..values.errors import DataError
from ..values.settings import Settings
from .estimate import Estimate
from .records import RunFolder, identity, read_json
from .variants import titles

BUILTIN_DATA = "builtin"  # the built-in questions' name where a folder is asked for


def read_judged(data: str, split: str, settings: Settings) -> Benchmark:
    """The built-in questions, or those of a BEIR folder, read and checked whole.

    Raises:
        DataError: naming file and line of what is malformed.
    """
    return read_builtin(settings.data, split) if data == BUILTIN_DATA else read_beir(Path(data), split)


def grades_of(question: str, settings: Settings) -> Mapping[str, int] | None:
    """Document id -> grade, when a question is one of the built-in ones that can be measured.

    Raises:
        DataError: the built-in questions cannot be read.
    """
    wanted = " ".join(question.split()).casefold()
    for split in SPLITS:
        judged = read_builtin(settings.data, split)
        for one in judged.measured:
            if one.text.casefold() == wanted:
                return judged.qrels[one.id]
    return None


def open_judged(
    data: str,
    settings: Settings,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    engines: Engines | None = None,
    consent: Callable[[Estimate], None] = lambda bill: None,
) -> Lab:
    """The lab over the documents of a judged set; a BEIR folder is indexed, embedding what is new.

    Args:
        engines: models that are loaded already.
        consent: receives the most that embedding can cost, by our count of the tokens, before a provider is sent
            anything; raising an error keeps it from being sent.

    Raises:
        RagError: as for `open_lab`.
    """
    if data == BUILTIN_DATA:
        corpus, folder = BUILTIN, None
    else:
        folder = Path(data).resolve()
        corpus = corpus_of(folder)
    return open_lab(
        corpus,
        settings=settings,
        documents=folder,
        engines=engines,
        progress=progress,
        consent=lambda calls: consent(Estimate.of(calls)),
    )


def source_of(data: str) -> str:
    """What a manifest calls the data: "builtin", or the folder's whole path."""
    return data if data == BUILTIN_DATA else str(Path(data).resolve())


def corpus_of(folder: Path) -> str:
    """Name of the corpus that holds a BEIR folder's documents: readable, and one for each path."""
    name = "".join(char if char.isalnum() else "-" for char in folder.name)
    return f"beir-{name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:6]}"


def runs_folder(settings: Settings) -> Path:
    """Where runs stand that were given no folder of their own."""
    return settings.home / "runs"


def folder_for(manifest: Mapping[str, Any], settings: Settings) -> Path:
    """The unfinished run that measures the same, to be continued, or a new folder."""
    for folder in past_runs(settings):
        if folder.name.endswith(identity(manifest)) and not (folder / "results.json").is_file():
            return folder
    return runs_folder(settings) / f"{time.strftime('%Y%m%d-%H%M%S')}-{identity(manifest)}"


def past_runs(settings: Settings) -> list[Path]:
    """Folders of past runs, the newest first."""
    return sorted(
        (path.parent for path in runs_folder(settings).glob("*/manifest.json")),
        key=lambda folder: folder.name,
        reverse=True,
    )


def title_of(folder: Path) -> str:
    """A run in one line: when, on what, which strategies.

    Raises:
        DataError: its manifest cannot be read.
    """
    manifest = read_json(folder / "manifest.json")
    when = manifest["started"][:16].replace("T", " ")
    return f"{when} · {manifest['data']} {manifest['split']} · {', '.join(titles(manifest).values())}"


def document_titles(run: RunFolder) -> dict[str, str]:
    """Document id -> title, as far as the documents are still where they were."""
    source = run.manifest["source"]
    try:
        if source == BUILTIN_DATA:
            return {document.id: document.title for document in builtin_documents()}
        rows = json_lines(Path(source) / "corpus.jsonl")
        return {str(row["_id"]): str(row.get("title") or "") for _, row in rows}
    except DataError:
        return {}
