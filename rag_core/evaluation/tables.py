"""Results as Markdown tables, for the README and for reports."""

import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..catalog import RECIPES
from ..values.errors import DataError, unreadable
from ..values.message import NOTICE
from ..values.owner_only import write_atomically
from ..values.visible import visible
from .ablation import FORMS, RewriteEffect
from .manifest import Manifest, titles
from .metrics import parse_metric
from .results import Groups, MeanScore, Results
from .statistics import Comparison

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
SHOWN = ("ndcg@10", "recall@10", "mrr", "map")  # columns, where the results have them
PLAIN = re.compile(r"[^\\`|<\s]+(?: [^\\`|<\s]+)*")  # as code in a table, this stays as it is
# "_" only where it does not join words; "." and ":" only where they make a link of an address
MARKUP = re.compile(r"[\\`*\[\]|~$&#]|<(?=[A-Za-z/!?])|(?<=<)!|(?<!\w)_|_(?!\w)|^[-+>=]|(?<=www)\.|:(?=//)")


def markdown(results: Results) -> str:
    """The tables of a result: all questions, by kind, by language, the rewrites, and the verdicts."""
    names = [name for name in SHOWN if all(name in row.metrics for row in results.strategies.values())]
    names = names or [results.primary]
    headers = [parse_metric(name).title for name in names]
    rows = [
        [
            _code(label),
            *(cell(row.metrics[name]) for name in names),
            "–" if row.judged_at_10 is None else f"{1 - row.judged_at_10:.1%}",
        ]
        for label, row in results.strategies.items()
    ]
    parts = [
        NOTICE,
        f"{results.queries} questions of {_code(results.data)}, {_text(results.split)} split; "
        "mean and 95 % interval over questions.",
        _table(["strategy", *headers, "unjudged@10"], rows),
    ]
    parts += _legend(results.manifest)
    grouped = {group: members for group, members in results.groups.items() if members}
    parts += [_means_by_group(group, results.primary, members) for group, members in grouped.items()]
    parts += [
        _differences_by_group(group, members)
        for group, members in grouped.items()
        if any(row.comparisons for row in members.values())
    ]
    if results.rewrites:
        parts.append(_rewrites(results.rewrites))
    parts.append("\n".join(f"- {_text(pair.verdict)}" for pair in results.comparisons))
    return "\n\n".join(parts)


def put_table(path: Path, table: str) -> None:
    """Replace the text between a Markdown file's two marks; raises DataError if it lacks one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error, "Check the path.") from error
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise DataError(f"{path} has no place for a table.", f"Add the lines {BEGIN} and {END}.")
    mode = path.stat().st_mode
    write_atomically(path, f"{before}{BEGIN}\n{table}\n{END}{after}")
    path.chmod(stat.S_IMODE(mode))  # it is the user's, not of the state folder


def cell(score: MeanScore | None) -> str:
    """A mean and its interval in one cell."""
    return "–" if score is None else f"{score.mean:.3f} ({score.ci_low:.3f}–{score.ci_high:.3f})"


def _legend(manifest: Manifest) -> list[str]:
    entries = [
        f"{_code(label)}: {_text(title)}"
        for label, title in titles(manifest).items()
        if label not in RECIPES or title != RECIPES[label].title
    ]
    return [f"{'; '.join(entries)}."] if entries else []


def _means_by_group(group: str, metric: str, members: Groups) -> str:
    labels = list(next(iter(members.values())).strategies)
    rows = [[_code(label), *(_mean(row.strategies[label][metric]) for row in members.values())] for label in labels]
    headers = [f"{_text(name)} ({row.queries})" for name, row in members.items()]
    return _table([f"mean {parse_metric(metric).title} by {_text(group)}", *headers], rows)


def _mean(score: MeanScore | None) -> str:
    return "–" if score is None else f"{score.mean:.3f}"


def _differences_by_group(group: str, members: Groups) -> str:
    """The compared pairs in each group: mean difference, 95 % interval, p corrected within the group."""
    pairs = next(iter(members.values())).comparisons
    rows = [
        [_text(name), str(row.queries), *(_difference(pair) for pair in row.comparisons)]
        for name, row in members.items()
    ]
    headers = [f"{_code(pair.a)} − {_code(pair.b)}" for pair in pairs]
    return _table([f"difference by {_text(group)} (p corrected)", "n", *headers], rows)


def _rewrites(effects: Mapping[str, Sequence[RewriteEffect]]) -> str:
    """The error rate of every kind of query of a strategy with several, by the form of the question."""
    rows = [
        [
            _code(label),
            _code(row.origin),
            f"{row.error_rate:.2f} ({row.questions})",
            *(
                f"{row.forms[form].error_rate:.2f} ({row.forms[form].questions})" if form in row.forms else "–"
                for form in FORMS
            ),
            str(row.unique_relevant),
        ]
        for label, found in effects.items()
        for row in found
    ]
    heads = ("all", "keywords", "sentences")
    return _table(
        [
            "strategy",
            "query",
            *(f"error rate, {head} (questions)" for head in heads),
            "relevant, unique to it",
        ],
        rows,
    )


def _difference(pair: Comparison) -> str:
    if pair.difference is None:
        return "–"
    text = f"{pair.difference:+.3f}"
    if pair.low is not None:
        text += f" ({pair.low:+.3f} to {pair.high:+.3f})"
    return text + (f", p {pair.p_holm:.3f}" if pair.p_holm is not None else "")


def _code(name: str) -> str:
    """A label or the name of a folder: as code where every character is plain, otherwise as text."""
    name = visible(name)
    return f"`{name}`" if PLAIN.fullmatch(name) else _text(name)


def _text(text: str) -> str:
    return MARKUP.sub(r"\\\g<0>", " ".join(visible(text).split()))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
