"""Results as Markdown, for the README and for reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..catalog import RECIPES
from ..values.errors import DataError
from .metrics import parse_metric
from .records import write_atomically
from .variants import titles

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
SHOWN = ("ndcg@10", "recall@10", "mrr", "map")  # columns, where the results hold them


def markdown(results: Mapping[str, Any]) -> str:
    """The tables of a results file: all questions, by kind, by language, and the verdicts.

    Args:
        results: from `results.summarise`.
    """
    names = [name for name in SHOWN if all(name in row["metrics"] for row in results["strategies"].values())]
    names = names or [results["primary"]]
    heads = [parse_metric(name).title for name in names]
    rows = [
        [f"`{label}`", *(cell(row["metrics"][name]) for name in names)]
        for label, row in results["strategies"].items()
    ]
    parts = [
        f"{results['queries']} questions of `{results['data']}`, {results['split']} split; "
        "mean and 95 % interval over questions.",
        _table(["strategy", *heads], rows),
    ]
    parts += _variants(results["manifest"])
    parts += [
        _groups(f"{parse_metric(results['primary']).title} by {group}", results["primary"], members)
        for group, members in results["groups"].items()
        if members
    ]
    parts += [
        _by_group(group, members)
        for group, members in results["groups"].items()
        if any(row.get("comparisons") for row in members.values())
    ]
    parts.append("\n".join(f"- {pair['verdict']}" for pair in results["comparisons"]))
    return "\n\n".join(parts)


def put_table(path: Path, table: str) -> None:
    """Replace what stands between the two marks of a Markdown file.

    Raises:
        DataError: the file cannot be read, or has not both marks.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read: {error}.", "Check the path.") from error
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(
            f"{path} has no place for a table.", f"Write {BEGIN} and {END} on lines of their own."
        )
    write_atomically(path, f"{before}{BEGIN}\n{table}\n{END}{after}")


def _variants(manifest: Mapping[str, Any]) -> list[str]:
    """What the labels stand for that are not just the name of a strategy with its defaults."""
    said = [
        f"`{label}`: {title}"
        for label, title in titles(manifest).items()
        if label not in RECIPES or title != RECIPES[label].title
    ]
    return [f"{'; '.join(said)}."] if said else []


def cell(value: Mapping[str, float] | None) -> str:
    """A mean and its interval in one cell."""
    if value is None:
        return "–"
    return f"{value['mean']:.3f} ({value['ci_low']:.3f}–{value['ci_high']:.3f})"


def _groups(title: str, metric: str, members: Mapping[str, Any]) -> str:
    """Means by group: one row a strategy, one column a group, with its number of questions."""
    labels = list(next(iter(members.values()))["strategies"])
    rows = [
        [f"`{label}`", *(_mean(row["strategies"][label][metric]) for row in members.values())]
        for label in labels
    ]
    heads = [f"{group} ({row['queries']})" for group, row in members.items()]
    return _table([f"mean {title}", *heads], rows)


def _mean(value: Mapping[str, float] | None) -> str:
    return "–" if value is None else f"{value['mean']:.3f}"


def _by_group(group: str, members: Mapping[str, Any]) -> str:
    """The compared pairs in each group: mean difference, 95 % interval, p corrected within the group."""
    pairs = next(iter(members.values()))["comparisons"]
    rows = [
        [name, str(row["queries"]), *(_difference(pair) for pair in row["comparisons"])]
        for name, row in members.items()
    ]
    heads = [f"`{pair['a']}` − `{pair['b']}`" for pair in pairs]
    return _table([f"difference by {group} (p corrected)", "n", *heads], rows)


def _difference(pair: Mapping[str, Any]) -> str:
    if pair["difference"] is None:
        return "–"
    text = f"{pair['difference']:+.3f}"
    if pair["low"] is not None:
        text += f" ({pair['low']:+.3f} to {pair['high']:+.3f})"
    return text + (f", p {pair['p_holm']:.3f}" if pair["p_holm"] is not None else "")


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
