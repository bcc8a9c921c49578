"""Commands and their options. Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong usage."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..catalog import RECIPES
from ..errors import ConfigError, RagError
from . import show

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ask one question by several retrieval strategies and see why the answers differ. "
    "A demonstration, not medical advice.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Corpus = Annotated[str, typer.Option(help="Corpus to ask; see `rag index`.")]
Question = Annotated[str, typer.Argument(help="The question.", show_default=False)]
Details = Annotated[
    bool, typer.Option("--show-details", help="Also print every stage with its time and cost.")
]
BUILTIN = "obstetrics"


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
    strategy: Annotated[str, typer.Option(help="Strategy; see `rag strategies`.")] = "hybrid_rrf",
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="CONTROL=VALUE", help="Set a control.")
    ] = None,
    corpus: Corpus = BUILTIN,
    show_details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Ask one question by one strategy."""
    values = _assignments(set_ or [])
    built = _strategy(strategy, values)
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
    path: Annotated[Path, typer.Argument(help="File, folder, or BEIR folder.", show_default=False)],
    corpus: Annotated[str, typer.Option(help="Corpus to index into.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Index files into a corpus: md, txt, html, pdf, docx, csv, jsonl, or a BEIR folder."""
    from ..lab import index_path

    report = index_path(path, corpus, progress=show.progress)
    if as_json:
        _print_json(show.report_json(report))
    else:
        show.report(report)


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
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # models come from disk; a missing one fails at once
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
    from ..lab import open_lab

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
