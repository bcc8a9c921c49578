"""Commands and their options. Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong usage."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..catalog import RECIPES
from ..corpus import BUILTIN
from ..errors import ConfigError, RagError
from . import show
from .evaluate import answers, evaluate, results, sweep

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ask one question by several retrieval strategies and see why the answers differ. "
    "A demonstration, not medical advice.",
)

DEFAULT = "hybrid_rrf"
SEED_003 = "contextual"  # its command had flags of its own

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Corpus = Annotated[str, typer.Option(help="Corpus to ask; see `rag index`.")]
Question = Annotated[str, typer.Argument(help="The question.", show_default=False)]
Details = Annotated[
    bool, typer.Option("--show-details", help="Also print every stage with its time and cost.")
]


@app.command()
def strategies(as_json: AsJson = False) -> None:
    """List the strategies with their stages and controls."""
    recipes = [recipe.as_json() for recipe in RECIPES.values()]
    if as_json:
        _print_json(recipes)
    else:
        show.strategies(recipes)


@app.command()
def query(
    question: Question,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="Strategy; see `rag strategies`.", show_default=f"{DEFAULT}, or {SEED_003} with its flags"
        ),
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="CONTROL=VALUE", help="Set a control.")
    ] = None,
    search_type: Annotated[
        str | None, typer.Option(metavar="bm25|vector|hybrid", help=f"Of {SEED_003}: which search.")
    ] = None,
    vector_weight: Annotated[
        float | None, typer.Option(help=f"Of {SEED_003}: weight of embedding search.")
    ] = None,
    bm25_weight: Annotated[
        float | None, typer.Option(help=f"Of {SEED_003}: weight of keyword search.")
    ] = None,
    transform: Annotated[
        bool | None, typer.Option("--transform", help=f"Of {SEED_003}: rewrite the question first.")
    ] = None,
    rerank: Annotated[
        bool | None, typer.Option("--rerank", help=f"Of {SEED_003}: rerank the candidates.")
    ] = None,
    corpus: Corpus = BUILTIN,
    show_details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Ask one question by one strategy."""
    values: dict[str, object] = dict(_assignments(set_ or []))
    flags = {
        "search_type": search_type,
        "vector_weight": vector_weight,
        "bm25_weight": bm25_weight,
        "transform": transform,
        "rerank": rerank,
    }
    given = {name: value for name, value in flags.items() if value is not None}
    if strategy is None:
        strategy = SEED_003 if given else DEFAULT
    if given and strategy != SEED_003:
        raise typer.BadParameter(
            f"--{next(iter(given)).replace('_', '-')} belongs to {SEED_003}, not to {strategy}"
        )
    built = _strategy(strategy, values | given)
    trace = _lab(corpus).run(question, built)
    if as_json:
        _print_json(trace.as_json())
    else:
        show.trace(trace, details=show_details)


@app.command()
def compare(
    question: Question,
    strategies: Annotated[str, typer.Option(metavar="A,B,C", help="Strategies, separated by commas.")],
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="STRATEGY.CONTROL=VALUE", help="Set a control.")
    ] = None,
    corpus: Corpus = BUILTIN,
    show_details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Ask one question by several strategies at the same time."""
    names = [name.strip() for name in strategies.split(",") if name.strip()]
    values: dict[str, dict[str, str]] = {name: {} for name in names}
    for key, value in _assignments(set_ or []).items():
        name, dot, control = key.partition(".")
        if not dot or name not in values:
            raise ConfigError(
                f"--set {key}={value} names none of the strategies compared.", "Write STRATEGY.CONTROL=VALUE."
            )
        values[name][control] = value
    chosen = [_strategy(name, values[name]) for name in names]
    traces = _lab(corpus).compare(question, chosen)
    if as_json:
        _print_json({"question": traces[0].question, "traces": [trace.as_json() for trace in traces]})
    else:
        for trace in traces:
            show.trace(trace, details=show_details)


@app.command()
def index(
    path: Annotated[
        Path | None, typer.Argument(help="File, folder, or BEIR folder.", show_default=False)
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Corpus to index into.", show_default=False)] = None,
    enrich: Annotated[
        bool,
        typer.Option("--enrich", help="Also index the passages with contexts, for strategy contextual."),
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Count and check the built-in collection.")] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Bring the built-in collection's vectors up to date.")
    ] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the built-in collection as BEIR folders.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Index files into a corpus: md, txt, html, pdf, docx, csv, jsonl, or a BEIR folder."""
    wanted = sum((path is not None, check, vectors, export is not None))
    if wanted != 1 or (path is None) != (corpus is None):
        raise typer.BadParameter("give PATH with --corpus NAME, or one of --check, --vectors, --export DIR")
    if enrich and path is None:
        raise typer.BadParameter("--enrich goes with PATH and --corpus NAME")
    if path is not None and corpus is not None:
        from ..opening import index_path

        report = index_path(path, corpus, enrich=enrich, progress=show.progress, announce=show.estimate)
        if as_json:
            _print_json(show.report_json(report))
        else:
            show.report(report)
        return
    from .. import collection
    from ..engines import load_engines
    from ..indexing import OfflineEnricher
    from ..settings import read_settings

    settings = read_settings()
    engines = load_engines(settings)
    embedder, enricher = engines.embedder, OfflineEnricher(engines.thesaurus)
    if vectors:
        typer.echo(f"{collection.write_vectors(settings.data, embedder, enricher)} vectors written.")
    if export is not None:
        for folder in collection.export(settings.data, export, embedder):
            typer.echo(folder)
    if check:
        counts, problems = collection.check(settings.data, embedder, enricher)
        if as_json:
            _print_json({"counts": counts, "problems": problems})
        else:
            show.collection(counts, problems)
        raise typer.Exit(1 if problems else 0)


app.command("eval")(evaluate)
app.command()(sweep)
app.command()(answers)
app.command()(results)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Say which engines are active and why, what is missing, and how to mend it."""
    from ..doctor import examine

    findings = examine(progress=show.progress)
    if as_json:
        _print_json(findings.as_json())
    else:
        show.findings(findings)
    raise typer.Exit(0 if findings.can_answer else 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; turns every RagError into one line and exit code 1."""
    try:
        app(args=arguments)
    except RagError as error:
        _fail(error)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.exit(1)


def _fail(error: RagError) -> None:
    typer.echo(f"rag: {' '.join(str(error).split())}", err=True)
    sys.exit(1)


def _lab(corpus: str) -> Any:
    from ..opening import open_lab

    lab = open_lab(corpus, progress=show.progress)
    for warning in lab.warnings:
        typer.echo(f"rag: {warning}", err=True)
    return lab


def _strategy(name: str, values: Mapping[str, object]) -> Any:
    """The built strategy, so that a wrong name or value is told before any model is loaded."""
    from ..catalog import build

    return build((name, values))


def _assignments(pairs: Sequence[str]) -> dict[str, str]:
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"{pair!r} is not CONTROL=VALUE", param_hint="--set")
        values[name.strip()] = value.strip()
    return values


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
