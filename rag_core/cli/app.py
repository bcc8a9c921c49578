"""Commands and their options. Exit codes: 0 done, 1 failed (one line on stderr), 2 wrong usage."""

from __future__ import annotations

import functools
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

import rag_core

from ..documents.documents import BUILTIN
from ..values.errors import ConfigError, DataError, InputError, RagError, SettingsError, Stopped, StorageError
from ..values.message import NOTICE
from ..values.places import APP
from ..values.trace import Trace
from ..values.types import spent_so_far
from ..values.visible import visible
from . import show
from .evaluate import answers, evaluate, results, sweep, trust
from .exam import exam
from .index import index
from .interrupt import interruptible
from .kept import export, forget, history
from .layout import complain, progress, say, say_json
from .options import (
    AsJson,
    Corpora,
    Country,
    Models,
    Redact,
    SendPrivate,
    Sets,
    Strategies,
    Where,
    a_path,
    assignments,
    cleared,
    country_or_setting,
    parse_columns,
)

if TYPE_CHECKING:
    from ..catalog.setup import Setup


class _Commands(TyperGroup):
    """Typer prints wrong usage itself, with what was typed: that passes the gate here."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        with _visible_usage_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        with _visible_usage_errors():
            return super().invoke(ctx)


@contextmanager
def _visible_usage_errors() -> Iterator[None]:
    try:
        yield
    except TyperException as error:
        error.message = visible(error.message)
        raise


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=f"Compare retrieval strategies on one question and see why the answers differ. {NOTICE}",
)

DEFAULT = "hybrid_rrf"
FLAGGED = "contextual"  # the strategy with its own flags: Query System with Contextual Retrieval, Query Command Usage

Corpus = Annotated[str, typer.Option(help="Corpus to search; see `rag index`.")]


def _a_question(text: str) -> str:
    from ..language.questions import check_question

    try:
        return check_question(text)
    except InputError as error:
        raise ConfigError(error.message, error.next_step) from error  # wrong usage


Question = Annotated[str, typer.Argument(help="The question to ask.", show_default=False, callback=_a_question)]
Details = Annotated[
    bool,
    typer.Option(
        "--show-details",
        help="Also print the time and tokens of every stage, and for a built-in judged question recall, precision, MRR and nDCG.",
    ),
]


@app.command()
def strategies(as_json: AsJson = False) -> None:
    """List the strategies with their stages, controls and presets."""
    from ..catalog import RECIPES, saved_presets

    recipes = [recipe.as_json() for recipe in RECIPES.values()]
    try:
        for recipe in recipes:
            recipe["presets"] += [one.as_json() for one in saved_presets().of(RECIPES[recipe["name"]])]
    except RagError as error:  # no reason to list nothing
        complain(f"rag: {error}")
    for failure in RECIPES.failed:
        complain(f"rag: {failure}")
    if as_json:
        say_json(recipes)
    else:
        show.strategies(recipes)


@app.command()
def query(
    question: Question,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="Strategy to use; see `rag strategies`.",
            show_default=f"{DEFAULT}; {FLAGGED} if one of its flags is given",
        ),
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="CONTROL=VALUE", help="Set a control.")] = None,
    search_type: Annotated[
        str | None, typer.Option(metavar="bm25|vector|hybrid", help=f"For {FLAGGED}: which search to use.")
    ] = None,
    vector_weight: Annotated[float | None, typer.Option(help=f"For {FLAGGED}: weight of embedding search.")] = None,
    bm25_weight: Annotated[float | None, typer.Option(help=f"For {FLAGGED}: weight of keyword search.")] = None,
    transform: Annotated[
        bool | None, typer.Option("--transform", help=f"For {FLAGGED}: rewrite the question first.")
    ] = None,
    rerank: Annotated[bool | None, typer.Option("--rerank", help=f"For {FLAGGED}: rerank the candidates.")] = None,
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Language model in place of the settings'; 'offline' for none."),
    ] = None,
    corpus: Corpus = BUILTIN,
    where: Where = None,
    country: Country = None,
    redact: Redact = False,
    send_private: SendPrivate = False,
    show_details: Details = False,
    fates: Annotated[bool, typer.Option("--fates", help="Also say what became of every passage found.")] = False,
    prompts: Annotated[
        bool, typer.Option("--show-prompts", help="Also print every prompt as sent, and its reply.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question with one strategy.

    A plain query runs hybrid_rrf. The flags of Query System with Contextual Retrieval (--search-type, --vector-weight,
    --bm25-weight, --transform, --rerank) run contextual instead.
    """
    values = assignments(set_ or [])
    strategy, given = _flagged(
        strategy,
        search_type=search_type,
        vector_weight=vector_weight,
        bm25_weight=bm25_weight,
        transform=transform,
        rerank=rerank,
    )
    chosen = {} if model is None else {"model": model}
    asked = {**values, **given, **chosen, "where": assignments(where or [], "--where")}
    column = rag_core.set_up((strategy, asked))
    code, lines = country_or_setting(country)
    question = cleared(question, redacting=redact, sending=send_private, country=code)
    _say_idle(column, asked)
    lab = _lab(corpus, [column])
    if given and "enriched" not in values and lab.enriched is None:  # the flags alone do not ask for contexts
        complain(f"rag: Corpus {corpus!r} has no passage contexts, so its passages are searched without them.")
        column = rag_core.set_up((strategy, asked | {"enriched": False}))
    with interruptible() as stop:
        (trace,) = lab.compare(question, [column], stop=stop, country=code)
    if as_json:
        more: dict[str, Any] = {}
        if fates:
            from ..explain import fates_json

            more["fates"] = fates_json(trace)
        if prompts:
            more["prompts"] = show.prompts_json(trace)
        say_json(trace.as_json() | _quality_json(trace) | more)
    else:
        show.urgent(trace.triage, lines)
        show.trace(trace, details=show_details, quality=_quality(trace) if show_details else None)
        if fates:
            show.show_fates(trace)
        if prompts:
            show.show_prompts(trace)


def _flagged(strategy: str | None, **flags: object) -> tuple[str, dict[str, object]]:
    """The strategy that a query runs, and those of `FLAGGED`'s flags that were given, which choose it."""
    given = {name: value for name, value in flags.items() if value is not None}
    chosen = (FLAGGED if given else DEFAULT) if strategy is None else strategy
    if given and chosen != FLAGGED:
        flag = next(iter(given)).replace("_", "-")
        raise typer.BadParameter(f"--{flag} is an option of {FLAGGED}, not of {chosen}")
    return chosen, given


@app.command()
def triage(question: Question, country: Country = None, as_json: AsJson = False) -> None:
    """Say how urgent a question is: emergency, same_day or routine. No model is loaded."""
    found = rag_core.triage(question)
    if as_json:
        say_json(found.as_json())
    else:
        show.triage(found, country_or_setting(country)[1])


@app.command()
def compare(
    question: Question,
    strategies: Strategies,
    set_: Sets = None,
    model: Models = None,
    corpus: Corpora = None,
    where: Where = None,
    country: Country = None,
    redact: Redact = False,
    send_private: SendPrivate = False,
    show_details: Details = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question with several strategies, models or corpora, side by side."""
    chosen = parse_columns(strategies, set_ or [], model or [], corpus or [])
    filtered = assignments(where or [], "--where")
    columns = [rag_core.set_up((name, {**values, "where": filtered})) for name, values in chosen.values()]
    for column, (_, values) in zip(columns, chosen.values(), strict=True):
        _say_idle(column, values)
    code, lines = country_or_setting(country)
    question = cleared(question, redacting=redact, sending=send_private, country=code)
    lab = _lab(columns[0].corpus or BUILTIN, columns)
    with interruptible() as stop:
        traces = lab.compare(question, columns, stop=stop, country=code)
    if as_json:
        from ..sessions.saved import session_json

        session = session_json(traces, list(chosen))
        session["traces"] = [row | _quality_json(trace) for row, trace in zip(session["traces"], traces, strict=True)]
        say_json(session)
    else:
        read = [trace.triage for trace in traces]  # their corpora may differ in subject
        show.urgent(next((one for one in read if one.urgent), read[0]), lines)
        for (label, (name, values)), trace in zip(chosen.items(), traces, strict=True):
            show.trace(
                trace,
                details=show_details,
                heading=show.heading(label, name, values),
                quality=_quality(trace) if show_details else None,
            )


app.command()(index)
app.command("eval")(evaluate)
app.command()(sweep)
app.command()(answers)
app.command()(trust)
app.command()(results)
app.command()(forget)
app.command()(export)
app.command()(history)
app.add_typer(exam, name="exam")


@app.command()
def replay(
    file: Annotated[
        Path,
        typer.Argument(
            help="Saved output of `rag query --json` or `rag compare --json`, or a room's session file.",
            parser=a_path,
        ),
    ],
    corpus: Annotated[str | None, typer.Option(help="Corpus to search.", show_default="the one in the session")] = None,
    redact: Redact = False,
    send_private: SendPrivate = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with code 1 if anything differs.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a saved session again and report what differs."""
    from ..sessions.panel.session import read_questions
    from ..sessions.replaying import replay

    opened, told, differ = functools.cache(_lab), [], False
    for saved in read_questions(file):
        question = cleared(saved[0].question, redacting=redact, sending=send_private)
        saved = tuple(one.model_copy(update={"question": question}) for one in saved)
        lab = opened(corpus or saved[0].corpus or BUILTIN)
        found = replay(saved, lab, own_corpora=corpus is None)
        differ |= any(one.differences for one in found)
        told.append((saved[0].question, found))
    if as_json:
        shown = [{"question": asked, "traces": [one.as_json() for one in found]} for asked, found in told]
        say_json(shown[0] if len(shown) == 1 else {"questions": shown})
    else:
        for asked, found in told:
            if len(told) > 1:
                say(asked)
            show.replayed(found)
    raise typer.Exit(1 if strict and differ else 0)


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Report which engines are active and why, what is missing, and how to fix it."""
    from ..lab.doctor import examine

    findings = examine(progress=progress)
    if as_json:
        say_json(findings.as_json())
    else:
        show.findings(findings)
    raise typer.Exit(0 if findings.can_answer else 1)


@app.command("app")
def open_app(
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to serve it on.")] = 8501,
) -> None:
    """Open the app on this machine; Ctrl-C stops it."""
    command = [sys.executable, "-P", "-m", "streamlit", "run", str(APP), "--server.port", str(port)]
    # in place of this process, whose signals it thus gets; -P: no folder of the user's shadows a module
    os.execv(sys.executable, command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line. A RagError becomes one line and exit code 1, 2 for wrong usage, 130 for Ctrl-C."""
    _silence_libraries()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for an encoding that lacks a character
    try:
        try:
            app(args=arguments)
        finally:
            sys.stdout.flush()  # here, where a full device can still be reported
    except RagError as error:
        _fail(error)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        _discard_output()
        sys.exit(1)
    except OSError as error:
        _discard_output()
        what = f"{error.filename} cannot be used" if error.filename else "The output cannot be written"
        _fail(StorageError(f"{what}: {error.strerror or error}.", "Check the path and the free disk space."))


def _discard_output() -> None:
    """Send what is still buffered nowhere, or the interpreter would fail on it when it ends."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _silence_libraries() -> None:
    if not logging.getLogger().handlers:
        logging.getLogger().addHandler(logging.NullHandler())  # otherwise Python prints warnings on stderr
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _fail(error: RagError) -> None:
    with suppress(OSError):  # where stderr is closed or full, only the exit code is left
        complain(f"rag: {error} {spent_so_far(error.calls)}")
    wrong_usage = isinstance(error, ConfigError) and not isinstance(error, SettingsError)
    sys.exit(130 if isinstance(error, Stopped) else 2 if wrong_usage else 1)


def _lab(corpus: str, asked: Sequence[Setup] = ()) -> Any:
    words_only = bool(asked) and all(one.strategy.searches_words_only for one in asked)
    lab = rag_core.open_lab(corpus, progress=progress, vectors_later=words_only)
    for warning in lab.warnings:
        complain(f"rag: {warning}")
    return lab


def _quality(trace: Trace) -> dict[str, float] | None:
    from .. import evaluation as ev

    try:
        return ev.quality_of(trace, rag_core.read_settings())
    except DataError as error:  # no reason to lose an answer
        complain(f"rag: {error}")
        return None


def _quality_json(trace: Trace) -> dict[str, Any]:
    quality = _quality(trace)
    return {} if quality is None else {"quality": quality}


def _say_idle(column: Setup, given: Mapping[str, object]) -> None:
    from ..catalog import recipe_of

    recipe = recipe_of(column.strategy.name)
    for control in recipe.controls:
        if control.name in given and (why := recipe.idle(control, column.strategy.controls)):
            complain(f"rag: {control.name} has no effect. {why}")
