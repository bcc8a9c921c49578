"""`rag index`: files into a corpus, and checks and exports of the built-in collection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ..values.types import ModelCall
from . import show
from .evaluate import FREE_EMBEDDING, confirm
from .interrupt import interruptible
from .layout import say, say_json
from .options import AsJson, Yes, a_path, read_text

if TYPE_CHECKING:
    from ..indexing import EnrichmentEstimate

STANDARD = "standard"  # for --context-prompt; a file of this name is ./standard


def index(
    path: Annotated[
        Path | None, typer.Argument(help="File, folder, or BEIR folder.", show_default=False, parser=a_path)
    ] = None,
    corpus: Annotated[str | None, typer.Option(help="Corpus to index into.", show_default=False)] = None,
    enrich: Annotated[
        bool,
        typer.Option(
            "--enrich",
            help="Also index each passage with its context, for strategy contextual; a model also writes the questions it answers.",
        ),
    ] = False,
    context_prompt: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --enrich: your own prompt for the contexts, with {passage}, {title}, {document}. It is kept; "
            "'standard' goes back to ours.",
        ),
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(
            metavar="PHRASE",
            help="What the documents are about, for prompts; or in PATH/profile.toml. Questions to documents about "
            "another subject than pregnancy, birth or babies are not read for urgent signs.",
        ),
    ] = None,
    languages: Annotated[
        str | None, typer.Option(metavar="en,es", help="Languages of the documents; or in PATH/profile.toml.")
    ] = None,
    chunk_size: Annotated[
        int | None,
        typer.Option(metavar="N", help="Most word pieces of a passage, 64 to 400; 0 for the default."),
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(metavar="N", help="Most word pieces that a passage repeats from the one before it."),
    ] = None,
    only: Annotated[
        Literal["words"] | None,
        typer.Option(help="Embed nothing, for strategies that search words alone: bm25.", show_default=False),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Count the built-in documents and the questions that they answer.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Export the built-in collection as BEIR folders.", parser=a_path),
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Index files into a corpus: md, txt, html, pdf, docx, csv, xlsx, json, jsonl, or a BEIR folder."""
    actions = sum((path is not None, check, export is not None))
    if actions != 1 or (path is None) != (corpus is None):
        raise typer.BadParameter("give PATH with --corpus NAME, or one of --check, --export DIR")
    if enrich and path is None:
        raise typer.BadParameter("--enrich needs PATH and --corpus NAME")
    if context_prompt is not None and not enrich:
        raise typer.BadParameter("--context-prompt needs --enrich")
    if path is None and any(one is not None for one in (subject, languages, chunk_size, overlap, only)):
        raise typer.BadParameter(
            "--subject, --languages, --chunk-size, --overlap and --only need PATH and --corpus NAME"
        )
    if path is None or corpus is None:
        _builtin(export, as_json=as_json)
        return
    from ..lab import opening

    def consent(calls: Sequence[ModelCall]) -> None:
        from .. import evaluation as ev

        confirm(ev.CostEstimate.of(calls), yes=yes, what="Embedding the documents", instead=FREE_EMBEDDING)

    def announce(contexts: EnrichmentEstimate) -> None:
        from .. import evaluation as ev

        show.estimate(contexts)
        confirm(
            ev.CostEstimate.of_contexts(contexts),
            yes=yes,
            what=f"The documents are indexed. Writing their {contexts.what.lower()}",
            instead="RAG_LLM=offline writes contexts for nothing, and no questions.",
        )

    with interruptible() as stop:
        report = opening.index(
            path,
            corpus,
            enrich=enrich,
            context_prompt=_prompt(context_prompt),
            subject=subject,
            languages=None if languages is None else [code.strip() for code in languages.split(",")],
            chunk_size=chunk_size,
            overlap=overlap,
            only=only,
            progress=stop.progress,
            consent=consent,
            announce=announce,
        )
    if as_json:
        say_json(show.report_json(report))
    else:
        show.report(report)
    raise typer.Exit(1 if report.nothing_read else 0)


def _prompt(given: str | None) -> str | None:
    """The text of the file given; empty for the standard prompt, None for the one that the corpus has."""
    if given is None:
        return None
    return "" if given == STANDARD else read_text(a_path(given))


def _builtin(export: Path | None, *, as_json: bool) -> None:
    from ..lab import builtin
    from ..lab.engines import load_engines
    from ..values.settings import read_settings

    settings = read_settings()
    embedder = load_engines(settings).embedder
    if export is not None:
        for folder in builtin.export(settings.data, export, embedder):
            say(str(folder))
        return
    counts, problems = builtin.check(settings.data, embedder)
    if as_json:
        say_json({"counts": counts, "problems": problems})
    else:
        show.collection(counts, problems)
    raise typer.Exit(1 if problems else 0)
