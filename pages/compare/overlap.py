"""What the columns of a comparison have in common, and what only one of them found, drawn as HTML."""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

import rag_core
from pages.compare.passages import same
from pages.compare.tips import opener
from pages.frame.translate import plural, t
from pages.frame.untrusted import escape
from pages.shared import corpora
from pages.shared.live import LETTERS, Column

FIRST_WORDS = 60  # characters shown to tell passages with the same title apart


def rows_of(columns: Sequence[Column]) -> list[rag_core.SharedPassage]:
    """The passages of all columns that are done, with their ranks."""
    return rag_core.shared_passages([column.trace.ranking if column.trace else None for column in columns])


def table(columns: Sequence[Column], names: Sequence[str]) -> str:
    """A table of the passages and their rank in each column, the most widely found first."""
    rows = rows_of(columns)
    titles = Counter(row.passage.full_title for row in rows)
    head = "".join(f'<th class="rl-rank">{escape(name)}</th>' for name in names)
    body = "".join(
        f'<tr class="{same(row.passage.id)}"><td>{_title(row.passage, titles)}</td>'
        + "".join(_rank(row, position) for position in range(len(columns)))
        + "</tr>"
        for row in rows
    )
    return (
        '<div class="rl-scroll"><table class="rl-table"><thead><tr>'
        f"<th>{t('Passage')}</th>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def pairs(columns: Sequence[Column]) -> str:
    """A line for each pair of columns that are done: what one found and the other did not."""
    rows = rows_of(columns)
    searched = {position: column.trace.corpus for position, column in enumerate(columns) if column.trace}
    lines = "".join(
        f"<li>{_apart(rows, first, second, searched) or _pair(rows, first, second)}</li>"
        for first, second in itertools.combinations(searched, 2)
    )
    return f'<ul class="rl-pairs">{lines}</ul>' if lines else ""


def _pair(rows: Sequence[rag_core.SharedPassage], first: int, second: int) -> str:
    """What two columns share, and what only one found."""
    only = (_only(rows, first, second), _only(rows, second, first))
    return " ".join((_shared(rows, first, second), *(f'<span class="rl-only">{one}</span>' for one in only)))


def _apart(
    rows: Sequence[rag_core.SharedPassage], first: int, second: int, searched: Mapping[int, str]
) -> str:
    """That two columns searched different documents, so that neither missed what the other found; empty if they did not.

    Args:
        searched: the corpus of each column.
    """
    if searched[first] == searched[second]:
        return ""
    apart = t(
        "<b>{first} and {second}</b> searched different documents: {first} {these}, {second} {those}. "
        "Neither missed what the other found.",
        first=escape(LETTERS[first]),
        second=escape(LETTERS[second]),
        these=escape(corpora.title(searched[first])),
        those=escape(corpora.title(searched[second])),
    )
    both = sum(first in row.ranks and second in row.ranks for row in rows)
    if not both:
        return f"{apart} {t('No passage stands in both.')}"
    in_both = plural("{count:d} passage stands in both.", "{count:d} passages stand in both.", both)
    return f"{apart} {in_both}"


def also_in(columns: Sequence[Column]) -> list[dict[str, str]]:
    """For each column: id of a passage -> which other columns found it too."""
    rows = rows_of(columns)
    return [
        {
            row.passage.id: t(
                "also in {columns}",
                columns=", ".join(LETTERS[other] for other in row.ranks if other != position),
            )
            for row in rows
            if position in row.ranks and len(row.ranks) > 1
        }
        for position in range(len(columns))
    ]


def lights(columns: Sequence[Column]) -> str:
    """Style that lights up a shared passage in every column while one of its places has the pointer or the focus."""
    shared = [same(row.passage.id) for row in rows_of(columns) if len(row.ranks) > 1]
    rules = "".join(
        f".stMain:has(.{escape(one)}:is(:hover, :focus-within)) .{escape(one)} "
        "{ outline: 2px solid var(--rl-accent); background: color-mix(in srgb, var(--rl-accent) 8%, transparent); }"
        for one in shared
    )
    return f"<style>{rules}</style>"


def _rank(row: rag_core.SharedPassage, position: int) -> str:
    if position not in row.ranks:
        return '<td class="rl-rank rl-absent">–</td>'
    rank = row.ranks[position]
    return f'<td class="rl-rank">{opener(position, rank, f"#{rank:d}", "rl-open", t("Open passage {rank:d} of {column}", rank=rank, column=escape(LETTERS[position])))}</td>'


def _shared(rows: Sequence[rag_core.SharedPassage], first: int, second: int) -> str:
    count = sum(first in row.ranks and second in row.ranks for row in rows)
    names = {"first": escape(LETTERS[first]), "second": escape(LETTERS[second])}
    if not count:
        return t("<b>{first} and {second}</b> share no passage.", **names)
    return plural(
        "<b>{first} and {second}</b> share {count:d} passage.",
        "<b>{first} and {second}</b> share {count:d} passages.",
        count,
        **names,
    )


def _only(rows: Sequence[rag_core.SharedPassage], first: int, second: int) -> str:
    """What the first found and the second did not: documents in the order of their first passage, and its passages."""
    documents: dict[str, list[rag_core.SharedPassage]] = {}
    for row in rag_core.only_in(rows, first, second):
        documents.setdefault(row.passage.title or row.passage.full_title, []).append(row)
    if not documents:
        return t(
            "{first} found nothing that {second} did not.",
            first=escape(LETTERS[first]),
            second=escape(LETTERS[second]),
        )
    parts = []
    for title, found in documents.items():
        numbers = "".join(_number(row, first) for row in found)
        parts.append(f"{escape(title)} {numbers}")
    return t("Only {column}: {found}.", column=escape(LETTERS[first]), found=" · ".join(parts))


def _number(row: rag_core.SharedPassage, position: int) -> str:
    rank = row.ranks[position]
    opened = t("Open passage {rank:d} of {column}", rank=rank, column=LETTERS[position])
    name = f"{opened}, {row.passage.full_title}"
    return opener(position, rank, f"{rank:d}", "rl-cite", name)


def _title(passage: rag_core.Passage, titles: Mapping[str, int]) -> str:
    """A passage's title, with its first words where another passage has the same title."""
    title = escape(passage.full_title)
    if titles[passage.full_title] < 2:
        return title
    return f"{title} <small>“{escape(textwrap.shorten(passage.text, FIRST_WORDS, placeholder='…'))}”</small>"
