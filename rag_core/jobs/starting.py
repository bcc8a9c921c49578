"""Starts work as background jobs: evaluations, sweeps and pooling for an exam, and adding files to a corpus or indexing it in another way."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..catalog import Recipe, StrategySpec, describe
from ..documents.benchmark import Benchmark
from ..evaluation.cost_estimate import CostEstimate, Workload, estimate, plan_of
from ..evaluation.datasets import read_judged, source_of
from ..evaluation.manifest import data_title, describe_run, titles
from ..evaluation.metrics import parse_metric
from ..evaluation.records import Record
from ..evaluation.results import choose_metrics, conclude
from ..evaluation.run_folder import RunFolder, folder_for
from ..evaluation.runner import build_strategies, evaluate
from ..evaluation.sweep import sample, save_sweep, settings_of
from ..evaluation.tuning import plan, tune
from ..indexing import UPLOADS, Chunking, EnrichmentEstimate, Progress, Upload
from ..lab.adding import add_files, own_corpus, reindex
from ..lab.engines import Engines
from ..lab.lab import Lab
from ..sessions.exam.drafting import undrafted, write_drafts
from ..sessions.exam.exam import Exam
from ..sessions.exam.pooling import left_to_pool, pool
from ..values.errors import ProviderError, Stopped, attach_calls_to_errors
from ..values.message import Message
from ..values.settings import Settings
from ..values.types import ModelCall
from .job import Job, Jobs, RunningMean

if TYPE_CHECKING:
    from ..sessions.exam.store import Exams  # with its database library

LabOf = Callable[[Callable[[CostEstimate], None]], Lab]
PARALLEL = 4  # questions asked at the same time when a provider answers


def start_run(
    jobs: Jobs,
    lab_of: LabOf,
    settings: Settings,
    data: str,
    split: str,
    chosen: Mapping[str, StrategySpec],
    depth: int | None,
    metrics: Sequence[str],
) -> Job:
    """Start an evaluation, or join the same one if it is running; raises RagError, with nothing started.

    `lab_of` opens the lab over the documents, after consent to the cost; called on the job's thread.
    """
    strategies = build_strategies(chosen, depth)
    measured = choose_metrics(metrics, depth)
    judged = read_judged(data, split, settings)
    primary, grades = measured[0], judged.qrels

    def job(job: Job) -> Path:
        lab = _opened(job, lab_of)
        manifest = describe_run(judged, strategies, depth=depth, engine=lab.engine, source=source_of(data))
        folder = folder_for(manifest, settings)
        with attach_calls_to_errors(job.status.embedded), RunFolder.create(folder, manifest, judged) as run:
            billed = lab.engines.billed
            job.ask(estimate(plan_of(run, strategies, share=billed), lab.rehearsal()))
            names = titles(manifest)
            means = {name: RunningMean() for name in names.values()}

            def count(label: str, record: Record) -> None:
                if not record.error:
                    score = primary(record.ranked, grades[record.question])
                    means[names[label]] = means[names[label]].plus(score)

            for label in strategies:
                for record in run.records[label].values():
                    count(label, record)
            job.report(doing="measuring", means=dict(means))
            for step in evaluate(
                run, strategies, lab.services, share=billed, workers=PARALLEL if billed else 1,
                stop=job.stop_requested,
            ):  # fmt: skip
                if step.latest:
                    count(*step.latest)
                job.report(done=step.done, total=step.total, seconds_left=step.seconds_left, means=dict(means))
            job.report(doing="computing intervals", seconds_left=None)
            conclude(run, measured)
            return run.folder

    fingerprints = {label: strategy.fingerprint for label, strategy in strategies.items()}
    named = (
        describe(next(iter(chosen.values()))) if len(chosen) == 1 else Message("{count} strategies", count=len(chosen))
    )
    return jobs.start(
        _key("run", source_of(data), judged.checksum, split, depth, fingerprints),
        "run",
        _title(named, judged, split),
        job,
    )


def start_sweep(
    jobs: Jobs,
    lab_of: LabOf,
    settings: Settings,
    data: str,
    recipe: Recipe,
    axes: Mapping[str, Sequence[object]],
    most: int,
    metric: str,
) -> Job:
    """Start a sweep of at most `most` settings, tuned on dev, reported on test, or join it; raises RagError before."""
    combinations = sample(axes, most)
    measured = parse_metric(metric)
    dev, test = read_judged(data, "dev", settings), read_judged(data, "test", settings)
    planned = plan(recipe, combinations, dev, test)
    built = list(settings_of(recipe, {}, combinations))

    def job(job: Job) -> Path:
        lab = _opened(job, lab_of)
        with attach_calls_to_errors(job.status.embedded):
            job.ask(estimate(planned, lab.rehearsal()))
            job.report(doing="sweeping")
            result = tune(
                recipe, combinations, measured, dev, test, lab.services, stop=job.stop_requested,
                progress=lambda doing, done, total: job.report(doing=doing, done=done, total=total),
            )  # fmt: skip
        return save_sweep(result, settings)

    fingerprints = sorted(strategy.fingerprint for strategy in built)
    return jobs.start(
        _key("sweep", source_of(data), dev.checksum, test.checksum, recipe.name, measured.name, fingerprints),
        "sweep",
        _title(
            Message("{count:,} settings of {strategy}", count=len(built), strategy=Message(recipe.title)),
            dev,
            "dev",
        ),
        job,
    )


def start_pooling(
    jobs: Jobs, lab_of: Callable[[], Lab], exams: Exams, exam: Exam, chosen: Mapping[str, StrategySpec]
) -> Job:
    """Start to find an exam's passages with strategies, or join what finds some for it; the choice and what is found stay.

    `lab_of` opens the lab over its documents, on the job's thread. Raises ConfigError or StorageError, with nothing started.
    """
    strategies = build_strategies(chosen)
    exams.choose(exam.code, [*strategies])

    def task(job: Job) -> None:
        job.report(doing="opening the documents")
        lab = lab_of()
        planned = [Workload(*each) for each in left_to_pool(exams.judgements(exam.code).questions, strategies)]
        job.ask(estimate(planned, lab.rehearsal()))
        pool(lab, exams, exam, strategies, progress=_progress(job), stop=job.stop_requested)

    return jobs.start(f"pool {exam.code}", "pool", Message("Passages for {exam}", exam=exam.title), task)


def start_drafting(jobs: Jobs, lab_of: Callable[[], Lab], corpus: str, sections: int) -> Job:
    """Start to have a model draft exam questions of so many sections of a corpus, or join what does."""

    def task(job: Job) -> None:
        announce = _announce(job, Message("Drafting questions"))
        written = write_drafts(lab_of(), sections, announce, partial(_progress(job), "drafting questions"))
        job.report(calls=written.calls)
        if why := undrafted(written):
            raise ProviderError(why, Message("Have them drafted again."), written.calls)

    return jobs.start(f"draft {corpus}", "draft", Message("Questions drafted for {corpus}", corpus=corpus), task)


def _opened(job: Job, lab_of: LabOf) -> Lab:
    """The lab, once its documents are embedded; an earlier job has paid for a lab that is already open."""
    job.report(doing="opening the documents")
    lab = lab_of(lambda bill: job.ask(bill, Message("Embedding the documents"))).untaught()
    if job.status.bill:
        job.report(embedded=tuple(call for call in lab.calls if call.cost_usd != 0))
    return lab


def _title(what: str, judged: Benchmark, split: str) -> str:
    """A measurement in one line: what is measured, on which questions, how many."""
    data = Message("{data} {split}", data=data_title(judged.name), split=split)
    return Message.joined([what, data, f"n = {len(judged.measured):,}"], " · ")


def _key(*what: object) -> str:
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


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

    `engines` waits for the models, on the job's thread. Raises ConfigError, with nothing started, for a wrong name.
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
    """Start to index a corpus in another way; waits for an earlier change of it."""

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
    return lambda calls: job.ask(CostEstimate.of(calls), Message("Embedding the documents"))


def _announce(job: Job, what: str = Message("Writing contexts")) -> Callable[[EnrichmentEstimate], None]:
    return lambda bill: job.ask(CostEstimate.of_contexts(bill), what)
