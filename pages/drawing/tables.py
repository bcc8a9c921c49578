"""Tables drawn as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pages.drawing.untrusted import escape


def listed(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose rows a phone shows as lists, each cell after its head.

    Args:
        heads: as text.
        rows: cells as HTML, as many as heads; the first names the row.
    """
    names = [escape(text) for text in heads]
    head = "".join(f'<th scope="col">{one}</th>' for one in names)
    body = "".join(f"<tr>{_cells(names, row)}</tr>" for row in rows)
    return f'<table class="rl-table rl-listed"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _cells(names: Sequence[str], row: Sequence[str]) -> str:
    cells = "".join(
        f'<td data-head="{name}">{cell}</td>' for name, cell in zip(names[1:], row[1:], strict=True)
    )
    return f'<th scope="row">{row[0]}</th>{cells}'
