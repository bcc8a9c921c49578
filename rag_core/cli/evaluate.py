"""The commands that measure: `rag eval`, `sweep`, `answers`, `trust` and `results`."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import rag_core

from ..values.errors import ConfigError, RagError, Stopped, attach_calls_to_errors
from ..values.types import Cost
from .interrupt import at_a_prompt, interruptible
from .layout import agreed, progress, say, say_as_written, say_json
from .options import AsJson, Sets, Strategies, Yes, a_path, parse_pair, parse_run_files, parse_strategies

Data = Annotated[str, typer.Option(help="'builtin', or a BEIR folder.")]
Split = Annotated[str, typer.Option(help="Which judgements: dev, test, ...")]
Depth = Annotated[int | None, typer.Option(min=1, help="Raise every count of passages to this, for deep metrics.")]
FREE_EMBEDDING = "Set RAG_EMBEDDING=minilm, which is free."


def evaluate(
    strategies: Strategies,
    data: Data = "builtin",
    split: Split = "test",
    set_: Sets = None,
    depth: Depth = None,
    metrics: Annotated[str, typer.Option(metavar="NDCG@10,...", help="Metrics; comparisons use the first.")] = "",
    baseline: Annotated[str, typer.Option(help="Strategy to compare the others with.")] = "",
    pair: Annotated[
        list[str] | None,
        typer.Option(metavar="A:B", help="Compare this pair, by kind of question too; without it, every pair."),
    ] = None,
    run_file: Annotated[
        list[str] | None, typer.Option(metavar="LABEL=FILE", help="A TREC run of another system.")
    ] = None,
    run_dir: Annotated[
        Path | None, typer.Option(help="Folder of the run; the same command resumes it.", parser=a_path)
    ] = None,
    workers: Annotated[int, typer.Option(min=1, max=16, help="Questions at the same time.")] = 1,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Measure strategies on judged questions. No answers are written."""
    from .. import evaluation as ev
    from . import show_evaluation as shown

    settings = rag_core.read_settings()
    chosen = ev.build_strategies(parse_strategies(strategies, set_ or []), depth) if strategies else {}
    measured = ev.choose_metrics([name for name in metrics.split(",") if name.strip()], depth)
    files = parse_run_files(run_file or [])
    if not chosen and not files:
        raise ConfigError("No strategy was chosen.", "Name at least one, or add --run-file LABEL=FILE.")
    if double := chosen.keys() & files.keys():
        raise ConfigError(f"The label {min(double)!r} is used twice.", "Give the run file another label.")
    if baseline and baseline not in {**chosen, **files}:
        raise ConfigError(f"The baseline {baseline!r} is not measured.", f"Choose {', '.join({**chosen, **files})}.")
    pairs = [parse_pair(one, [*chosen, *files]) for one in pair or []]
    judged = ev.read_judged(data, split, settings)
    lab = opened(data, settings, yes=yes)
    manifest = ev.describe_run(
        judged,
        chosen,
        depth=depth,
        engine=lab.engine,
        source=ev.source_of(data),
        run_files=files,
        pairs=pairs,
    )
    folder = run_dir or ev.folder_for(manifest, settings)
    with (
        attach_calls_to_errors(lab.calls),
        ev.RunFolder.create(folder, manifest, judged) as run,
        interruptible() as stop,
    ):
        for label, path in files.items():
            ev.take_run_file(run, label, path)
        share = lab.engines.billed
        confirm(ev.estimate(ev.plan_of(run, chosen, share=share), lab.rehearsal()), yes=yes)
        for now in ev.evaluate(run, chosen, lab.services, share=share, workers=workers, stop=stop):
            progress(time_left(now.seconds_left), now.done, now.total)
        progress("ready", 1, 1)
        results = ev.conclude(run, measured)
    if as_json:
        say_json(results.as_json())
        return
    shown.results(results)
    for label, left in ev.unjudged(run, measured[0]).items():
        say(left.sentence(label, measured[0].name))
    shown.stage_effects({label: ev.stage_effects(run, label, measured[0]) for label in chosen})
    shown.rewrite_effects({label: ev.rewrite_effects(run, label) for label in chosen})
    if baseline:
        others = [label for label in run.labels if label != baseline]
        shown.changes(baseline, {label: ev.changes(run, measured[0], baseline, label) for label in others})
    say(f"\nSaved in {run.folder}.")


def sweep(
    strategy: Annotated[str, typer.Option(help="Strategy to tune; see `rag strategies`.")],
    vary: Annotated[
        list[str],
        typer.Option(metavar="CONTROL=A,B or CONTROL=FROM:TO:STEP", help="A control and its values."),
    ],
    data: Data = "builtin",
    tune: Annotated[str, typer.Option(help="Split to choose the winner on.")] = "dev",
    report: Annotated[str, typer.Option(help="Split to report the winner on.")] = "test",
    metric: Annotated[str, typer.Option(help="Metric to tune.")] = "ndcg@10",
    random: Annotated[int | None, typer.Option(min=1, help="Try this many settings at random, not all.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="CONTROL=VALUE", help="A value for all settings.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Try every combination of control values, or a random sample of them."""
    from .. import evaluation as ev
    from ..catalog import recipe_of
    from . import show_evaluation as shown

    settings = rag_core.read_settings()
    recipe = recipe_of(strategy)
    base = parse_strategies(strategy, [f"{strategy}.{pair}" for pair in set_ or []])[strategy][1]
    axes = dict(ev.parse_axis(recipe, text) for text in vary)
    combinations = ev.grid(axes) if random is None else ev.sample(axes, random)
    measured = ev.parse_metric(metric)
    dev, test = ev.read_judged(data, tune, settings), ev.read_judged(data, report, settings)
    planned = ev.plan(recipe, combinations, dev, test, base)
    lab = opened(data, settings, yes=yes)
    with attach_calls_to_errors(lab.calls), interruptible() as stop:
        confirm(ev.estimate(planned, lab.rehearsal()), yes=yes)
        result = ev.tune(
            recipe, combinations, measured, dev, test, lab.services, base=base, stop=stop, progress=progress
        )
    progress("ready", 1, 1)
    if as_json:
        say_json(result.as_json())
    else:
        shown.sweep(result)
    # last, so that a full disk does not lose what may have been paid for
    path = ev.save_sweep(result, settings)
    if not as_json:
        say(f"\nSaved in {path}.")


def answers(
    strategies: Strategies,
    data: Data = "builtin",
    split: Split = "test",
    set_: Sets = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask this many questions, evenly spaced.")] = None,
    judge: Annotated[
        bool, typer.Option("--judge", help="Have a language model judge every answer (RAG_JUDGE_MODEL).")
    ] = False,
    ragas: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the answers as JSON lines for RAGAS.", parser=a_path),
    ] = None,
    show_answers: Annotated[
        bool, typer.Option("--show-answers", help="Also print every answer with its verdict.")
    ] = False,
    safety: Annotated[
        bool,
        typer.Option(
            "--safety",
            help="Ask only the urgent questions; print who found what to do now, and whose answers begin with it.",
        ),
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Answer judged questions; check citations, support and abstentions, and judge what answers say."""
    from .. import evaluation as ev
    from ..evaluation import answers as checks
    from . import show_evaluation as shown

    if safety and (judge or ragas or show_answers):
        raise typer.BadParameter("--safety goes without --judge, --ragas and --show-answers")
    settings = rag_core.read_settings()
    chosen = checks.with_answers(parse_strategies(strategies, set_ or []))
    judged = ev.read_judged(data, split, settings)
    answer_set = None if safety else ev.read_answers(data, judged, settings)
    if safety:
        judged = ev.urgent_only(judged)
    elif answer_set:
        judged = answer_set.extend(judged)
    elif show_answers:
        raise ConfigError(f"{data} has no judged answers for split {split!r}.", "Leave out --show-answers.")
    lab = opened(data, settings, yes=yes)
    questions = checks.evenly_spaced(judged.questions, limit)
    asked = ev.Workload(questions, list(chosen.values()), judging=judge)
    with attach_calls_to_errors(lab.calls), interruptible() as stop:
        confirm(ev.estimate([asked], lab.rehearsal()), yes=yes)
        report = checks.check_answers(
            lab,
            judged,
            chosen,
            limit=limit,
            judging=judge,
            answer_set=answer_set,
            progress=progress,
            stop=stop,
        )
    progress("ready", 1, 1)
    with attach_calls_to_errors([*lab.calls, *report.calls]):
        written = checks.write_ragas(ragas, report) if ragas else 0
        if safety and as_json:
            say_json(ev.SafetyReport.of(report).as_json())
        elif safety:
            shown.safety(ev.SafetyReport.of(report))
        elif as_json:
            say_json(report.as_json())
        else:
            shown.answers(report.scores)
            if show_answers:
                shown.judged_answers(report)
            shown.verdict_summary(report.scores, builtin=data == ev.BUILTIN_DATA)
        if ragas and not as_json:
            say(f"\n{written} answers for RAGAS are in {ragas}.")
        if report.remaining:
            raise Stopped


def results(
    file: Annotated[
        Path, typer.Argument(help="What `rag eval --json` printed, or a run's results.json.", parser=a_path)
    ],
    into: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Replace the table in this Markdown file.", parser=a_path),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
) -> None:
    """Print a result, or write it as Markdown tables between the two result marks of a file."""
    from .. import evaluation as ev
    from . import show_evaluation as shown

    found = ev.Results.read(file)
    if into is not None:
        ev.put_table(into, ev.markdown(found))
        say(f"{into} now has the tables of {file}.")
    elif markdown:
        say_as_written(ev.markdown(found))
    else:
        shown.results(found)


def opened(data: str, settings: Any, *, yes: bool) -> Any:
    """The lab over a judged set's documents; asks before a provider embeds them, and prints the cost."""
    from .. import evaluation as ev

    def agree(bill: Any) -> None:
        confirm(bill, yes=yes, what="Embedding the documents", instead=FREE_EMBEDDING)

    with interruptible() as stop:
        lab = ev.open_judged(data, settings, progress=stop.progress, consent=agree)
    if any(call.cost_usd != 0 for call in lab.calls):
        say(f"Embedding the documents cost {Cost.of(lab.calls)}.", err=True)
    return lab


def confirm(
    estimate: Any,
    *,
    yes: bool,
    what: str = "This run",
    instead: str = "Choose other strategies, or the offline engine (RAG_LLM=offline).",
) -> None:
    """Ask before `what` is billed; without a terminal, only `--yes` is consent. RagError is a refusal."""
    if estimate.free or yes:
        return
    if not sys.stdin.isatty():
        raise RagError(f"{what} would cost {estimate}.", "Add --yes to run it.")
    with at_a_prompt():
        yes = agreed(f"{what} costs {estimate}. Go on?")
    if not yes:
        raise RagError("Nothing was run.", instead)


def time_left(seconds: float | None) -> str:
    """The text of a progress line."""
    if seconds is None:
        return "measuring"
    minutes, rest = divmod(round(seconds), 60)
    return f"measuring, {minutes} min {rest:02d} s left," if minutes else f"measuring, {rest} s left,"


def trust(
    strategies: Strategies = "simple_semantic,bm25,hybrid_rrf",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Ask this many urgent questions, and this many for abstention.")
    ] = None,
    show_questions: Annotated[
        bool, typer.Option("--show-questions", help="Also print each urgent question with every strategy.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Measure the safeguards on labelled questions and sentences, and the answers to urgent questions."""
    from .. import evaluation as ev
    from ..evaluation import answers as checks
    from . import show_evaluation as shown

    settings = rag_core.read_settings()
    chosen = checks.with_answers(parse_strategies(strategies, []))
    judged = ev.urgent_only(ev.read_judged(ev.BUILTIN_DATA, "test", settings))
    lab = opened(ev.BUILTIN_DATA, settings, yes=yes)
    measures = ev.trust_measures(lab, limit)
    asked = ev.Workload(checks.evenly_spaced(judged.questions, limit), list(chosen.values()))
    with attach_calls_to_errors(lab.calls), interruptible() as stop:
        confirm(ev.estimate([asked], lab.rehearsal()), yes=yes)
        report = checks.check_answers(lab, judged, chosen, limit=limit, progress=progress, stop=stop)
    progress("ready", 1, 1)
    safety = ev.SafetyReport.of(report)
    with attach_calls_to_errors([*lab.calls, *report.calls]):
        if as_json:
            say_json({"measures": [one.as_json() for one in measures], "urgent_answers": safety.as_json()})
        else:
            shown.measures(measures)
            shown.safety(safety, each=show_questions)
        if report.remaining:
            raise Stopped
