"""What a strategy searched with and what its models were sent, as HTML, drawn by queries.html: queries, and the prompts behind a result."""

from collections.abc import Sequence

from markupsafe import Markup

import rag_core
from pages.compare.costs import of_purpose
from pages.drawing.fragments import note, render
from pages.drawing.translate import plural, t, translated
from pages.shared import setups
from pages.shared.live import Column
from rag_core.explain import query_title, query_weights, stage_title
from rag_core.stages import Rewrite, Stage
from rag_core.values.trace import Exchange, QueryResults, results_by_query
from rag_core.values.types import token_counts

SHOWN = 3  # rewrites above an answer; the rest is counted


def rewrites(column: Column, question: str) -> Markup:
    """Above an answer: the queries a strategy wrote, a line and a weight each; it opens for what each of all found."""
    steps, stages = column.steps, column.strategy.stages
    room = _expected(stages)
    if not column.settled and any(stage.kind == "transform" for stage in stages[len(steps) :]):
        return render("queries.lines", lines=["\u00a0"] * room, room=room)
    queries = steps[-1].after.queries if steps else ()
    readings = {text: read for step in steps for text, read in step.readings.items()}
    analyses = (step.after.queries[0].note for step in steps if step.stage.startswith("AnalyseQuery"))
    analysed = next(analyses, "")
    decided = t("Query analysis: {note}.", note=translated(analysed)) if analysed else ""
    asked = t("Read as: {text}", text=read) if (read := readings.get(question)) else ""
    written = [query for query in queries if query.origin != "question"]
    if not written:
        line = " ".join(text for text in (t("No rewrite."), decided, asked) if text)
        return render("queries.lines", lines=[line], room=0)
    weights = query_weights(steps) if len(queries) > 1 else {}
    found = results_by_query(next((step.after.rankings for step in steps if step.kind == "retrieve"), ()))
    rows = []
    for query in queries:
        told = _found(found.get(query.text), weights.get(query.text), several=len(found) > 1)
        rows.append((query, told, readings.get(query.text, "")))
    asked = "" if any(query.text == question for query in queries) else asked  # its row says so
    return render(
        "queries.rewrites", written=written, shown=SHOWN, weights=weights, queries=rows, notes=(asked, decided),
        room=room,
    )  # fmt: skip


def _expected(stages: Sequence[Stage]) -> int:
    written = sum(len(stage.templates) for stage in stages if isinstance(stage, Rewrite))
    return max(1, min(written, SHOWN + 1))


def _found(results: QueryResults | None, weight: float | None, *, several: bool) -> str:
    """The weight of a query in the fusion if there is one, and how many passages it found; among several, how many no other found."""
    parts = [] if weight is None else [t("weight {weight:g}", weight=weight)]
    if results and results.found:
        only_here = t(", {count} found by no other query", count=results.unique) if several else ""
        parts.append(plural("{count:,} passage", "{count:,} passages", results.found) + only_here)
    return " · ".join(parts)


def prompts(trace: rag_core.Trace) -> Markup:
    """Every prompt of a result, stage by stage, each folded; what is sent to no model says so."""
    if not any(step.exchanges for step in trace.steps):
        return note(t("No prompt was needed: this result called no model that reads one."))
    return _stages(trace.steps)


def before_failure(steps: Sequence[rag_core.Step], error: rag_core.RagError) -> Markup:
    """Every prompt of a strategy that failed, the failed stage's last; empty without any."""
    failed = error if isinstance(error, rag_core.StageError) and error.exchanges else None
    if not (failed or any(step.exchanges for step in steps)):
        return Markup()
    return _stages(steps, failed, failing=True)


def _stages(
    steps: Sequence[rag_core.Step], failed: rag_core.StageError | None = None, *, failing: bool = False
) -> Markup:
    found = [(translated(stage_title(step.stage)), step.reused, step.exchanges) for step in steps if step.exchanges]
    if failed:
        title = t("{stage}: failed", stage=translated(stage_title(failed.stage)))
        found.append((title, False, failed.exchanges))
    exchanges = [one for _, _, each in found for one in each]
    return render(
        "queries.prompts", failing=failing, offline=any(one.offline for one in exchanges),
        sent=not all(one.offline for one in exchanges),
        sections=[(title, reused, [(one, _called(one), _tokens(one)) for one in each]) for title, reused, each in found],
    )  # fmt: skip


def _called(one: Exchange) -> tuple[str, str, str]:
    """What a prompt is for; which of several for that and of several tries it is, empty for the only one; its model."""
    name = translated(query_title(one.prompt)) if one.purpose == "rewrite" else ""
    again = t("again ({n})", n=one.sample + 1) if one.sample else ""
    which = ", ".join(part for part in (name, again) if part)
    return of_purpose(one.purpose), f": {which}" if which else "", setups.called(one.model)


def _tokens(one: Exchange) -> str:
    if not one.calls:
        return t("no tokens: the provider refused it")
    counted = [call for call in one.calls if call.of_language_model]
    sent, received = (f"{count:,}" for count in token_counts(counted))
    if one.offline:
        return t("{sent} tokens in, {received} out if it were sent", sent=sent, received=received)
    if all(call.counted_by == "provider" for call in counted):
        return t("{sent} tokens in, {received} out, counted by the provider", sent=sent, received=received)
    return t("{sent} tokens in, {received} out, counted here", sent=sent, received=received)
