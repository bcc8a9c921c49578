"""What the sources claim (`claims.toml`) beside what was measured here, from `data/results.json`."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from markupsafe import Markup

import rag_core
from pages.drawing.fragments import listed, note, render
from pages.drawing.translate import plural, t, translated
from pages.shared import wording
from pages.shared.wording import model_calls, money, seconds
from rag_core import evaluation as ev
from rag_core.catalog import StrategySpec
from rag_core.evaluation.tables import cell
from rag_core.explain import query_title, stage_title

COMPARED = ("simple_semantic", "hyde", "multi_query")
_PUBLISHED = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CLAIMED, SPENT, ABLATION, RERANKED, ERROR_RATES = (
    _PUBLISHED[section] for section in ("comparison", "spent", "ablation", "reranked", "error_rates")
)
BASELINES = {"hyde": "simple_semantic", "multi_query": "dense_8"}  # dense search of as many passages
DENSE: Mapping[str, StrategySpec] = {
    "simple_semantic": "simple_semantic",
    "dense_8": ("simple_semantic", {"k_final": 8}),
}


def comparison(results: ev.Results) -> Markup:
    """The comparison of multi-query with its rivals: its source's words, and below them what holds or was measured here."""
    rows = []
    for row, claims in CLAIMED.items():
        found = (
            render("claims.claim", text=translated(claim), here=_here(row, name, results))
            for name, claim in zip(COMPARED, claims, strict=True)
        )
        rows.append((translated(row), *found))
    return _table(("", *(translated(rag_core.RECIPES[name].title) for name in COMPARED)), rows)


def spent(results: ev.Results) -> Markup:
    """What a question to multi-query takes and costs: its source's figures, and what was measured here."""
    row = results.strategies["multi_query"]
    total = row.seconds_per_query or 0.0
    writing = row.stage_seconds.get("1 Rewrite", 0.0)
    here = (
        (seconds(writing), money(_cost(row, "rewrite"))),
        (seconds(total - writing), money(_cost(row, "embed"))),
        (t("not measured"), t("not measured")),  # strategies are measured without writing answers
        (t("{time} to the passages", time=seconds(total)), money(row.cost_per_query)),
    )
    rows = [
        (translated(part), _claim(time), took, _claim(cost), paid)
        for (part, (time, cost)), (took, paid) in zip(SPENT.items(), here, strict=True)
    ]
    heads = (t("Part"), t("Published: time"), t("Here, offline"), t("Published: cost"), t("Here, offline"))
    return _table(heads, rows)


def _cost(row: ev.StrategyResult, purpose: str) -> float | None:
    """US dollars that a question's calls for a purpose cost; None when a price is unknown."""
    prices = [call.cost_usd for call in row.calls if call.purpose == purpose]
    known = [price for price in prices if price is not None]
    return sum(known) / row.queries if len(known) == len(prices) else None


def ablation(results: ev.Results) -> Markup:
    """RAG-MSR's ablation: its figures, and ours by its own measure and by the standard one."""
    rows = []
    for label, (name, claim) in ABLATION.items():
        means = (_mean(results, label, metric) for metric in ("seed_ndcg@10", "ndcg@10"))
        rows.append((name, _claim(f"{claim:.3f}"), *means))
    published, ours = t("README: nDCG@10 of 10 questions of NFCorpus"), t("Here, by RAG-MSR's measure")
    return _table((t("Ablation"), published, ours, t("Here, nDCG@10 by trec_eval")), rows)


def order(results: ev.Results) -> Markup:
    """The order of RAG-MSR's four methods, best first, in its README and by both measures here, and whether they agree."""
    published = sorted(ABLATION, key=lambda label: -ABLATION[label][1])
    found = []
    for metric in ("seed_ndcg@10", "ndcg@10"):
        means = {
            label: score.mean
            for label in ABLATION
            if (row := results.strategies.get(label)) and (score := row.metrics[metric])
        }
        found.append(sorted(means, key=lambda label: -means[label]))
    seed, standard = (" > ".join(ABLATION[label][0] for label in labels) for labels in found)
    told = t(
        "Best first, by the README: {published}. Here, by its measure: {seed}; by trec_eval's: {standard}.",
        published=" > ".join(ABLATION[label][0] for label in published),
        seed=seed,
        standard=standard,
    )
    agreed = t("The README's order is that found here.")
    if any(labels != published for labels in found):
        agreed = t("The README's order is not reproduced with the offline engine.")
    return note(f"{told} {agreed}")


def decided(results: ev.Results, *pairs: tuple[str, str]) -> Markup:
    """What the measurement decides of pairs of rows, a sentence for each pair that was compared."""
    compared = {(pair.a, pair.b): pair for pair in results.comparisons}
    return Markup().join(note(verdict(results, compared[pair])) for pair in pairs if pair in compared)


def verdict(results: ev.Results, pair: ev.Comparison) -> str:
    """What the measurement decides of a pair of rows, by their titles."""
    names = {label: translated(title) for label, title in ev.titles(results.manifest).items()}
    names |= {label: name for label, (name, _) in ABLATION.items()}
    return translated(ev.verdict(pair, names))


def reranking(results: ev.Results) -> Markup:
    """nDCG@10 without and with reranking, and whether the pairs can be told apart."""
    rows = [
        (translated(what), *(_mean(results, label, "ndcg@10") for label in labels)) for what, labels in RERANKED.items()
    ]
    table = _table(("", t("Here, without"), t("Here, with reranking")), rows)
    return table + decided(results, *((after, before) for before, after in RERANKED.values()))


def error_rates(results: ev.Results) -> Markup:
    """Share of irrelevant passages each reformulation brings, in RAG-MSR's README and here."""
    found = {effect.origin: effect for effects in results.rewrites.values() for effect in effects}
    rows = [
        (
            translated(query_title(origin)),
            _claim(f"{claim:.2f}"),
            f"{found[origin].error_rate:.2f}",
            *(_form_rate(found[origin], form) for form in ("keywords", "sentence")),
            f"{found[origin].unique_relevant:,}",
        )
        for origin, claim in ERROR_RATES.items()
        if origin in found
    ]
    rates = (t("README: error rate"), t("Here: error rate"), t("In keywords"), t("In sentences"))
    return _table((t("Reformulation"), *rates, t("Relevant documents only it found")), rows)


def _form_rate(effect: ev.RewriteEffect, form: str) -> str:
    errors = effect.forms.get(form)
    return f"{errors.error_rate:.2f} ({errors.questions:,})" if errors else "–"


def _here(row: str, name: str, results: ev.Results) -> str:
    recipe = rag_core.RECIPES[name]
    match row:
        case "Query processing":
            return translated(stage_title(recipe.build().stages[0].name))
        case "Language model calls":
            return " + ".join(model_calls(purpose, count) for purpose, count in recipe.calls.items())
        case "Retrieval passes":
            return str(recipe.calls.get("rewrite", 1))
        case "Final passages":
            return str(recipe.build().controls["k_final"])
        case "Best for":
            return _best_kind(results, name)
        case "Recall":
            return _named(results, name, "recall@10")
        case "Precision":
            return _named(results, name, "precision@5")
        case "Cost":
            calls = sum(recipe.calls.values())
            return plural(
                "{count} call; $0 with the offline engine", "{count} calls; $0 with the offline engine", calls
            )
        case _:
            taken = results.strategies[name].seconds_per_query or 0
            return t("{seconds:.2f} s to the passages, offline", seconds=taken)


def _best_kind(results: ev.Results, name: str) -> str:
    """The kind of question it gains most on over its baseline; without a baseline, the one it scores best on."""
    baseline = BASELINES.get(name)
    found = results.best_kind(name, "ndcg@10", baseline)
    if found is None:
        return "–"
    kind, score = found
    if baseline is None:
        return t("does best on {kind} ({score:.2f} nDCG@10)", kind=wording.kind(kind), score=score)
    over, kind = translated(rag_core.describe(DENSE[baseline])), wording.kind(kind)
    return t("gains most on {kind} ({score:+.2f} nDCG@10 over {baseline})", kind=kind, score=score, baseline=over)


def _named(results: ev.Results, label: str, metric: str) -> str:
    return f"{wording.metric(metric)} {_mean(results, label, metric)}"


def _mean(results: ev.Results, label: str, metric: str) -> str:
    row = results.strategies.get(label)
    return cell(row.metrics[metric] if row else None)


def _claim(text: str) -> Markup:
    return render("claims.claim", text=text)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    return listed(heads, rows, "rl-scroll rl-claims")
