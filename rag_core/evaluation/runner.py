"""Running strategies over judged questions: retrieval only, question by question, resumable."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from ..catalog import RECIPES, StrategySpec, build_all
from ..documents.benchmark import Benchmark, Question
from ..pipeline.cached_index import without
from ..pipeline.strategy import Strategy
from ..runtime.run import Run
from ..runtime.services import Services
from ..values.errors import ConfigError, RagError, Stopped, attach_calls_to_errors
from ..values.message import Message
from ..values.types import ModelCall
from .manifest import engine_changes, passage_counts
from .records import Record
from .run_folder import RunFolder, read_run


@dataclass(frozen=True, slots=True)
class RunProgress:
    """The question × strategy pairs with a record, of all; the time left at this call's pace; the latest record."""

    done: int
    total: int
    seconds_left: float | None
    latest: tuple[str, Record] | None = None


def services_for(question: Question, judged: Benchmark, services: Services) -> Services:
    """The services for a question, which never finds itself."""
    return without(services, question.id) if question.id in judged.also_documents else services


def build_strategies(chosen: Mapping[str, StrategySpec], depth: int | None = None) -> dict[str, Strategy]:
    """Strategies by label, without answer stages; `depth` raises every count of passages to at least this. ConfigError."""
    built = build_all(chosen)
    if depth is not None:
        built = {label: _deepened(strategy, depth) for label, strategy in built.items()}
    return {label: strategy.without_answer() for label, strategy in built.items()}


def _deepened(strategy: Strategy, depth: int) -> Strategy:
    recipe = RECIPES.get(strategy.name)
    if recipe is None:
        raise ConfigError(
            Message("{name} is not in the catalogue, so its depth cannot be set.", name=strategy.name),
            Message("Leave the depth out."),
        )
    counts = {name: max(strategy.controls[name], depth) for name in passage_counts(strategy.name)}
    return recipe.build(**{**strategy.controls, **counts})


def take_run_file(run: RunFolder, label: str, path: Path) -> None:
    """Import another system's rankings, where a question without one scores 0, as in trec_eval; raises DataError."""
    ranked = read_run(path, {question.id for question in run.judged.measured})
    for question in run.judged.measured:
        if question.id not in run.records[label]:
            own = {question.id} & run.judged.also_documents
            found = [document for document in ranked.get(question.id, ()) if document not in own]
            run.append(label, Record.ranking(question.id, found))


def evaluate(
    run: RunFolder,
    strategies: Mapping[str, Strategy],
    services: Callable[[], Services],
    *,
    share: bool = False,
    workers: int = 1,
    stop: threading.Event | None = None,
) -> Iterator[RunProgress]:
    """Put every question without a record to every strategy; yields after each record.

    A question that fails or is stopped is recorded with the reason and its calls: the next run asks it again,
    and it has no score. Closing the iterator, or setting `stop`, ends the run after the questions in progress.

    Args:
        services: called for each question; their engine must be the run's.
        share: strategies share a question's equal model calls and prefixes, which saves paid calls. A shared
            call takes no time, so leave this off to time each strategy.
        workers: questions run at the same time; more than one slows local models down.

    Raises ConfigError if the models or an index changed since the run was created, and Stopped, with the calls made.
    """
    stopping = stop or threading.Event()
    calls: list[ModelCall] = []
    work = [
        (question, [label for label in strategies if run.is_open(label, question.id)])
        for question in run.judged.measured
    ]

    def ask(question: Question, labels: Sequence[str]) -> list[tuple[str, Record]]:
        """The records of a question, or those finished before the run was stopped; adds their calls to `calls`."""
        if stopping.is_set():
            return []
        current = services()
        if changed := engine_changes(run.manifest.engine, current.engine):
            raise ConfigError(
                Message(
                    "The run in {folder} was begun with another engine: {names} changed.",
                    folder=run.folder,
                    names=", ".join(changed),
                ),
                Message("Run the same command again: it begins a new run."),
            )
        current, common = services_for(question, run.judged, current), Run(stop=stopping)
        records: list[tuple[str, Record]] = []
        for label in labels:
            try:
                trace = strategies[label].run(question.text, current, common if share else Run(stop=stopping))
                calls.extend(trace.calls)
                records.append((label, Record.of(question.id, trace, run.judged.judged_ids)))
            except RagError as error:
                calls.extend(error.calls)
                stopped = isinstance(error, Stopped)
                if error.calls or not stopped:
                    records.append((label, Record.failed(question.id, error)))
                if stopped:
                    break
        return records

    total = len(strategies) * len(work)
    done = total - sum(len(labels) for _, labels in work)
    yield RunProgress(done, total, None)
    started, before = time.monotonic(), done
    yielded: set[Future[list[tuple[str, Record]]]] = set()
    with attach_calls_to_errors(calls), ThreadPoolExecutor(workers) as pool:
        pending = [pool.submit(ask, question, labels) for question, labels in work if labels]
        try:
            for future in as_completed(pending):
                yielded.add(future)
                for label, record in future.result():
                    run.append(label, record)
                    done += 1
                    pace = (time.monotonic() - started) / (done - before)
                    yield RunProgress(done, total, pace * (total - done), (label, record))
        finally:
            for future in pending:
                if not future.cancel() and future not in yielded and not future.exception():
                    for label, record in future.result():  # it was in progress, and is paid for
                        run.append(label, record)
    if stopping.is_set():
        raise Stopped(tuple(calls))
