"""Human-readable output of the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len

from ..language.questions import is_maternity
from ..values.answers import without_bold
from ..values.message import NOTICE
from ..values.profile import PROFILE_FILE, language_list
from ..values.prompt_injection import GIVES_ORDERS
from ..values.sources import age_note
from ..values.trace import Exchange, Trace
from ..values.triage import Triage
from ..values.types import Cost, ModelCall
from ..values.visible import visible
from .layout import paragraph, say, several_lines, width

if TYPE_CHECKING:  # they take seconds to load
    from ..explain.bill import Bill, BillLine
    from ..indexing import EnrichmentEstimate, Report, WriteReport
    from ..lab.doctor import Findings
    from ..safety.urgency.helplines import Helplines
    from ..sessions.replaying import Replayed

NAME = 22  # columns of a stage in a bill


def strategies(recipes: Sequence[dict[str, Any]]) -> None:
    """Strategies with stages, controls and presets."""
    from ..catalog import format_value

    for recipe in recipes:
        say(f"{recipe['name']}: {recipe['title']}", bold=True)
        paragraph(recipe["summary"])
        say(f"  stages: {' → '.join(stage['stage'] for stage in recipe['stages'])}")
        say(f"  source: {recipe['source']}")
        for control in recipe["controls"]:
            say(f"  {control['name']:<22} {format_value(control['default']):<12} ({_span(control)})")
            say(f"      {control['label']}. {control['help']}", hang=0)
        for preset in recipe["presets"]:
            values = " ".join(f"{name}={format_value(value)}" for name, value in preset["values"].items())
            say(f"  preset {preset['name']}: {values or 'the defaults'}")
            say(f"      {preset['help']}", hang=0)
        paragraph(f"Good for: {recipe['helps']}")
        paragraph(f"Not good for: {recipe['hurts']}")
        say()


def _span(control: dict[str, Any]) -> str:
    if control["choices"]:
        return "|".join(control["choices"])
    if control["type"] == "prompt":
        return "your own text"
    if control["min"] is None:
        return "true|false"
    each = "each " if control["type"] == "weights" else ""
    return f"{each}{control['min']:g} to {control['max']:g}, step {control['step']:g}"


def heading(label: str, name: str, values: Mapping[str, object]) -> str:
    """The heading of a result: its label, its strategy, and the controls that were set."""
    title = label if label == name else f"{label} = {name}"
    return ", ".join([title, *(f"{control}={value}" for control, value in values.items())])


def triage(found: Triage, lines: Helplines | None) -> None:
    """How urgent a question is, and what to do."""
    if found.urgent:
        say(found.level, bold=True)
        urgent(found, lines)
        return
    say("routine: no urgent sign was found, which does not mean that there is none.")
    say(NOTICE)


def urgent(found: Triage, lines: Helplines | None) -> None:
    """What to do about an urgent question, and whom to call; nothing for a routine one."""
    from ..safety.urgency.helplines import urgent_notice

    if notice := urgent_notice(found, lines):
        say(notice.title, fg="red", bold=True)
        for line in (notice.action, *notice.numbers, notice.reason, notice.caveat):
            paragraph(line)


def trace(trace: Trace, *, details: bool, heading: str = "", quality: Mapping[str, float] | None = None) -> None:
    """The answer and its sources; with `details`, every stage; `quality` is metric -> value, if judged."""
    say(f"{heading or trace.strategy}  [{trace.engine['llm']}]", hang=4, bold=True)
    answer = trace.answer
    if answer is not None:
        for remark in (one for one in trace.remarks() if one.leads):
            paragraph(remark.text)
        several_lines(without_bold(answer.text))
        for remark in (one for one in trace.remarks() if not one.leads):
            paragraph(remark.text)
        if answer.abstained:
            paragraph(f"Why: {answer.reason}")
        if answer.suggestions:
            from ..stages.remarks import perhaps_you_meant

            paragraph(f"{perhaps_you_meant(trace.question)}:")
        for near in answer.suggestions:
            say(f"  {near.title}", hang=4)
        weak = Counter((one.support, one.text, one.reason) for one in answer.sentences if one.support != "supported")
        for (support, sentence, reason), count in weak.items():
            times = f" ({count} times)" if count > 1 else ""
            paragraph(f"{support}{times}: “{sentence}” {reason}")
        for cited in answer.citations:
            if cited.supported is None:
                paragraph(f"[{cited.n}] unclear: it is not clear whether the passage supports the sentence.")
            elif not cited.supported:
                paragraph(f"[{cited.n}] unsupported: the closest sentence is “{cited.quote}”")
    for rank, hit in enumerate(trace.ranking, start=1):
        label = hit.relevance.label if hit.relevance else "-"
        say(f"  [{rank}] {label:<6} {hit.scale} {hit.score:.4f}  {hit.passage.full_title}  ({hit.id})", hang=4)
        if hit.passage.source:
            say(f"      {hit.passage.source}", hang=2)
        if hit.passage.difference:
            say(f"      {hit.passage.difference}", hang=2)
        if hit.passage.gives_orders:
            say(f"      {GIVES_ORDERS}", hang=2, fg="yellow")
        if note := age_note(hit.passage.sources):
            say(f"      {note}", hang=2)
    for query in trace.final.queries:
        if query.origin != "question":
            say(f"  {query.origin} (weight {query.weight:g}): {query.text}")
        if read := trace.readings.get(query.text):
            say(f"  read as: {read}" if query.origin == "question" else f"    read as: {read}")
        if details and query.note:
            say(f"    {query.note}")
    if details:
        show_bill(trace)
        if quality is None:
            paragraph("metrics: none, because this is not one of the built-in judged questions")
        else:
            from ..evaluation import parse_metric

            values = ", ".join(f"{parse_metric(name).title} {value:.3f}" for name, value in quality.items())
            say(f"  metrics: {values}")
    for warning in trace.warnings:
        say(f"  warning: {warning}", fg="yellow")
    cost = "n/a (a price is unknown)" if trace.cost_usd is None else f"${trace.cost_usd:.6f}"
    say(f"  {trace.seconds:.2f} s, cost {cost}. {NOTICE}\n")


def replayed(found: Sequence[Replayed]) -> None:
    """What differs in each trace, in words."""
    for one in found:
        say(heading(one.saved.label or one.saved.strategy, one.saved.strategy, {}), bold=True)
        for difference in one.differences:
            say(f"  {difference.what}: {difference.says}", fg="yellow")
        if not one.differences:
            say("  no differences")


def report_json(report: Report) -> dict[str, Any]:
    """An indexing report as JSON."""
    plain = ("corpus", "added", "changed", "removed", "unchanged")
    return {
        **{name: getattr(report, name) for name in plain},
        "failed": [{"file": file, "reason": reason} for file, reason in report.failed],
        "skipped": [{"file": file, "reason": reason} for file, reason in report.skipped],
        "hidden": [{"document": document, "text": text} for document, text in report.hidden],
        "orders": report.orders,
        "passages": report.passages,
        "embedded": report.embedded,
        "profile": asdict(report.profile),
        "cost_usd": report.cost.usd,
        "enriched": _enriched_json(report.enriched) if report.enriched else None,
        "questions": _enriched_json(report.questions) if report.questions else None,
        "notes": _notes(report),
    }


def _notes(report: Report) -> list[str]:
    from ..models.embedding import shortened

    cut = shortened(report.embeddings)
    return [*report.notes, *([f"{cut}."] if cut else [])]


def _enriched_json(written: WriteReport) -> dict[str, Any]:
    return {
        "enricher": written.enricher,
        "passages": written.passages,
        "embedded": written.embedded,
        "calls": len(written.calls),
        "cost_usd": written.cost.usd,
        "without_context": written.without_context,
    }


def report(report: Report) -> None:
    """Counts, then each failed or skipped file with its reason."""
    counts = ", ".join(
        f"{len(getattr(report, name))} {name}" for name in ("added", "changed", "removed", "unchanged", "failed")
    )
    say(
        f"{report.corpus}: {counts}; {report.passages} passages, {report.embedded} newly "
        f"embedded{_cost_of(report.calls)}."
    )
    profile = report.profile
    about = f"about {profile.subject}" if profile.subject else f"subject unknown (set --subject or {PROFILE_FILE})"
    languages = language_list(profile.languages)
    paragraph(f"{about}; {f'in {languages}' if languages else 'language unknown'}")
    if not is_maternity(profile.subject):
        paragraph("questions are not read for urgent signs, which are those of pregnancy, birth and babies")
    if written := report.enriched:
        calls = f", {len(written.calls)} calls" if written.calls else ""
        paid = _cost_of((*written.calls, *written.embeddings))
        say(
            f"  with contexts by {written.enricher.partition('/')[0]}: {written.passages - written.without_context} of "
            f"{written.passages} passages, {written.embedded} newly embedded{calls}{paid}."
        )
    if asked := report.questions:
        counted = f"{asked.passages - asked.without_context} of {asked.passages} passages"
        say(f"  with questions of {counted}, {len(asked.calls)} calls{_cost_of(asked.calls)}.")
    for file, reason in report.failed:
        say(f"  failed {file}: {reason}", fg="yellow")
    for file, reason in report.skipped:
        say(f"  skipped {file}: {reason}")
    for document, text in report.hidden:
        say(f"  not read in {document}: {text}", fg="yellow")
    for document in report.orders:
        say(f"  {document} gives orders to a language model; they are quoted, not followed", fg="yellow")
    for note in _notes(report):
        say(f"  {note}", fg="yellow")


def _cost_of(calls: Sequence[ModelCall]) -> str:
    """The cost as a phrase, such as " for $0.01"; empty when it was free."""
    billed = [call for call in calls if call.cost_usd != 0]
    return f" for {Cost.of(billed)}" if billed else ""


def estimate(what: EnrichmentEstimate) -> None:
    """The estimated cost of writing contexts or questions with a model, on stderr."""
    cost = "price unknown" if what.cost_usd is None else f"about ${what.cost_usd:.4f}"
    say(
        f"{what.what} by {what.model}: {what.calls} calls, about {what.input_tokens:,} tokens in and "
        f"{what.output_tokens:,} out, {cost}; {what.known} already stored.",
        err=True,
    )


def collection(counts: dict[str, Any], problems: Sequence[str]) -> None:
    """Counts of the built-in collection, then its problems."""
    for name, count in counts.items():
        parts = ", ".join(f"{key} {value:,}" for key, value in count.items()) if isinstance(count, dict) else ""
        total = sum(count.values()) if isinstance(count, dict) else count
        say(f"{name:<12} {total:>8,}  {parts}".rstrip(), hang=23)
    for problem in problems:
        say(problem, fg="yellow")
    say(f"{len(problems)} problem{'' if len(problems) == 1 else 's'}")


def findings(found: Findings) -> None:
    """One line per finding."""
    for finding in found.findings:
        mark = {True: "ok     ", False: "MISSING", None: "note   "}[finding.ok]
        say(f"{mark} {finding.what}", hang=8)
        if finding.mend:
            say(f"        {finding.mend}", hang=0)


def show_bill(trace: Trace) -> None:
    """One line a stage with its searches below it, their total, and the prices with their dates."""
    from ..explain.bill import bill_of

    found = bill_of(trace)
    for step, line in zip(trace.steps, found.lines, strict=True):
        left = ", ".join(str(len(ranking)) for ranking in step.after.rankings)
        say(_line(line, f"  passages: {left}" if left else ""))
        if step.kind == "retrieve" and len(step.after.rankings) > 1:
            for ranking in step.after.rankings:
                of = "" if ranking.query.origin == "question" else f" of {ranking.query.origin}"
                say(f"    {ranking.retriever + of:<{NAME - 2}} {_milliseconds(ranking.seconds)}")
    say(_line(found.total))
    if found.total.shared:
        say(f"  reused calls cost nothing here; with nothing to reuse: {found.alone}")
    for price in _prices(found):
        say(f"  {price}")


def _line(line: BillLine, left: str = "") -> str:
    sent, received = line.tokens
    took = "   reused" if line.reused else _milliseconds(line.seconds)
    if not (line.calls or line.shared):
        return f"  {line.stage:<{NAME}} {took}{left}"
    if not line.calls:
        return f"  {line.stage:<{NAME}} {took}{left}  {_counted(line.shared)} reused, $0"
    counts = f"{_counted(len(line.calls))}, {sent:,} → {received:,} tokens {line.counting}"
    return f"  {line.stage:<{NAME}} {took}{left}  {counts}, {line.cost}"


def _counted(calls: int) -> str:
    return f"{calls:,} call{'' if calls == 1 else 's'}"


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:8.1f} ms"


def _prices(found: Bill) -> list[str]:
    from ..values.pricing import PriceList
    from ..values.settings import read_settings

    models = dict.fromkeys(call.model for call in found.total.calls if call.cost_usd != 0)
    prices = PriceList.of(read_settings()) if models else PriceList({})
    known = {model: prices.get(model) for model in models}
    return [
        f"{model}: ${price.input:.2f} in, ${price.output:.2f} out per million tokens, on {price.date}"
        if price
        else f"{model}: its price is not known"
        for model, price in known.items()
    ]


MOST = 40  # rows; the line above them counts all, and `--json` has all
FATE = 46  # columns


def show_fates(trace: Trace) -> None:
    """One line for each passage: its fate, and its title; the used ones first, then those that came furthest."""
    from ..explain import fates, summary_of_fates

    found = fates(trace)
    say(f"  {'Found ' if found else ''}{summary_of_fates(found)}.")
    if limits := dict.fromkeys(f"{fate.control}={fate.limit:g}" for fate in found if fate.kind == "cut" and fate.limit):
        say(f"  Limits, as `--set` takes them: {', '.join(limits)}.")
    for fate in found[:MOST]:
        text = f"  {fate.text:<{FATE}}  "
        say(f"{text}{_fitting(fate.passage.full_title, width() - len(text))}", hang=FATE)
    if len(found) > MOST:
        say(f"  and {len(found) - MOST:,} more; `--json` lists all.")
    say()


def _fitting(title: str, columns: int) -> str:
    """A title in this many columns, shortened in the middle: its end, the last heading, tells most."""
    title = " ".join(visible(title).split())
    if cell_len(title) <= columns:
        return title
    head = (columns - 1) // 3
    return f"{title[:head].rstrip()}…{title[len(title) - (columns - 1 - head) :].lstrip()}"


def show_prompts(trace: Trace) -> None:
    """What each model was sent and replied; for the offline engine the fields, since it is sent no text."""
    found = [(step.stage, one) for step in trace.steps for one in step.exchanges]
    if any(one.offline for _, one in found):
        paragraph("The offline engine was sent no text; it reads each prompt's name and fields.")
    for stage, one in found:
        tokens = f", {_tokens(one)}" if not one.offline else ""
        say(f"  {stage}: prompt {one.prompt} to {one.model}{tokens}", hang=4, bold=True)
        if one.offline:
            for name, value in one.fields.items():
                several_lines(f"{name}: {value}")
        else:
            several_lines(f"system: {one.system}")
            several_lines(f"user: {one.text}")
        several_lines(f"reply: {one.reply}")
        if one.error:
            say(f"  failed: {one.error}", fg="yellow")
    if not found:
        paragraph("No model that reads a prompt was called.")
    say()


def _tokens(one: Exchange) -> str:
    sent = sum(call.input_tokens for call in one.calls)
    received = sum(call.output_tokens for call in one.calls)
    who = "+".join(sorted({call.counted_by for call in one.calls})) or "nobody: it was refused"
    return f"{sent:,} tokens in, {received:,} out, counted by {who}"


def prompts_json(trace: Trace) -> list[dict[str, Any]]:
    """What `show_prompts` shows, each with its stage; see `Exchange.as_json`."""
    return [{"stage": step.stage, **one.as_json()} for step in trace.steps for one in step.exchanges]
