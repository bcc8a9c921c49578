"""The rank flow as a chart: one line a passage through the stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from pages.drawing.palette import colour
from pages.drawing.translate import t, translated
from pages.drawing.untrusted import mark, wrapped

if TYPE_CHECKING:
    from rag_core.explain import Fate, FlowColumn

MOST = 30  # lines; the table of fates has all passages
LOWEST = 30  # rank drawn; lower ones share the last row
LINE = 44  # characters, short enough for a phone
ROW, HEAD = 17, 120  # pixels: a rank, the titles above


def rank_flow(fates: Sequence[Fate], columns: Sequence[FlowColumn]) -> go.Figure:
    """The used passages as thick lines with their number, the others as thin ones that end in a cross.

    Args:
        fates: in the order of `rag_core.explain.fates`; the first `MOST` are drawn.
    """
    figure = go.Figure()
    titles = [f"{place}. {mark(translated(column.title))}" for place, column in enumerate(columns, start=1)]
    drawn = fates[:MOST]
    for fate in reversed(drawn):  # the used ones last, on top
        ranks = fate.ranks(columns)
        last = max(place for place, rank in enumerate(ranks) if rank is not None)
        symbols = ["circle"] * len(columns)
        if not fate.used:
            symbols[last] = "x"
        figure.add_scatter(
            x=titles,
            y=[None if rank is None else min(rank, LOWEST + 1) for rank in ranks],
            mode="lines+markers+text" if fate.used else "lines+markers",
            text=[str(fate.rank) if fate.used and place == last else "" for place in range(len(columns))],
            textposition="middle right",
            connectgaps=True,
            line={"color": colour("accent") if fate.used else colour("grey"), "width": 3 if fate.used else 1},
            marker={"symbol": symbols, "size": 8 if fate.used else 6},
            opacity=1.0 if fate.used else 0.75,
            showlegend=False,
            customdata=["–" if rank is None else t("rank {rank}", rank=rank) for rank in ranks],
            hovertemplate=f"<br>{wrapped(fate.passage.full_title, LINE)}<br>%{{x}}: %{{customdata}}<br>{wrapped(translated(fate.text), LINE)}<extra></extra>",
        )
    deepest = max((rank or 0 for fate in drawn for rank in fate.ranks(columns)), default=1)
    rows = min(deepest, LOWEST + 1)
    ticks = [1, *range(5, min(rows, LOWEST) + 1, 5)]
    figure.update_yaxes(
        range=[rows + 0.6, 0.4],
        tickvals=[*ticks, LOWEST + 1] if rows > LOWEST else ticks,
        ticktext=[*map(str, ticks), f"{LOWEST}+"] if rows > LOWEST else list(map(str, ticks)),
        title=t("rank"),
        automargin=True,
        zeroline=False,
    )
    figure.update_xaxes(side="top", tickangle=-60, automargin=True, range=[-0.4, len(columns) - 0.4])
    figure.update_layout(
        height=HEAD + ROW * max(rows, 8),
        margin={"l": 4, "r": 12, "t": 8, "b": 8},
        hovermode="closest",
        dragmode=False,
    )
    return figure
