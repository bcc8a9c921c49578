"""Adds uploaded files to a corpus, or indexes it in another way, as background jobs for the Documents page."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

from ..evaluation.cost_estimate import CostEstimate
from ..indexing import UPLOADS, Chunking, EnrichmentEstimate, Progress, Upload
from ..lab.adding import add_files, own_corpus, reindex
from ..lab.engines import Engines
from ..values.errors import Stopped
from ..values.message import Message
from ..values.settings import Settings
from ..values.types import ModelCall
from .job import Job, Jobs


def start_adding(
    jobs: Jobs,
    engines: Callable[[], Engines],
    settings: Settings,
    uploads: Sequence[Upload],
    name: str,
    *,
    enrich: bool = False,
    subject: str = "",
) -> Job:
    """Start to store and index uploaded files; a job for the same corpus waits for the one before it.

    Args:
        engines: called on the job's thread; waits for the models.
        name: of the corpus, as a person typed it.

    Raises:
        ConfigError: the name is empty, too long, or that of the built-in documents; nothing was started.
    """
    corpus, title = own_corpus(name)

    def task(job: Job) -> Path:
        progress = _progress(job)
        progress("waiting for the models", 0, 1)
        added = add_files(
            uploads, corpus, settings, engines(), enrich=enrich, subject=subject, title=title, progress=progress,
            consent=_consent(job), announce=_announce(job),
        )  # fmt: skip
        job.report(files=added.files, embedded=added.report.embeddings if added.report else ())
        return settings.home / UPLOADS / corpus

    called = title or corpus
    what = (
        Message("1 file into {corpus}", corpus=called)
        if len(uploads) == 1
        else Message("{count} files into {corpus}", count=len(uploads), corpus=called)
    )
    return jobs.start(f"{corpus} {secrets.token_hex(4)}", "index", what, task)


def start_reindexing(
    jobs: Jobs,
    engines: Callable[[], Engines],
    settings: Settings,
    corpus: str,
    chunking: Chunking,
    *,
    enrich: bool,
) -> Job:
    """Start to index a corpus in another way; waits for an earlier change of it.

    Args:
        engines: as for `start_adding`.
        enrich: as for `reindex`.
    """

    def task(job: Job) -> Path:
        progress = _progress(job)
        progress("waiting for the models", 0, 1)
        report = reindex(
            corpus, chunking, settings, engines(), enrich=enrich, progress=progress, consent=_consent(job),
            announce=_announce(job),
        )  # fmt: skip
        job.report(embedded=report.embeddings)
        return settings.home / "corpora" / corpus

    return jobs.start(
        f"{corpus} {secrets.token_hex(4)}", "reindex", Message("Indexing {corpus} again", corpus=corpus), task
    )


def _progress(job: Job) -> Progress:
    def progress(what: str, done: int, total: int) -> None:
        if job.stop_requested.is_set():
            raise Stopped
        job.report(doing=what, done=done, total=total if total > 1 else 0)

    return progress


def _consent(job: Job) -> Callable[[Sequence[ModelCall]], None]:
    return lambda calls: job.ask(CostEstimate.of(calls), "Embedding the documents")


def _announce(job: Job) -> Callable[[EnrichmentEstimate], None]:
    return lambda contexts: job.ask(CostEstimate.of_contexts(contexts), "Writing contexts")
