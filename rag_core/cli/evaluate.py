"""`rag eval`: strategies on judged questions."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError, RagError
from . import show

Data = Annotated[str, typer.Option(help="'builtin', or a BEIR folder.")]
Split = Annotated[str, typer.Option(help="Which judgements: dev, test, ...")]
Strategies = Annotated[
    str,
    typer.Option(metavar="A,B,LABEL=C", help="Strategies; a label lets one stand twice with other settings."),
]
Sets = Annotated[
    list[str] | None, typer.Option("--set", metavar="LABEL.CONTROL=VALUE", help="Set a control.")
]
Depth = Annotated[
    int | None, typer.Option(min=1, help="Raise every count of passages to this, for deep metrics.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask before calls that cost money.")]


def evaluate(
    strategies: Strategies,
    data: Data = "builtin",
    split: Split = "test",
    set_: Sets = None,
    depth: Depth = None,
    metrics: Annotated[
        str, typer.Option(metavar="NDCG@10,...", help="Metrics; comparisons go by the first.")
    ] = "",
    baseline: Annotated[str, typer.Option(help="Strategy that the others are set beside.")] = "",
    pair: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A:B", help="Compare these two, by kind of question too; without it, every two."
        ),
    ] = None,
    run_file: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=FILE", help="A TREC run of another system.")
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Folder of the run; the same command goes on where it stopped.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=16, help="Questions at the same time.")] = 1,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Measure strategies on judged questions. No answers are written."""
    from .. import evaluation as ev
    from ..settings import read_settings
    from . import show_evaluation as shown

    settings = read_settings()
    chosen = ev.settle(parse_strategies(strategies, set_ or []), depth) if strategies else {}
    measured = ev.choose_metrics([name for name in metrics.split(",") if name.strip()], depth)
    files = _run_files(run_file or [])
    if double := chosen.keys() & files.keys():
        raise ConfigError(f"The label {min(double)!r} stands twice.", "Give the run file another label.")
    if baseline and baseline not in {**chosen, **files}:
        raise ConfigError(
            f"The baseline {baseline!r} is not measured.", f"Choose {', '.join({**chosen, **files})}."
        )
    pairs = [_pair(one, [*chosen, *files]) for one in pair or []]
    judged = ev.read_judged(data, split, settings)
    lab = ev.open_judged(data, settings, progress=show.progress)
    manifest = ev.describe(
        judged,
        chosen,
        depth=depth,
        engine=lab.engine,
        source=ev.source_of(data),
        run_files=files,
        pairs=pairs,
    )
    run = ev.RunFolder.create(run_dir or ev.folder_for(manifest, settings), manifest, judged)
    for label, path in files.items():
        ev.take_run_file(run, label, path)
    confirm(ev.estimate(run, chosen, lab.rehearsal()), yes=yes)
    for progress in ev.evaluate(run, chosen, lab.context, share=settings.uses_openai, workers=workers):
        show.progress(time_left(progress.seconds_left), progress.done, progress.total)
    show.progress("ready", 1, 1)
    results = ev.conclude(run, measured)
    if as_json:
        typer.echo(json.dumps(results, ensure_ascii=False, indent=2))
        return
    shown.results(results)
    shown.stage_effects({label: ev.stage_effects(run, label, measured[0]) for label in chosen})
    shown.rewrite_effects({label: ev.rewrite_effects(run, label) for label in chosen})
    if baseline:
        others = [label for label in run.labels if label != baseline]
        shown.changes(baseline, {label: ev.changes(run, measured[0], baseline, label) for label in others})
    typer.echo(f"\nEverything is in {run.folder}.")


def sweep(
    strategy: Annotated[str, typer.Option(help="Strategy to tune; see `rag strategies`.")],
    vary: Annotated[
        list[str],
        typer.Option(metavar="CONTROL=A,B or CONTROL=FROM:TO:STEP", help="A control and its values."),
    ],
    data: Data = "builtin",
    tune: Annotated[str, typer.Option(help="Split that the winner is chosen on.")] = "dev",
    report: Annotated[str, typer.Option(help="Split that the winner is reported on.")] = "test",
    metric: Annotated[str, typer.Option(help="What is tuned.")] = "ndcg@10",
    random: Annotated[int | None, typer.Option(min=1, help="So many settings at random, not all.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="CONTROL=VALUE", help="A value all settings share.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Try every combination of control values, or a random sample of them."""
    from .. import evaluation as ev
    from ..catalog import recipe_of
    from ..settings import read_settings
    from . import show_evaluation as shown

    settings = read_settings()
    recipe = recipe_of(strategy)
    base = parse_strategies(strategy, [f"{strategy}.{pair}" for pair in set_ or []])[strategy][1]
    axes = dict(ev.parse_axis(recipe, text) for text in vary)
    combinations = ev.grid(axes) if random is None else ev.draw(axes, random)
    measured = ev.parse_metric(metric)
    built = ev.settings_of(recipe, base, combinations)
    dev, test = ev.read_judged(data, tune, settings), ev.read_judged(data, report, settings)
    lab = ev.open_judged(data, settings, progress=show.progress)
    confirm(ev.estimate_all(dev.measured, list(built), lab.rehearsal()), yes=yes)
    result = ev.tune(
        recipe, combinations, measured, dev, test, lab.context, base=base,
        told=lambda done, total: show.progress("sweeping", done, total),
    )  # fmt: skip
    show.progress("ready", 1, 1)
    path = ev.keep(result, settings)
    if as_json:
        typer.echo(json.dumps(result, ensure_ascii=False, indent=2))
        return
    shown.sweep(result)
    typer.echo(f"\nEverything is in {path}.")


def answers(
    strategies: Strategies,
    data: Data = "builtin",
    split: Split = "test",
    set_: Sets = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask so many questions, spread over the set.")
    ] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Have a language model judge every answer (RAG_JUDGE_MODEL).")
    ] = False,
    ragas: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the answers as JSON lines for RAGAS.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Let strategies answer judged questions, and check citations, support and abstentions."""
    from .. import evaluation as ev
    from ..evaluation import answers as checks
    from ..settings import read_settings
    from . import show_evaluation as shown

    settings = read_settings()
    chosen = checks.with_answers(parse_strategies(strategies, set_ or []))
    judged = ev.read_judged(data, split, settings)
    lab = ev.open_judged(data, settings, progress=show.progress)
    questions = checks.spread(judged.questions, limit)
    confirm(ev.estimate_all(questions, list(chosen.values()), lab.rehearsal(), judging=judge), yes=yes)
    report = checks.check_answers(lab, judged, chosen, limit=limit, judging=judge, progress=show.progress)
    show.progress("ready", 1, 1)
    written = checks.write_ragas(ragas, report) if ragas else 0
    if as_json:
        typer.echo(json.dumps(report.as_json(), ensure_ascii=False, indent=2))
        return
    shown.answers(report.as_json())
    if ragas:
        typer.echo(f"\n{written} answers for RAGAS are in {ragas}.")


def results(
    file: Annotated[Path, typer.Argument(help="What `rag eval --json` printed, or a run's results.json.")],
    into: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replace the table in this Markdown file.")
    ] = None,
) -> None:
    """Print a result as Markdown tables, or put them between a file's two result marks."""
    from .. import evaluation as ev

    table = ev.markdown(ev.read_json(file))
    if into is None:
        typer.echo(table)
        return
    ev.put_table(into, table)
    typer.echo(f"The table in {into} is that of {file}.")


def parse_strategies(text: str, assignments: list[str]) -> dict[str, tuple[str, Mapping[str, object]]]:
    """Label -> (strategy, control values) from the options' texts.

    Raises:
        ConfigError: a label stands twice, or a value is set for a label that is not there.
    """
    chosen: dict[str, tuple[str, dict[str, object]]] = {}
    for part in (part.strip() for part in text.split(",") if part.strip()):
        label, equals, name = part.partition("=")
        if label in chosen:
            raise ConfigError(
                f"The label {label!r} stands twice.", "Write LABEL=STRATEGY to tell the two apart."
            )
        chosen[label] = (name if equals else label, {})
    for pair in assignments:
        key, equals, value = pair.partition("=")
        label, dot, control = key.strip().rpartition(".")
        if not equals or not dot or label not in chosen:
            raise ConfigError(
                f"--set {pair} names none of the strategies measured.", "Write LABEL.CONTROL=VALUE."
            )
        chosen[label][1][control] = value.strip()
    return dict(chosen)


def confirm(estimate: Any, *, yes: bool) -> None:
    """Ask before anything is billed; without a terminal, only `--yes` is a yes.

    Raises:
        RagError: nobody said yes.
    """
    if estimate.free or yes:
        return
    if not sys.stdin.isatty():
        raise RagError(f"This run would cost {estimate}.", "Add --yes to run it.")
    if not typer.confirm(f"This run costs {estimate}. Go on?", err=True):
        raise RagError(
            "Nothing was run.", "Choose other strategies, or the offline engine (RAG_LLM=offline)."
        )


def time_left(seconds: float | None) -> str:
    """A progress line's words."""
    if seconds is None:
        return "measuring"
    minutes, rest = divmod(round(seconds), 60)
    return f"measuring, {minutes} min {rest:02d} s left," if minutes else f"measuring, {rest} s left,"


def _pair(written: str, labels: Sequence[str]) -> tuple[str, str]:
    a, colon, b = written.partition(":")
    if not colon or a == b or not {a, b} <= set(labels):
        raise ConfigError(
            f"--pair {written} names no two that are measured.", f"Write A:B with {', '.join(labels)}."
        )
    return a, b


def _run_files(pairs: list[str]) -> dict[str, Path]:
    files = {}
    for pair in pairs:
        label, equals, path = pair.partition("=")
        if not equals or not label:
            raise ConfigError(f"--run-file {pair} is not LABEL=FILE.", "Write other=path/to/other.trec.")
        files[label] = Path(path)
    return files
